"""Replays on workers: the same as here, with what workers lack sent by the driver, and none lost with a worker."""

import asyncio
import io
import pickle
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.conftest import WritePlan
from tests.experiments.cluster.test_runs import Engine
from tests.experiments.plan_files import answered, call
from tests.experiments.replay.scenes import by_turn, double, endpoint_plan, own_tool, run, trial_of
from tests.servers.chat_server import ChatServer, Slow, Step, reply

from toolablate.experiments.cluster import fleet as driver
from toolablate.experiments.cluster import on_ray
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.replay.batch import open_replays, replay_many
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.experiments.running.launch import Presses
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.errors import InputError
from toolablate.traces.records import Again, AnswerNow
from toolablate.traces.store import Store


class InThisProcess(Engine):
    """In place of Ray. The opener is pickled, as Ray does it."""

    workers = 2

    async def start(self) -> InProcess:
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
        if dies:
            dies = False
            worker = next(each for each in engines[-1].started if each.worker._trials)
            worker._running.get_loop().call_soon_threadsafe(worker.kill)
            return Slow(1, reply("Answer: 4"))
        return by_turn(double(number), reply("Answer: 4"))(request)

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


def test_what_has_one_owner_is_refused_and_nothing_is_started(
    chat_server: ChatServer, tmp_path: Path, engines: list[InThisProcess]
) -> None:
    chat_server.answers(by_turn(reply("Answer: 4")))
    plan = endpoint_plan(tmp_path, chat_server, conditions="['none']", extra="[replies]\nmode = 'record'")
    store = run(plan)
    with pytest.raises(InputError, match="a recording of replies cannot be on a cluster") as refused:
        replay_many(store, [ReplayRequest(trial_of(store, "none"), 0)], plan=plan, cluster="local")
    assert (refused.value.code, engines) == ("not_on_cluster", [])
