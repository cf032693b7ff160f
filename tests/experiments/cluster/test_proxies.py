"""What only the driver has, asked for from workers: one archive, one pace of a site, each address once."""

import json
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.experiments.cluster.test_runs import Engine, run
from tests.experiments.plan_files import endpoint_plan, right
from tests.servers.chat_server import ChatServer, Slow, Step
from tests.tools.mcp.conftest import SERVER

from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import on_ray
from toolablate.experiments.cluster import worker as workers
from toolablate.experiments.cluster.opening import PlanOpener
from toolablate.experiments.cluster.services import lent_to_be
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.plans.plan import load_plan
from toolablate.experiments.plans.sections import RepliesSection
from toolablate.tools.archive import seal
from toolablate.tools.web.fetch import HostPace
from toolablate.traces.records import ToolCall
from toolablate.traces.store import Store
from toolablate.traces.store.same_as import same_as

QUESTIONS = 5


@dataclass
class Site:
    """Pages, a search engine before them that speaks SearXNG's JSON, and what no page should be. `asked` are the paths
    in order; `meanwhile` is done while the first search is out."""

    url: str = ""
    asked: list[str] = field(default_factory=list)
    meanwhile: Any = None

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def counts(self) -> Counter[str]:
        return Counter(self.asked)

    def answer(self, path: str) -> tuple[str, bytes]:
        self.asked.append(path)
        parts = urlsplit(path)
        if parts.path == "/search":
            if self.meanwhile is not None:
                self.meanwhile()
            word = parse_qs(parts.query)["q"][0].split()[0]
            found = {"url": f"{self.url}/{word}", "title": word, "content": f"asked {len(self.asked)}", "engine": "own"}
            return "application/json", json.dumps({"results": [found], "unresponsive_engines": []}).encode()
        if parts.path == "/large":
            return "text/plain", b"word " * 1_000_000
        return "text/plain", f"This is {path}, as it was when it was asked for as number {len(self.asked)}.".encode()


@pytest.fixture
def site() -> Iterator[Site]:
    with running(Site()) as there:
        yield there


@contextmanager
def running(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            kind, body = site.answer(self.path)
            if self.path == "/dies":
                self.connection.close()
                return
            self.send_response(404 if self.path == "/robots.txt" else 200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return None

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join(10)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Engine]:
    """Plans with `[cluster]` run on workers in this process."""
    opened: list[Engine] = []

    def in_process(section: Any, opener: Any, lines: Mapping[str, bool], *_: object) -> Engine:
        engine = Engine(opener, lines)
        engine.workers = section.workers  # type: ignore[attr-defined]
        opened.append(engine)
        return engine

    monkeypatch.setattr(on_ray, "open_ray", in_process)
    monkeypatch.setattr(driver, "FIRST_REST_SECONDS", 0.001)
    monkeypatch.setattr(workers, "TOGETHER_SECONDS", 0.001)
    return opened


CLUSTER = "[cluster]\nworkers = 3"
Call = tuple[str, Mapping[str, Any]]


def write(folder: Path, calls: Mapping[str, Sequence[Call]], extra: str, tools: str) -> Path:
    """A plan whose scripted model makes these calls for each question, one after the other."""
    questions = [{"id": q, "prompt": f"What of {q}?", "target": {"kind": "number", "value": 1}} for q in calls]
    script = [
        {
            "question": question,
            "condition": "c",
            "replies": [
                *({"tool_calls": [{"name": name, "arguments": dict(given)}]} for name, given in made),
                {"content": "Answer: 1"},
            ],
        }
        for question, made in calls.items()
    ]
    for name, rows in {"questions": questions, "script": script}.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = [{{ name = 'c', tools = {tools} }}]\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\nconcurrency = 5\n{extra}\n",
        encoding="utf-8",
    )
    return plan


def web_plan(folder: Path, site: Site, hostile: Sequence[str] = ()) -> Path:
    """Each question searches for two words, and opens a page that all open and one of its own; one opens the rest."""
    calls: dict[str, list[Call]] = {
        f"q{n}": [
            ("web_search", {"query": "shared words"}),
            ("web_search", {"query": f"own{n}"}),
            ("browser_open", {"url": f"{site.url}/page/shared"}),
            ("browser_open", {"url": f"{site.url}/page/{n}"}),
        ]
        for n in range(QUESTIONS)
    }
    if hostile:
        calls["hostile"] = [("browser_open", {"url": url}) for url in hostile]
    return write(folder, calls, web_tables(site), "['web_search', 'browser_open']")


def web_tables(site: Site) -> str:
    return (
        f"[search]\nprovider = 'searxng'\nendpoint = '{site.url}'\n[web]\nmode = 'record'\narchive = 'kept'\n"
        f"allow = ['{site.host}']\ndelay_seconds = 0.0\n{CLUSTER}"
    )


def changed(plan: Path, name: str, *changes: tuple[str, str]) -> Path:
    text = plan.read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    other = plan.with_name(name)
    other.write_text(text, encoding="utf-8")
    return other


def called(store: Path) -> dict[str, list[ToolCall]]:
    """The calls of each question's trial."""
    with Store(store) as opened:
        questions = {question.identity(): question.id for question in opened.questions()}
        return {
            questions[trace.trial.question]: [event for event in trace.events if isinstance(event, ToolCall)]
            for trace in opened.traces()
        }


@pytest.mark.deep
def test_a_web_recorded_from_workers_is_asked_once_and_replays_as_it_was(
    site: Site, tmp_path: Path, engines: list[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    paces, turn = list[HostPace](), HostPace.turn

    async def noted(pace: HostPace, host: str, delay: float = 0.0) -> None:
        if host == urlsplit(site.url).hostname:
            paces.append(pace)
        await turn(pace, host, delay)

    monkeypatch.setattr(HostPace, "turn", noted)
    hostile = [f"{site.url}/large", f"{site.url}/dies", "http://127.0.0.1:1/admin", "http://169.254.169.254/"]
    plan = web_plan(tmp_path, site, hostile)
    there, here = tmp_path / "there.sqlite", tmp_path / "here.sqlite"
    assert run(plan, there).missing == 0
    assert len(engines[0].started) == 3
    once = {path: count for path, count in site.counts.items() if path != "/dies"}
    assert set(once.values()) == {1}, once
    assert {f"/page/{n}" for n in range(QUESTIONS)} | {"/page/shared", "/large"} <= set(once)
    assert len(set(map(id, paces))) == 1, "of all workers together"
    codes = [call.error for call in called(there)["hostile"]]
    assert codes == ["too_large", "bad_reply", "blocked_by_policy", "blocked_by_policy"]

    seal(tmp_path / "kept")
    before = len(site.asked)
    replaying = changed(plan, "replay.toml", ("'record'", "'replay'"), (CLUSTER, ""))
    assert run(replaying, here).missing == 0
    assert len(site.asked) == before
    same = same_as(there, here)
    # A failure that is replayed says so, wherever it was recorded.
    assert [(each.path, each.there) for each in same.differences] == [("events[1].lookup.miss", '"recorded_error"')]


def kill_a_busy_worker(engine: Engine) -> None:
    """From another thread."""
    worker = next(each for each in engine.started if each.worker._trials)
    worker._running.get_loop().call_soon_threadsafe(worker.kill)


def test_a_worker_that_is_lost_during_a_lookup_leaves_it_to_the_others(
    site: Site, tmp_path: Path, engines: list[Engine]
) -> None:
    def dies() -> None:
        site.meanwhile = None
        kill_a_busy_worker(engines[0])

    site.meanwhile = dies
    shared: Call = ("web_search", {"query": "shared words"})
    calls: dict[str, list[Call]] = {f"q{n}": [shared, ("web_search", {"query": f"own{n}"})] for n in range(QUESTIONS)}
    plan = write(tmp_path, calls, web_tables(site), "['web_search']")
    assert run(plan, tmp_path / "run.sqlite").missing == 0
    assert len(engines[0].started) == 4
    # Each once, but for a search that nobody waited for any more.
    assert sum(site.counts.values()) - len(site.counts) <= 1


def test_replies_recorded_on_workers_are_asked_once_and_replay_as_they_were(
    chat_server: ChatServer, tmp_path: Path, engines: list[Engine]
) -> None:
    asked: list[str] = []

    def answers(request: dict[str, Any]) -> Step:
        asked.append(request["messages"][-1]["content"])
        if len(asked) == 1:
            # The other trial that asks the same waits for this reply, which will not come.
            kill_a_busy_worker(engines[0])
            return Slow(1, right(request))
        return Slow(0.02, right(request))

    chat_server.answers(answers)
    recording = f"[replies]\nmode = 'record'\n{CLUSTER}"
    plan = endpoint_plan(tmp_path, chat_server.url, count=6, extra=recording, concurrency=4)
    more = "['none', { name = 'patient', base = 'none', budget = { turns = 24 } }]"
    plan = changed(plan, "record.toml", ("['none']", more))
    there, here = tmp_path / "there.sqlite", tmp_path / "here.sqlite"
    assert run(plan, there).missing == 0
    assert len(engines[0].started) == 4
    lost = Counter(asked) - Counter(set(asked))
    assert set(lost.values()) == {1}
    assert lost.total() <= 2, "at most what was out on the worker that was lost"
    replaying = changed(plan, "replay.toml", ("'record'", "'replay'"), (CLUSTER, ""))
    before = len(asked)
    assert run(replaying, here).missing == 0
    assert len(asked) == before
    assert same_as(there, here).same == 12
    assert same_as(there, here).ok


@pytest.mark.deep
def test_tools_of_an_mcp_server_are_called_by_the_driver_in_sessions_of_their_trials(
    tmp_path: Path, engines: list[Engine]
) -> None:
    calls: dict[str, list[Call]] = {
        f"q{n}": [
            ("remember", {"text": f"first {n}"}),
            ("remember", {"text": f"second {n}"}),
            ("fails", {}),
            ("dies", {}) if n == 0 else ("add", {"left": n, "right": n}),
        ]
        for n in range(2)
    }
    program = tmp_path / "library.py"
    program.write_bytes(SERVER.read_bytes())
    server = f"[[mcp]]\nname = 'library'\ncommand = ['{sys.executable}', '{program}']"
    extra = f"{server}\n[web]\nmode = 'record'\narchive = 'kept'\n{CLUSTER}"
    plan = write(tmp_path, calls, extra, "['mcp:library']")
    there, here = tmp_path / "there.sqlite", tmp_path / "here.sqlite"
    ran = run(plan, there)
    assert [(each.code, each.count) for each in ran.failures] == [("mcp_failed", 1)]
    first, second, fails, add = called(there)["q1"]
    assert (first.output, second.output, add.output) == ("first 1", "first 1, second 1", "2")
    assert "the shelf is empty" in fails.output
    seal(tmp_path / "kept")
    program.unlink()
    replaying = changed(plan, "replay.toml", ("'record'", "'replay'"), (CLUSTER, ""))
    assert run(replaying, here).missing == 0
    assert same_as(there, here).same == 1


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


async def test_a_node_is_checked_for_a_plan_that_records_and_nothing_is_recorded(site: Site, tmp_path: Path) -> None:
    plan, _ = load_plan(web_plan(tmp_path, site))
    plan = plan.model_copy(update={"replies": RepliesSection(mode="record", file=str(tmp_path / "replies.sqlite"))})
    conditions = plan.resolved_conditions()
    lent = await lent_to_be(plan, conditions)
    async with AsyncExitStack() as stack:
        await PlanOpener(plan, conditions, fingerprint_of(plan, conditions), plan.file, lent).open(stack, {})
    assert (lent.search, lent.pages, site.asked) == ("searxng", True, [])
    assert names(tmp_path) == ["plan.toml", "questions.jsonl", "script.jsonl"]
