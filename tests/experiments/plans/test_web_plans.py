"""What plans make of the web: documents, leaks, policies, interventions, servers of tools, and what is not recorded."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.experiments.library import Library
from tests.experiments.scripted import QUESTION, run, write_scripted
from tests.tools.mcp import library_server

from toolablate.cli import group
from toolablate.experiments.environment.recording import RecordingRequest, record
from toolablate.experiments.plans.plan import load_plan
from toolablate.tools.archive import seal
from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.store import Store

DOCUMENTS = [
    {"id": "light", "title": "Lights", "text": "The lighthouse of Varnhem island is tall.", "url": "https://a.example/light"},
    {"id": "leak", "title": "Quiz", "text": f"{QUESTION['prompt']} It was in 1874.", "url": "https://b.example/data/leak"},
    *({"id": f"other{n}", "title": "Other", "text": f"Something else, number {n}."} for n in range(8)),
]  # fmt: skip
CORPUS = "[search]\nprovider = 'corpus'\ncorpus = 'documents.jsonl'\n"
SEARCH = ("web_search", {"query": "lighthouse of Varnhem island lit after the great storm"})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "documents.jsonl").write_text("\n".join(map(json.dumps, DOCUMENTS)), encoding="utf-8")
    return tmp_path


def open_page(url: str) -> tuple[str, dict[str, str]]:
    return "browser_open", {"url": url}


def test_documents_of_ones_own_are_searched_and_opened_offline(folder: Path) -> None:
    plan = write_scripted(folder, [SEARCH, open_page("https://a.example/light")], '[{ name = "search" }]', CORPUS)
    (searched, opened) = run(plan)["search"]
    assert "https://a.example/light" in searched.output
    assert "is tall" in opened.output
    with Store(folder / "store.sqlite") as store:
        (fingerprint,) = (seen.fingerprint for seen in store.runs())
    assert fingerprint["web"] == "documents"
    assert fingerprint["search"].startswith("corpus/")


@pytest.mark.parametrize("blocked", [False, True])
def test_a_leak_is_marked_and_kept_back_only_where_the_plan_says_so(folder: Path, blocked: bool) -> None:
    extra = CORPUS + (f"[web]\nblock_leaks = {str(blocked).lower()}\n")
    calls = [SEARCH, open_page("https://b.example/data/leak"), open_page("https://a.example/light")]
    plan = write_scripted(folder, calls, '[{ name = "search" }]', extra)
    searched, leak, harmless = run(plan)["search"]
    assert [[marker.kind for marker in call.markers] for call in (searched, leak, harmless)] == [
        ["answer_leak", "withheld"][: 1 + blocked],
        ["answer_leak", "withheld"][: 1 + blocked],
        [],
    ]
    assert ("1874" in leak.output, "1874" in searched.output) == (not blocked, not blocked)
    assert "is tall" in harmless.output


def test_a_blocked_host_is_kept_back_whatever_the_search(folder: Path) -> None:
    extra = CORPUS + '[web]\nblocked_hosts = ["b.example/data"]\n'
    plan = write_scripted(folder, [SEARCH, open_page("https://b.example/data/leak")], '[{ name = "search" }]', extra)
    searched, opened = run(plan)["search"]
    assert "b.example" not in searched.output
    assert opened.error == "blocked_by_policy"
    assert opened.lookup is not None
    assert opened.lookup.miss == "blocked_by_policy"


def test_the_tools_have_the_names_that_gpt_oss_knows_and_their_text_can_be_delimited(folder: Path) -> None:
    conditions = '[{ name = "plain", tools = ["gpt-oss"] }, { name = "lit", tools = ["gpt-oss"], interventions = ["spotlight"] }]'
    calls = [("browser.search", SEARCH[1]), ("browser.open", {"id": "https://a.example/light"})]
    found = run(write_scripted(folder, calls, conditions, CORPUS))
    for plain, lit in zip(found["plain"], found["lit"], strict=True):
        assert plain.output in lit.output
        assert len(lit.output) > len(plain.output)


@pytest.mark.parametrize(
    ("conditions", "extra", "code"),
    [
        ('[{ name = "c", tools = ["web_search"] }]', "", "no_search"),
        ('[{ name = "c", tools = ["mcp:files"] }]', CORPUS, "missing_resource"),
        ('[{ name = "c", tools = ["search"], interventions = ["spotlite"] }]', CORPUS, "unknown_intervention"),
        ('[{ name = "c", tools = ["browser_open"] }]', '[web]\nmode = "replay"\narchive = "none"\n', None),
        ('[{ name = "c", tools = ["web_search"] }]', "[search]\nprovider = 'brave'\napi_key_env = 'NOT_SET'\n", "missing_key"),
        ('[{ name = "c", tools = ["web_search"] }]', "[search]\nprovider = 'ddgs'\nbackend = 'altavista'\n", "unknown_backend"),
    ],
)  # fmt: skip
def test_what_cannot_be_had_is_refused_before_anything_is_stored(
    folder: Path, conditions: str, extra: str, code: str | None
) -> None:
    with pytest.raises(InputError) as refused:
        run(write_scripted(folder, [], conditions, extra))
    assert code is None or refused.value.code == code
    assert not (folder / "store.sqlite").exists()


SERVER = f"[[mcp]]\nname = 'library'\ncommand = ['{sys.executable}', '{library_server.__file__}']\n"


@pytest.mark.parametrize(
    ("tools", "extra"),
    [
        ('["web_search"]', "[search]\nprovider = 'brave'\napi_key_env = 'NOT_SET'\n"),
        ('["mcp:library"]', SERVER + "env = ['NOT_SET']\n"),
        ('["mcp:library/no_such_tool"]', SERVER),
        ('["browser_open", "python"]', ""),
    ],
)
def test_a_recording_that_is_refused_leaves_no_archive(
    folder: Path, tools: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    before = set(folder.iterdir())
    plan = write_scripted(
        folder, [], f'[{{ name = "c", tools = {tools} }}]', f'{extra}[web]\nmode = "record"\narchive = "kept"\n'
    )
    with pytest.raises(ToolablateError):
        run(plan)
    assert {path.name for path in set(folder.iterdir()) - before} == {"plan.toml", "script.jsonl", "questions.jsonl"}


def test_browsing_alone_needs_no_search(folder: Path) -> None:
    with Library().running() as library:
        web = f'[web]\nallow = ["{library.host}"]\ndelay_seconds = 0\n'
        calls = [open_page(library.pages[0])]
        (opened,) = run(write_scripted(folder, calls, '[{ name = "c", tools = ["browser_open"] }]', web))["c"]
    assert "This page was read" in opened.output


def test_what_is_not_in_the_archive_is_told_alike_and_traced_with_what_is_nearest(folder: Path) -> None:
    with Library().running() as library:
        web = f'[web]\nmode = "replay"\narchive = "kept"\nallow = ["{library.host}"]\ndelay_seconds = 0\n'
        other = library.pages[1]
        plan = write_scripted(folder, [open_page(other)], '[{ name = "c", tools = ["browser_open"] }]', web)
        (outcome,) = record(
            load_plan(plan)[0], RecordingRequest([library.pages[0]]), tell=lambda done, total: None
        ).outcomes
    assert not outcome.problem
    seal(folder / "kept")
    (missed,) = run(plan)["c"]
    assert missed.lookup is not None
    assert missed.lookup.miss == missed.error == "not_in_archive"
    assert library.host in missed.lookup.nearest
    assert library.host not in missed.output
    kept = write_scripted(folder, [open_page(library.pages[0])], '[{ name = "c", tools = ["browser_open"] }]', web)
    (found,) = run(kept, "found.sqlite")["c"]
    assert "This page was read" in found.output
    kept.write_text(kept.read_text(encoding="utf-8") + "as_of = 2020-01-01\n", encoding="utf-8")
    (late,) = run(kept, "late.sqlite")["c"]
    assert late.lookup is not None
    assert late.lookup.miss == late.error == "after_cutoff"
    kept.write_text(kept.read_text(encoding="utf-8").replace("2020-01-01", "2999-01-01"), encoding="utf-8")
    result = CliRunner().invoke(group, ["run", str(kept), "--store", str(folder / "ahead.sqlite")])
    assert result.exit_code == 0
    assert "Warning: web.as_of: 2999-01-01 is still to come, so nothing is left out" in result.stderr


@pytest.mark.deep
def test_the_tools_of_a_server_are_recorded_and_replayed_without_it(folder: Path) -> None:
    server = folder / "server.py"
    server.write_text(Path(library_server.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    table = f"[[mcp]]\nname = 'library'\ncommand = ['{sys.executable}', 'server.py']\n"
    web = "[web]\nmode = 'record'\narchive = 'kept'\n"
    conditions = '[{ name = "c", tools = ["mcp:library/add"] }]'
    plan = write_scripted(folder, [("add", {"left": 2, "right": 40})], conditions, web + table)
    (recorded,) = run(plan, "recorded.sqlite")["c"]
    assert "42" in recorded.output
    seal(folder / "kept")
    server.unlink()
    plan.write_text(plan.read_text(encoding="utf-8").replace("'record'", "'replay'"), encoding="utf-8")
    (replayed,) = run(plan, "replayed.sqlite")["c"]
    assert (replayed.output, replayed.status) == (recorded.output, recorded.status)
    plan.write_text(plan.read_text(encoding="utf-8").replace("library/add", "library/subtract"), encoding="utf-8")
    with pytest.raises(InputError, match="subtract"):
        run(plan, "refused.sqlite")
    assert not (folder / "refused.sqlite").exists()
