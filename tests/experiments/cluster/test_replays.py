"""Replays on workers: the same as here, with what workers lack sent by the driver, and none lost with a worker."""

import asyncio
import io
import pickle
import shutil
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.conftest import WritePlan
from tests.experiments.cluster.test_proxies import CLUSTER, Site, web_tables
from tests.experiments.cluster.test_proxies import site as site
from tests.experiments.cluster.test_runs import Engine, with_a_file
from tests.experiments.plan_files import answered, call
from tests.experiments.replay.scenes import by_turn, double, endpoint_plan, own_tool, run, trial_of
from tests.servers.chat_server import ChatServer, Slow, Step, reply
from tests.tools.mcp.conftest import SERVER

from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import on_ray
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.cluster.messages import Shared
from toolablate.experiments.replay.batch import open_replays, replay_many
from toolablate.experiments.replay.on_workers import SentPlacebos, WorkerReplays, WorkersEnvironment
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.experiments.running.launch import Presses
from toolablate.experiments.running.progress import RunProgress
from toolablate.tools.placebo_sources import PlaceboSource
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Again, AnswerNow, ToolCall
from toolablate.traces.store import DriverLock, Store


class InThisProcess(Engine):
    """In place of Ray. The opener is pickled, as Ray does it."""

    workers = 2

    def places(self) -> Sequence[str]:
        return ("here",)

    def shown(self) -> str:
        return "here"

    async def start(self, avoiding: Collection[str]) -> InProcess:
        self.started.append(InProcess(pickle.loads(pickle.dumps(self.opener)), self.lines))
        return self.started[-1]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[InThisProcess]:
    """Those that were opened."""
    found: list[InThisProcess] = []

    def open_ray(_: object, opener: Any, lines: Mapping[str, bool], *_others: object) -> InThisProcess:
        found.append(InThisProcess(opener, lines))
        return found[-1]

    monkeypatch.setattr(on_ray, "open_ray", open_ray)
    monkeypatch.setattr(driver, "FIRST_REST_SECONDS", 0.001)
    return found


def replays_told(store: Path) -> dict[str, tuple[Any, ...]]:
    """All of them but their times."""
    clock = {"at", "seconds"}
    with Store(store) as opened:
        return {
            trial: (
                (trace := opened.trace(trial)).outcome,
                trace.environment,
                [(score.scorer, score.value, score.verdict) for score in opened.scores(trial)],
                [each.model_dump(exclude=clock) for each in trace.events],
            )
            for trial in sorted(opened.finished_resumptions())
        }


@pytest.mark.deep
def test_replays_on_workers_are_the_same_replays(
    write_plan: WritePlan, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    """Of cells that are rebuilt and made anew, of probes, and of texts that the driver finds."""
    script = {
        ("q1", "python"): [call("x = 1"), call("print(x + 1)"), {"content": "Answer: {{last_tool_output}}"}],
        ("q2", "python"): answered("Answer: 4"),
    }
    here = run(write_plan(script, conditions='["python"]'))
    there = here.with_name("there.sqlite")
    shutil.copy(here, there)
    trial = trial_of(here)
    requests = [
        ReplayRequest(trial, 3, Again(), repeats=2),
        ReplayRequest(trial, 3, "null"),
        ReplayRequest(trial, 2, AnswerNow()),
        ReplayRequest(trial, 1, Again()),
    ]
    plan = tmp_path / "plan.toml"
    one = replay_many(here, requests, plan=plan)
    assert engines == []
    other = replay_many(there, requests, plan=plan, cluster="local")
    assert (one.launched.missing, other.launched.missing) == (0, 0)
    assert [each.trials for each in one.replayed] == [each.trials for each in other.replayed]
    assert replays_told(there) == replays_told(here)
    assert len(replays_told(here)) == 5
    (engine,) = engines
    assert len(engine.started) == 2
    assert replay_many(there, requests, plan=plan, cluster="local").launched.done_before == 5
    assert engines == [engine], "where nothing is missing no worker is started"


@pytest.mark.deep
def test_workers_have_the_questions_files_before_they_replay_cells(
    chat_server: ChatServer, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    """As the driver has them; what has gone there too costs the cells that read it, as on one machine."""

    def reads(request: dict[str, Any]) -> Step:
        if request["messages"][-1]["role"] == "tool":
            return reply(f"Answer: {request['messages'][-1]['content']}")
        return reply(None, ("python", {"code": "print(open('table.csv').read())"}))

    chat_server.answers(reads)
    plan = with_a_file(tmp_path, chat_server.url)
    store = run(plan)
    asked = [ReplayRequest(trial_of(store), 1, Again())]
    assert replay_many(store, asked, plan=plan, cluster="local").launched.missing == 0
    (opener,) = [engine.opener for engine in engines]
    assert [file.path for file in opener.plans[0].files] == ["table.csv"]
    (tmp_path / "table.csv").unlink()
    with pytest.raises(InputError, match=r"it has not what the driver has: the question's file table\.csv cannot be"):
        asyncio.run(opened(opener))
    asked = [ReplayRequest(trial_of(store), 1, Again(), repeats=2)]
    replay_many(store, asked, plan=plan, cluster="local")
    assert engines[-1].opener.plans[0].files == ()


async def opened(opener: Any) -> None:
    async with AsyncExitStack() as stack:
        await opener.open(stack, {})


DOUBLE = """
from toolablate.tools import tool

@tool
def double(number: int) -> int:
    "Doubles a number."
    return 2 * number
"""


def test_one_fleet_serves_all_rounds_and_a_lost_worker_costs_no_replay(
    chat_server: ChatServer, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    number, dies = 1, False

    def replies(request: dict[str, Any]) -> Step:
        nonlocal dies
        said = by_turn(double(number), reply("Answer: 4"))(request)
        if dies:
            dies = False
            worker = next(each for each in engines[-1].started if each.worker._trials)
            worker._running.get_loop().call_soon_threadsafe(worker.kill)
            # Whichever of the workers asked this.
            return Slow(1, said)
        return said

    chat_server.answers(replies)
    conditions = own_tool(tmp_path, DOUBLE)
    plan = endpoint_plan(tmp_path, chat_server, conditions=conditions, extra="[cluster]\naddress = 'local'")
    store = run(plan)
    trial, number = trial_of(store, "own"), 7
    heard = io.StringIO()

    async def rounds() -> None:
        nonlocal dies
        progress = RunProgress(Console(file=heard, width=500))
        async with open_replays(store, plan=plan, progress=progress) as replays:
            probe = ReplayRequest(trial, 0, AnswerNow())
            assert (await replays.run([probe])).launched.missing == 0
            dies = True
            first = await replays.run([ReplayRequest(trial, 0, Again(), repeats=3)])
            assert await replays.meanwhile(threading.current_thread) is not threading.main_thread()
            then = await replays.run([probe, ReplayRequest(trial, 0, Again(), repeats=4)])
            assert (first.launched.missing, first.launched.failures) == (0, ())
            assert (then.launched.missing, then.launched.done_before) == (0, 4)

    asyncio.run(rounds())
    assert [len(each.started) for each in engines] == [2, 3], "a fleet for no tools, and one for all other rounds"
    assert "was lost" in heard.getvalue()
    assert "3 calls of double not in the record returned an error" in heard.getvalue()
    assert [outcome for outcome, *_ in replays_told(store).values()] == ["answered"] * 5


def test_stopped_within_a_round_the_same_call_goes_on(
    chat_server: ChatServer, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    presses = Presses()
    presses.taken()

    left = [presses]

    def replies(_: dict[str, Any]) -> Step:
        if engines and left:
            left.pop().press()
        return reply("Answer: 4")

    chat_server.answers(replies)
    store = run(endpoint_plan(tmp_path, chat_server, conditions="['none']"))
    requests = [ReplayRequest(trial_of(store, "none"), 0, Again(), repeats=40)]
    stopped = replay_many(store, requests, cluster="local").launched
    assert stopped.stopped
    assert 0 < stopped.missing < 40
    chat_server.answers(lambda _: reply("Answer: 4"))
    then = replay_many(store, requests, cluster="local").launched
    assert (then.done_before, then.missing) == (40 - stopped.missing, 0)


def test_replies_of_replays_on_workers_are_recorded_by_the_driver(
    chat_server: ChatServer, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    chat_server.answers(lambda request: reply(f"Answer: {len(chat_server.requests)}"))
    plan = endpoint_plan(tmp_path, chat_server, conditions="['none']", extra="[replies]\nmode = 'record'")
    store = run(plan)
    here = store.with_name("here.sqlite")
    shutil.copy(store, here)
    requests = [ReplayRequest(trial_of(store, "none"), 0, Again(), repeats=6)]
    assert replay_many(store, requests, plan=plan, cluster="local").launched.missing == 0
    assert engines[0].opener.plans[0].lent.replies  # type: ignore[attr-defined]
    asked = len(chat_server.requests)
    assert asked > 3
    assert replay_many(here, requests, plan=plan).launched.missing == 0
    assert len(chat_server.requests) == asked, "what was recorded from workers is given here"
    assert replays_told(here) == replays_told(store)


@pytest.mark.deep
def test_replays_that_may_ask_the_web_and_servers_ask_them_of_the_driver(
    chat_server: ChatServer, site: Site, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    word = "first"

    def replies(request: dict[str, Any]) -> Step:
        asks = reply("", ("web_search", {"query": word})), reply("", ("remember", {"text": word}))
        return by_turn(*asks, reply("Answer: 4"))(request)

    chat_server.answers(replies)
    program = tmp_path / "library.py"
    program.write_bytes(SERVER.read_bytes())
    server = f"[[mcp]]\nname = 'library'\ncommand = ['{sys.executable}', '{program}']"
    conditions = "[{ name = 'c', tools = ['web_search', 'mcp:library'] }]"
    extra = web_tables(site).replace(CLUSTER, server)
    plan = endpoint_plan(tmp_path, chat_server, conditions=conditions, extra=extra)
    store = run(plan)
    word = "second"
    requests = [ReplayRequest(trial_of(store, "c"), 0, Again(), repeats=3)]
    assert replay_many(store, requests, plan=plan, cluster="local", live=True).launched.missing == 0
    lent = engines[-1].opener.plans[0].lent  # type: ignore[attr-defined]
    assert (lent.search, list(lent.listings)) == ("searxng", ["library"])
    assert site.counts.total() == 2, "three replays ask once, since what was asked is recorded"
    with Store(store) as opened:
        traces = [opened.trace(trial) for trial in sorted(opened.finished_resumptions())]
    outputs = [[each.output for each in trace.events if isinstance(each, ToolCall)] for trace in traces]
    assert ["asked 2" in found for found, _ in outputs] == [True] * 3
    assert [remembered for _, remembered in outputs] == ["second"] * 3, "each has a session of its own"
    # Who is no driver opens nothing: this server is not there any more.
    program.unlink()
    requests = [ReplayRequest(trial_of(store, "c"), 0, Again(), repeats=4)]
    with DriverLock(store), pytest.raises(StoreError, match="already drives the store"):
        replay_many(store, requests, plan=plan, cluster="local", live=True)


def test_equal_placebos_have_one_digest_and_a_worker_forgets_them() -> None:
    name, kept = "search", [PlaceboSource("q1", "found"), PlaceboSource("q2", "found")]
    sent = SentPlacebos((), {name: kept}, (), (name,))
    other = SentPlacebos((), {"".join(["sea", "rch"]): [PlaceboSource("q1", "found"), kept[1]]}, (), (name,))
    assert pickle.dumps(sent) != pickle.dumps(other)
    assert sent.digest() == other.digest()
    worker = WorkerReplays({}, WorkersEnvironment())
    worker.share(Shared(sent.digest(), pickle.dumps(sent)))
    assert list(worker._placebos.values()) == [sent]
    worker.forget(frozenset({sent.digest()}))
    assert worker._placebos == {}
