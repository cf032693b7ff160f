"""What crosses to where a trial runs is small, and a trial that runs in another process is the same trial."""

import asyncio
import gc
import multiprocessing
import pickle
from collections.abc import Callable
from contextlib import AsyncExitStack
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import WritePlan
from tests.experiments.plan_files import answered, call

from toolablate.agents import AgentResult
from toolablate.experiments.environment.environment import fingerprint_of
from toolablate.experiments.plans.plan import Plan, PlannedTrial, design, load_plan
from toolablate.experiments.running.execution import Executor, RunExecutor, open_executor
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.errors import ModelError, ToolablateError
from toolablate.traces.records import Answer, Environment, Event, Trace, Usage

# Of the events of one trial, what a second run of it has to give again.
CLOCK = {"at", "seconds"}


class OtherProcess:
    """An `Executor` whose trials run in a process that was started with nothing but the plan."""

    def __init__(self, plan: Plan) -> None:
        context = multiprocessing.get_context("spawn")
        self._near, far = context.Pipe()
        self.process = context.Process(target=_serve, args=(plan, far), daemon=True)
        self.process.start()
        far.close()
        self._turn = asyncio.Lock()
        self.environment: Environment = self._near.recv()

    async def run(self, task: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        async with self._turn:
            self._near.send(task)
            while True:
                came = await asyncio.to_thread(self._near.recv)
                if isinstance(came, AgentResult):
                    return came
                if isinstance(came, ToolablateError):
                    raise came
                record(came)

    def close(self) -> None:
        self._near.close()
        self.process.join(20)


def _serve(plan: Plan, far: Connection) -> None:
    asyncio.run(_serve_all(plan, far))


async def _serve_all(plan: Plan, far: Connection) -> None:
    async with AsyncExitStack() as stack:
        conditions = plan.resolved_conditions()
        executor = await open_executor(plan, conditions, fingerprint_of(plan, conditions), stack)
        far.send(executor.environment)
        while True:
            try:
                task = await asyncio.to_thread(far.recv)
            except EOFError:
                return
            try:
                far.send(await executor.run(task, far.send))
            except ToolablateError as error:
                far.send(error)


@pytest.fixture
def plan(write_plan: WritePlan) -> Plan:
    """Two questions under two conditions; one trial fails, one runs code."""
    written = write_plan(
        {
            ("q1", "none"): answered("Answer: 3"),
            ("q1", "python"): [call("x = 20"), call("print(x + 1)"), {"content": "Answer: {{last_tool_output}}"}],
            ("q2", "python"): answered("Answer: 4"),
        }
    )
    return load_plan(written)[0]


async def _all(executor: Executor, tasks: list[PlannedTrial]) -> list[tuple[Any, ...]]:
    ran = []
    for task in tasks:
        events: list[Event] = []
        result = await executor.run(task, events.append)
        told = [event.model_dump(exclude=CLOCK) for event in events]
        ran.append((task.trial.id, result.outcome, result.usage, result.cost_usd, told))
    return ran


def _tasks(plan: Plan) -> list[PlannedTrial]:
    return list(design(plan).trials)


@pytest.mark.deep
async def test_a_trial_in_another_process_is_the_same_trial(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[3])
    tasks = _tasks(plan)
    other = OtherProcess(plan)
    try:
        there = await _all(other, tasks)
    finally:
        other.close()
    conditions = plan.resolved_conditions()
    async with AsyncExitStack() as stack:
        local = await open_executor(plan, conditions, fingerprint_of(plan, conditions), stack)
        here = await _all(local, tasks)
        assert other.environment == local.environment
    assert there == here
    assert sorted(outcome for _, outcome, *_ in there) == ["answered", "answered", "answered", "failed"]
    assert other.process.exitcode == 0


async def test_a_task_is_little_more_than_its_question(plan: Plan) -> None:
    for task in _tasks(plan):
        pickled = pickle.dumps(task)
        assert len(pickled) < len(pickle.dumps(task.question)) + 2_000
        assert pickle.loads(pickled) == task
        assert pickle.loads(pickled).trial.id == task.trial.id


def test_an_error_crosses_with_all_that_it_says() -> None:
    error = ModelError("no", hint="try", code="rate_limited", retryable=True, retry_after=3.0)
    crossed = pickle.loads(pickle.dumps(error))
    assert (type(crossed), vars(crossed), str(crossed)) == (ModelError, vars(error), str(error))


class Watching:
    """A `RunExecutor` that looks which traces are held while its trials run."""

    kernels, retries, environment = 1, 0, Environment()

    def __init__(self) -> None:
        self.held: list[int] = []

    async def admit(self, planned: PlannedTrial) -> None: ...

    def batched(self, planned: PlannedTrial) -> bool:
        return False

    async def run(self, planned: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        self.held.append(sum(isinstance(each, Trace) for each in gc.get_objects()))
        record(Answer(at=0.0, text="4", limit=None))
        return AgentResult(outcome="answered", seconds=1.0, usage=Usage(), cost_usd=None)


def test_the_trace_of_a_trial_is_not_held_while_the_next_one_runs(write_plan: WritePlan) -> None:
    """Of a cluster's many trials in flight, the ones before took a third of the memory."""
    written = write_plan({}, conditions="['none']")
    written.write_text(written.read_text(encoding="utf-8") + "concurrency = 1\n", encoding="utf-8")
    plan, text = load_plan(written)
    watching = Watching()

    async def opens(*_: object, **__: object) -> RunExecutor:
        return watching

    with RunProgress() as progress:
        launch(plan, text, progress, opens=opens)
    assert watching.held == [watching.held[0]] * 2
