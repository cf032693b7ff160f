"""The arms of a ladder, run: what their requests differ in, by digests, in a store and over the wire."""

import asyncio
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.servers.chat_server import ChatServer, reply
from tests.servers.responses import response, says

from toolablate.agents import AgentResult
from toolablate.experiments.plans.plan import Plan, PlannedTrial, design, load_plan
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.experiments.running.runner import Failures, Setting, StopSwitch, run_trials
from toolablate.experiments.scoring import Scorers
from toolablate.traces.records import (
    Environment,
    Event,
    ModelCall,
    ModelRequest,
    Run,
    ToolCall,
    Trace,
    Usage,
    digest_json,
)
from toolablate.traces.store import Recorder, Store

SIMULATED = "[[models]]\nprovider = 'simulated'\nplaybook = 'builtin'\nname = 'sim'\n"

STEPS = [
    ("none", "scaffold", {"system"}),
    ("scaffold", "{}:offered", {"tools", "tool_choice"}),
    ("{}:offered", "{}:sham", {"tool_choice"}),
    ("{}:sham", "{}:placebo", set[str]()),
    ("{}:placebo", "{}", set[str]()),
    ("{}", "{}:oracle", set[str]()),
    ("{}", "{}:adversarial", set[str]()),
]
"""Neighbouring arms, and what may be different in the first request of a trial."""

UNPROMPTED = [
    ("none", "python:offered-unprompted", {"tools", "tool_choice"}),
    ("python:offered-unprompted", "python:sham-unprompted", {"tool_choice"}),
    ("python:sham-unprompted", "python:placebo-unprompted", set[str]()),
    ("python:placebo-unprompted", "python:unprompted", set[str]()),
    ("python:unprompted", "python", {"system"}),
]

ALL_STEPS = [(a.format(T), b.format(T), allowed) for T in ("python", "search") for a, b, allowed in STEPS] + UNPROMPTED


def write_plan(folder: Path, ladder: str, *, limit: int = 2, models: str = SIMULATED, extra: str = "") -> Path:
    path = folder / "plan.toml"
    path.write_text(
        f"ladder = {ladder}\n{extra}\n[questions]\nfile = 'builtin'\nlimit = {limit}\n"
        f"[search]\nprovider = 'corpus'\ncorpus = 'builtin'\n{models}",
        encoding="utf-8",
    )
    return path


def run(plan: Path, into: str = "store.sqlite") -> dict[str, list[Trace]]:
    """The traces of each condition, in the order of their questions."""
    loaded, text = load_plan(plan)
    store = plan.parent / into
    with RunProgress(Console(quiet=True)) as progress:
        launch(loaded.with_changes(store=store), text, progress)
    found: dict[str, list[Trace]] = {}
    with Store(store) as opened:
        for trace in sorted(opened.traces(), key=lambda trace: trace.trial.question):
            assert trace.outcome != "failed", trace
            found.setdefault(opened.condition(trace.trial.condition).name, []).append(trace)
    return found


def calls_of(trace: Trace) -> list[ToolCall]:
    return [event for event in trace.events if isinstance(event, ToolCall)]


def first_request(trace: Trace) -> ModelRequest:
    return next(event.request for event in trace.events if isinstance(event, ModelCall))


def parts(request: ModelRequest) -> dict[str, str]:
    """Digests of all that there is in a first request."""
    written = request.model_dump(mode="json")
    messages = written.pop("messages")
    roles = [message["role"] for message in messages]
    assert roles in (["user"], ["system", "user"])
    return {
        "user": digest_json(messages[-1]),
        "system": digest_json(messages[:-1]),
        **{key: digest_json(value) for key, value in written.items()},
    }


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@pytest.mark.deep
def test_first_requests_of_neighbouring_arms_differ_in_the_named_factor_alone(tmp_path: Path) -> None:
    traces = run(write_plan(tmp_path, '[{ name = "python", shapley = true }, "search"]'))
    assert len(traces) == 2 + 6 + 6 + 4
    assert {len(of_condition) for of_condition in traces.values()} == {2}
    for question in range(2):
        digests = {name: parts(first_request(of_condition[question])) for name, of_condition in traces.items()}
        assert len({found["user"] for found in digests.values()}) == 1
        for before, after, allowed in ALL_STEPS:
            assert changed(digests[before], digests[after]) == allowed, (before, after)


@pytest.mark.deep
def test_only_the_placebo_and_the_real_arm_ask_the_tool(tmp_path: Path) -> None:
    must = 'tool_choice = "required"'
    traces = run(write_plan(tmp_path, f'[{{ name = "python", {must} }}, {{ name = "search", {must} }}]'))
    for toolset in ("python", "search"):
        assert not any(map(calls_of, [*traces["none"], *traces["scaffold"], *traces[f"{toolset}:offered"]]))
        assert all(not call.changes and call.original is None for t in traces[toolset] for call in calls_of(t))
        for arm in ("sham", "placebo", "oracle", "adversarial"):
            for trace in traces[f"{toolset}:{arm}"]:
                called = calls_of(trace)
                assert called
                assert all(call.changes[0].intervention == arm for call in called)
                assert all((call.original is None) is (arm != "placebo") for call in called)


@pytest.mark.deep
def test_arms_of_a_toolset_whose_first_use_is_forced_begin_with_a_call(tmp_path: Path) -> None:
    table = '{ name = "python", tool_choice = "python", arms = ["offered", "sham", "oracle"] }'
    traces = run(write_plan(tmp_path, f"[{table}]"))
    assert {first_request(trace).tool_choice for trace in traces["python:offered"]} == {"none"}
    for name in ("python", "python:sham", "python:oracle"):
        for trace in traces[name]:
            choices = [event.request.tool_choice for event in trace.events if isinstance(event, ModelCall)]
            assert choices[:2] == ["python", "auto"]
            assert calls_of(trace)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("budget = { tool_calls = 1 }", ""),
        ('interventions = [{ name = "limit", options = { calls = 1 } }]', "limit"),
    ],
)
def test_calls_can_be_limited_in_the_arms_of_a_ladder(tmp_path: Path, table: str, told: str) -> None:
    search = f'[{{ name = "search", tool_choice = "web_search", arms = ["sham", "oracle"], {table} }}]'
    traces = run(write_plan(tmp_path, search, limit=6))
    several = 0
    for name in ("search", "search:sham", "search:oracle"):
        for trace in traces[name]:
            called = calls_of(trace)
            answered = [call for call in called if call.error != "call_limit"]
            assert len(answered) == 1
            refused = [call for call in called if call not in answered]
            assert all(change.intervention == "limit" for call in refused for change in call.changes)
            several += len(refused)
    assert bool(several) is bool(told)


def endpoint(url: str, api: str) -> str:
    return f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{url}'\napi = '{api}'\nconcurrency = 1\n"


@pytest.mark.deep
@pytest.mark.parametrize(("api", "opening"), [("chat", "messages"), ("responses", "input")])
def test_over_the_wire_arms_differ_in_the_named_factor_alone(
    chat_server: ChatServer, tmp_path: Path, api: str, opening: str
) -> None:
    answer: Any = reply("Answer: A") if api == "chat" else response(says("Answer: A"))
    chat_server.answers(lambda _: answer)
    ladder = '[{ name = "python", shapley = true }, "search"]'
    plan = write_plan(tmp_path, ladder, limit=1, models=endpoint(chat_server.url, api))
    run(plan)
    # One request at a time, in the order of the design.
    names = [planned.condition.name for planned in design(load_plan(plan)[0]).trials]
    bodies = dict(zip(names, map(_digests(opening), chat_server.requests), strict=True))
    assert len({body["user"] for body in bodies.values()}) == 1
    for before, after, allowed in ALL_STEPS:
        assert changed(bodies[before], bodies[after]) == allowed, (before, after)


def _digests(opening: str) -> Callable[[dict[str, Any]], dict[str, str]]:
    def digests(body: dict[str, Any]) -> dict[str, str]:
        *system, user = body[opening]
        assert user["role"] == "user"
        rest = {key: digest_json(value) for key, value in body.items() if key != opening}
        return {"user": digest_json(user), "system": digest_json(system), **rest}

    return digests


class Waiting:
    """An executor whose real arms end after all the others have."""

    environment = Environment()

    def __init__(self, others: int) -> None:
        self._others = others
        self._ended = asyncio.Event()

    async def run(self, planned: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        if planned.condition.name in ("python", "python:placebo"):
            await self._ended.wait()
        else:
            self._others -= 1
            if not self._others:
                self._ended.set()
        return AgentResult("budget", Usage(), None, 0.0)


async def test_arms_that_start_no_kernel_do_not_wait_for_ones_place(tmp_path: Path) -> None:
    plan = load_plan(write_plan(tmp_path, '["python"]', limit=3))[0]
    planned = design(plan)
    waiting = ("python", "python:placebo")
    first = sorted(planned.trials, key=lambda trial: trial.condition.name not in waiting)
    progress = RunProgress(Console(quiet=True))
    executor = Waiting(sum(trial.condition.name not in waiting for trial in first))
    setting = Setting(executor, Scorers(plan, progress.warn), progress, Failures(), kernels=1)
    with Recorder(tmp_path / "store.sqlite") as recorder:
        recorder.plan(_run(plan), planned.questions, planned.models, planned.conditions, [t.trial for t in first])
        progress.begin(len(first), first)
        assert await run_trials(first, setting, recorder, StopSwitch()) == []
        assert len(recorder.finished_trials()) == len(first)


def _run(plan: Plan) -> Run:
    return Run(
        id=uuid.uuid4().hex, started_at=datetime.now(UTC), plan="", toolablate="0", baseline="none", fingerprint={}
    )
