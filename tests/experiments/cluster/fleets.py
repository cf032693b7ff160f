"""Fleets of workers in the test's own process, and trials whose course their questions say."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from toolablate.agents import AgentResult, Line
from toolablate.agents.pacing import EndpointPace
from toolablate.experiments.cluster.fleet import FleetExecutor
from toolablate.experiments.cluster.in_process import InProcess
from toolablate.experiments.cluster.messages import ToDriver, ToWorker
from toolablate.experiments.plans.plan import PlannedTrial
from toolablate.experiments.running.execution import Executor, RecordEvent
from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    Answer,
    Condition,
    Environment,
    Event,
    NumberTarget,
    OpenAIModel,
    Question,
    Trial,
    Usage,
)
from toolablate.traces.store.digests import Written

MODEL = OpenAIModel(name="m", endpoint="http://e/v1")
CONDITION = Condition(name="none")
PYTHON_3 = Environment(versions={"python": "3"})


def planned(course: str, number: int = 0) -> PlannedTrial:
    """A trial whose question is its course: `ask` asks the model, `say N` records N events, `hang` never ends, `fail`,
    `refused` and `bug` raise."""
    question = Question(id=f"q{number}", prompt=course, target=NumberTarget(value=1))
    trial = Trial(question=question.identity(), model=MODEL.identity(), condition=CONDITION.identity(), repeat=0)
    return PlannedTrial(trial, question, MODEL, CONDITION)


@dataclass(frozen=True)
class Scripted:
    """An `Opener` and `Executor`; what it runs is in the prompt."""

    environment: Environment = PYTHON_3
    lines: Mapping[str, Line] = field(default_factory=dict)

    async def open(self, stack: AsyncExitStack, lines: Mapping[str, Line]) -> Executor:
        return Scripted(self.environment, lines)

    async def run(self, planned: PlannedTrial, record: Callable[[Event], None]) -> AgentResult:
        said = 0
        for step in planned.question.prompt.split("; "):
            match step.split():
                case ["ask"]:
                    await ask(self.lines["models.m"], first=said == 0)
                case ["knock"]:
                    await knock(self.lines["models.m"])
                case ["say", count]:
                    for _ in range(int(count)):
                        record(Answer(at=0.0, text=f"{said}", limit=None))
                        said += 1
                        await asyncio.sleep(0)
                case ["large"]:
                    record(Answer(at=0.0, text="x" * 65_000_000, limit=None))
                case ["hang"]:
                    try:
                        await asyncio.Event().wait()
                    finally:
                        record(Answer(at=0.0, text="cut off", limit=None))
                case ["refused", *_]:
                    await be_refused(self.lines["models.m"])
                case [how, *_]:
                    raise FAILS[how]()
        return AgentResult(outcome="answered", seconds=1.0, usage=Usage(), cost_usd=None)


FAILS: Mapping[str, Callable[[], BaseException]] = {
    "fail": lambda: ModelError("no", code="bad_request"),
    "bug": lambda: RuntimeError("a bug"),
    "cancelled": asyncio.CancelledError,
    "panicking": lambda: BaseException("of a compiled library"),
    "generator": GeneratorExit,
    "mute": lambda: MuteError(),
}


class MuteError(Exception):
    def __str__(self) -> str:
        raise ValueError("no words")


class BusyError(ModelError):
    """Of a provider of others: what it keeps cannot be sent."""

    def __init__(self) -> None:
        super().__init__("busy", hint="wait", code="rate_limited", retryable=True, retry_after=0.01)
        self.limit_of = "key"
        self.lock = threading.Lock()


async def be_refused(line: Line) -> None:
    place = await line.enter(first=True)
    line.refused(place, BusyError())
    line.leave(place)


async def knock(line: Line) -> None:
    """Where nobody is there."""
    error = ModelError("nobody there", code="unreachable", retryable=True)
    while error.retryable:
        error = line.unreached(await line.enter(first=True), error)
    raise error


async def ask(line: Line, *, first: bool) -> None:
    place = await line.enter(first=first)
    try:
        await asyncio.sleep(0.001)
    except BaseException:
        line.leave(place)
        raise
    line.replied(place)


class Tapped(InProcess):
    """What comes from it goes through `hears`, which may change it."""

    at = "here"

    def __init__(self, opener: Scripted, lines: Mapping[str, bool], hears: "Hears") -> None:
        super().__init__(opener, lines)
        self._hears = hears

    def place(self) -> str:
        return self.at

    async def take(self) -> Sequence[ToDriver]:
        return self._hears(self, await super().take())

    async def put(self, messages: Sequence[ToWorker]) -> None:
        # Said twice is done once.
        await super().put([each for message in messages for each in (message, message)])


Hears = Callable[[Tapped, Sequence[ToDriver]], Sequence[ToDriver]]


@dataclass
class Workers:
    """An `Engine`. `openers` are those of the workers in the order in which they are started, each at the first of the
    places that it may be at."""

    openers: Sequence[Scripted] = ()
    hears: Hears = lambda _, messages: messages
    nodes: list[str] = field(default_factory=lambda: ["here"])
    started: list[Tapped] = field(default_factory=list)

    def places(self) -> Sequence[str]:
        return self.nodes

    def shown(self) -> str:
        return ", ".join(self.nodes)

    async def start(self, avoiding: Collection[str]) -> Tapped:
        number = len(self.started)
        opener = self.openers[number] if number < len(self.openers) else Scripted()
        self.started.append(Tapped(opener, {"models.m": False}, self.hears))
        # Where there is no other place, it is where it may not be; so the fleet is told of that again.
        self.started[-1].at = next((each for each in self.nodes if each not in avoiding), self.nodes[0])
        return self.started[-1]


@asynccontextmanager
async def fleet(
    engine: Workers, count: int = 2, *, places: int = 4, patience: float = 60, retries: int = 1
) -> AsyncIterator[tuple[FleetExecutor, list[str], Line]]:
    """With what it warned of, and the line of the model."""
    line, warned = EndpointPace("e").line(places), list[str]()
    opened = FleetExecutor(
        engine,
        {"models.m": line},
        workers=count,
        kernels=2,
        retries=retries,
        warn=warned.append,
        patience=patience,
    )
    try:
        await opened.open()
        yield opened, warned, line
    finally:
        await opened.close()


def into(said: list[Event]) -> RecordEvent:
    def record(event: Event, written: Written | None = None) -> None:
        assert written is not None
        said.append(event)

    return record


async def texts(executor: FleetExecutor, trial: PlannedTrial) -> list[str]:
    """What its events said, in order."""
    said: list[Event] = []
    await executor.run(trial, into(said))
    return [event.text for event in said if isinstance(event, Answer)]


async def until(happened: Callable[[], object]) -> None:
    for _ in range(20_000):
        if happened():
            return
        await asyncio.sleep(0.001)
    raise AssertionError
