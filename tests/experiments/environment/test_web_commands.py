"""The commands on archives, and what doctor says of a plan's web."""

import asyncio
import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.experiments.library import Library
from tests.experiments.scripted import write_scripted
from tests.servers.chat_server import closed_port

from toolablate.cli import group
from toolablate.experiments.doctor import examine, web_findings
from toolablate.experiments.environment.web import open_plan_archive, provider_options
from toolablate.experiments.plans.plan import load_plan
from toolablate.tools.recorded import RecordedSearch
from toolablate.tools.search import SearchQuery, provider_identity
from toolablate.traces.errors import InputError

Web = Callable[..., Result]


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Web:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(
        group, [*([] if words[0] in ("status", "verify") else ["web"]), *map(str, words)]
    )


@pytest.fixture
def plan(tmp_path: Path, library: Library) -> Path:
    """A live plan; recording takes its archive, whatever its mode."""
    extra = (
        f"[search]\nprovider = 'searxng'\nendpoint = '{library.url}'\n"
        f"[web]\narchive = 'kept'\nallow = ['{library.host}']\ndelay_seconds = 0\n"
    )
    return write_scripted(tmp_path, [], '[{ name = "search" }]', extra)


def told(result: Result) -> str:
    """What a user is told where a command cannot be carried out."""
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_pages_and_searches_are_recorded_once_and_again_only_when_told(
    web: Web, plan: Path, library: Library, tmp_path: Path
) -> None:
    (tmp_path / "queries.txt").write_text("# what to ask\n\nharmonic series\n", encoding="utf-8")
    (tmp_path / "urls.txt").write_text(library.pages[5] + "\n", encoding="utf-8")
    asked = (
        "record",
        plan,
        library.pages[0],
        "--urls",
        "urls.txt",
        "--queries",
        "queries.txt",
        "--open",
        "2",
        "--json",
    )
    first = web(*asked)
    assert first.exit_code == 0, first.output
    recorded = json.loads(first.stdout)["recorded"]
    assert [each["kind"] for each in recorded] == ["search", "page", "page", "page", "page"]
    once = list(library.requests)
    assert web(*asked).exit_code == 0
    assert library.requests == once
    assert web("record", plan, library.pages[0], "--refresh").exit_code == 0
    assert len(library.requests) == len(once) + 3


def test_what_could_not_be_recorded_is_listed_with_the_reason(web: Web, plan: Path, library: Library) -> None:
    result = web("record", plan, library.pages[0], f"{library.url}/nowhere", "http://10.1.2.3/", "ftp://example.org/")
    assert result.exit_code == 1
    for part in ("/nowhere: HTTP 404", "http://10.1.2.3/", "ftp://example.org/", "1 of 4 recorded"):
        assert part in result.output


def test_what_the_policy_forbids_is_told_with_the_key_of_the_plan(web: Web, plan: Path, library: Library) -> None:
    text = plan.read_text(encoding="utf-8")
    plan.write_text(text.replace("[web]", "[web]\nblocked_hosts = ['127.0.0.1/doc']"), encoding="utf-8")
    told = web("record", plan, library.pages[0], "http://10.1.2.3/", "http://example.org:81/").output
    assert "may not be opened (web.blocked_hosts names it)" in told
    assert "10.1.2.3 is not on the public internet (private addresses and other ports" in told
    assert "port 81 may not be opened (private addresses and other ports" in told
    assert not library.requests


def test_what_robots_txt_forbids_is_told_with_the_key_of_the_plan(web: Web, plan: Path, library: Library) -> None:
    library.robots = "User-agent: *\nDisallow: /doc/\n"
    told = web("record", plan, library.pages[0]).output
    assert "does not allow programs to open it (web.robots = false opens it all the same)" in told


def test_a_search_server_that_is_down_is_named(web: Web, plan: Path, library: Library, tmp_path: Path) -> None:
    nobody = f"http://127.0.0.1:{closed_port()}"
    plan.write_text(plan.read_text(encoding="utf-8").replace(library.url, nobody), encoding="utf-8")
    (tmp_path / "queries.txt").write_text("harmonic series\n", encoding="utf-8")
    result = web("record", plan, "--queries", "queries.txt")
    assert result.exit_code == 1
    assert result.output.count(nobody) == 1


@pytest.mark.parametrize(("asked", "expected"), [("1", 10), ("10", 10), ("15", 20), ("50", 50)])
def test_searches_are_recorded_for_all_who_want_as_many_results_or_fewer(
    web: Web, plan: Path, tmp_path: Path, asked: str, expected: int
) -> None:
    (tmp_path / "queries.txt").write_text("harmonic series\n", encoding="utf-8")
    assert web("record", plan, "--queries", "queries.txt", "--max-results", asked).exit_code == 0
    web("seal", "kept")
    loaded, _ = load_plan(plan)
    with ExitStack() as stack:
        replaying = loaded.model_copy(update={"web": loaded.web.model_copy(update={"mode": "replay"})})
        archive = open_plan_archive(replaying, frozenset({"search"}), stack)
        assert archive is not None
        name, parameters = provider_identity(**provider_options(loaded))
        search = RecordedSearch(name, parameters, archive, "replay")
        misses = [
            asyncio.run(search.find(SearchQuery("harmonic series", many))).lookup.miss for many in (2, 10, 20, 50)
        ]
    assert [miss is None for miss in misses] == [{2: 10}.get(many, many) == expected for many in (2, 10, 20, 50)]


@pytest.mark.parametrize(
    ("changed", "arguments", "expected"),
    [
        (("archive = 'kept'\n", ""), ["http://example.org/"], "web.archive: missing"),
        (("", ""), [], "nothing to record"),
        (("", ""), ["--urls", "absent.txt"], "--urls: cannot read absent.txt"),
        (("'searxng'", "'corpus'\ncorpus = 'builtin'"), ["--queries", "plan.toml"], "a corpus needs no recording"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    web: Web, plan: Path, changed: tuple[str, str], arguments: list[str], expected: str
) -> None:
    plan.write_text(plan.read_text(encoding="utf-8").replace(*changed), encoding="utf-8")
    assert expected in told(web("record", plan, *arguments))


def test_an_archive_is_sealed_once_and_then_extended_by_another(
    web: Web, plan: Path, library: Library, tmp_path: Path
) -> None:
    web("record", plan, library.pages[0])
    root = json.loads(web("seal", "kept", "--json").stdout)["root"]
    assert json.loads(web("seal", "kept", "--json").stdout)["root"] == root
    assert root in web("status", "kept").output
    assert "sealed" in told(web("record", plan, library.pages[1]))
    plan.write_text(plan.read_text(encoding="utf-8").replace("'kept'", "'more'"), encoding="utf-8")
    for _ in range(2):  # the same command goes on
        assert web("record", plan, "--over", "kept").exit_code == 0
    assert root in web("status", "more").output
    before = len(library.requests)
    assert web("record", plan, library.pages[0], library.pages[1]).exit_code == 0
    assert [path for path in library.requests[before:] if path.startswith("/doc/")] == [
        library.pages[1].removeprefix(library.url)
    ]
    extended = json.loads(web("seal", "more", "--json").stdout)["root"]
    assert extended != root
    assert json.loads(web("status", "more", "--json").stdout)["base"]["root"] == root


def test_damage_is_found_and_named(web: Web, plan: Path, library: Library, tmp_path: Path) -> None:
    web("record", plan, library.pages[0])
    web("seal", "kept")
    whole = web("verify", "kept")
    assert whole.exit_code == 0
    assert "Nothing is damaged" in whole.output
    (records,) = (tmp_path / "kept/warc").iterdir()
    content = bytearray(records.read_bytes())
    content[len(content) // 2] ^= 255
    records.chmod(0o644)
    records.write_bytes(content)
    damaged = web("verify", "kept", "--json")
    assert damaged.exit_code == 1
    assert json.loads(damaged.stdout)["problems"]


def test_what_is_in_an_archive_is_told_in_words(web: Web, plan: Path, library: Library, tmp_path: Path) -> None:
    (tmp_path / "queries.txt").write_text("harmonic series\n", encoding="utf-8")
    web("record", plan, library.pages[0], f"http://127.0.0.1:{closed_port()}/", "--queries", "queries.txt")
    growing = web("status", "kept").output
    assert "not sealed: it can still grow; toolablate web seal kept closes it" in growing
    for words in ("HTTP exchanges: 2", "searches: 1", "lists", "calls"):
        assert (words in growing) == (words not in ("lists", "calls"))
    sealed = web("seal", "kept").output
    assert "kept is sealed" in sealed
    assert "kept was sealed already" in web("seal", "kept").output
    assert "root digest: " in sealed
    assert "not sealed" not in web("status", "kept").output
    assert "  WARC files: 1\n" in web("verify", "kept").output
    plan.write_text(plan.read_text(encoding="utf-8").replace("'kept'", "'more'"), encoding="utf-8")
    web("record", plan, "--over", "kept")
    made = web("status", "more").output
    assert "lies over: kept" not in made
    assert "lies over: ../kept (root digest" in made
    assert "holds nothing yet" in made


def test_what_failed_is_counted_in_words(web: Web, plan: Path, library: Library, tmp_path: Path) -> None:
    nobody = f"127.0.0.1:{closed_port()}"
    text = plan.read_text(encoding="utf-8").replace(f"['{library.host}']", f"['{library.host}', '{nobody}']")
    plan.write_text(text.replace(library.url, f"http://{nobody}"), encoding="utf-8")
    (tmp_path / "queries.txt").write_text("harmonic series\n", encoding="utf-8")
    assert web("record", plan, f"http://{nobody}/", "--queries", "queries.txt").exit_code == 1
    told = web("status", "kept").output
    assert "  pages that could not be fetched: 1\n" in told
    assert "  searches that failed: 1\n" in told


@pytest.mark.parametrize("command", ["seal", "verify", "status"])
def test_what_is_no_archive_is_said_to_be_none(web: Web, command: str, tmp_path: Path) -> None:
    (tmp_path / "nothing").mkdir()
    assert "is not an archive" in told(web(command, tmp_path / "nothing"))


def found(plan: Path) -> dict[str, tuple[str, str]]:
    return {each.name: (each.state, each.detail) for each in web_findings(load_plan(plan)[0])}


def test_doctor_says_what_is_missing_of_a_plans_web(
    web: Web, plan: Path, library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found(plan)[library.url][0] == "ok"
    text = plan.read_text(encoding="utf-8")
    replaying = tmp_path / "replay.toml"
    replaying.write_text(text.replace("[web]", "[web]\nmode = 'replay'"), encoding="utf-8")
    assert found(replaying)["archive"][0] == "missing"
    web("record", plan, library.pages[0])
    assert "not sealed" in found(replaying)["archive"][1]
    web("seal", "kept")
    assert found(replaying) == {"archive": ("ok", f"{tmp_path / 'kept'} is whole and sealed")}
    monkeypatch.delenv("BRAVE_API_KEY", raising=False)
    plan.write_text(text.replace("'searxng'", "'brave'"), encoding="utf-8")
    assert "BRAVE_API_KEY is not set" in found(plan)["search"][1]
    nobody = f"http://127.0.0.1:{closed_port()}"
    plan.write_text(text.replace(library.url, nobody), encoding="utf-8")
    assert found(plan)[nobody][0] == "missing"


def test_doctor_looks_for_servers_of_tools_without_starting_them(plan: Path, tmp_path: Path) -> None:
    servers = (
        "[[mcp]]\nname = 'a'\ncommand = ['no-such-program']\n[[mcp]]\nname = 'b'\ncommand = ['sh']\nenv = ['NOT_SET']\n"
    )
    condition = '[{ name = "search", tools = ["mcp:a", "mcp:b"] }]'
    looked = found(write_scripted(tmp_path, [], condition, servers))
    assert looked["mcp a"] == ("missing", "there is no command 'no-such-program'")
    assert looked["mcp b"] == ("missing", "the variable NOT_SET is not set")
    remote = f"[[mcp]]\nname = 'c'\nurl = 'http://me:secret@127.0.0.1:{closed_port()}/mcp?key=secret'\n"
    looked = found(write_scripted(tmp_path, [], '[{ name = "search", tools = ["mcp:c"] }]', remote))
    ((name, (state, _)),) = looked.items()
    assert name.startswith("mcp c (http://127.0.0.1:")
    assert (state, "secret" in name) == ("missing", False)


def test_doctor_lists_documents_that_cannot_be_read(tmp_path: Path) -> None:
    documents = tmp_path / "documents"
    documents.mkdir()
    (documents / "good.txt").write_text("A lighthouse.", encoding="utf-8")
    (documents / "bad.pdf").write_bytes(b"%PDF-1.7 and nothing more")
    extra = "[search]\nprovider = 'corpus'\ncorpus = 'documents'\n"
    plan = write_scripted(tmp_path, [], '[{ name = "search" }]', extra)
    states = [(each.state, each.detail) for each in web_findings(load_plan(plan)[0])]
    assert states[0] == ("ok", "documents to search: 1")
    assert states[1][0] == "warning"
    assert "bad.pdf" in states[1][1]


@pytest.mark.deep
def test_doctor_names_the_client_that_servers_of_tools_need(tmp_path: Path) -> None:
    servers = "[[mcp]]\nname = 'a'\ncommand = ['sh']\n"
    with_servers = write_scripted(tmp_path, [], '[{ name = "c", tools = ["mcp:a"] }]', servers)
    (client,) = [each for each in examine(load_plan(with_servers)[0]) if each.name == "mcp"]
    assert (client.topic, client.state) == ("package", "ok")
