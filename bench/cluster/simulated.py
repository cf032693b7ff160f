"""python -m bench.cluster.simulated FOLDER WORKERS TRIALS IN_FLIGHT SECONDS: a run whose workers only say what was
recorded.

Each worker is a channel in this process, without a model, tool or kernel: it says a trace of fifty events again, with a
place in the driver's line for each of its requests. Fleet, lines, recorder, scores and store are the real ones. Trials
last SECONDS on average, waits not counted; 0 for as fast as the driver takes them. What was seen is printed as JSON.
"""

import asyncio
import gc
import itertools
import json
import os
import pickle
import random
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bench.store.contents import conversation, spent
from bench.store.sources import open_sources
from bench.viewer.contents import write_questions

from toolablate.agents import AgentResult, Line
from toolablate.cli import _COLLECTED_AFTER
from toolablate.experiments.cluster.fleet import FleetExecutor
from toolablate.experiments.cluster.messages import (
    Answered,
    Attempt,
    Cancel,
    Ended,
    Enters,
    Packer,
    Ready,
    Recorded,
    Start,
    Tells,
    ToDriver,
    ToWorker,
)
from toolablate.experiments.environment.environment import recorded_environment
from toolablate.experiments.plans.plan import Plan, load_plan
from toolablate.experiments.running.execution import RunExecutor
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.records import Condition, Environment, ModelCall
from toolablate.traces.store.digests import EventContents

EVENTS = 50
_TURNS = EVENTS // 2 - 1
_TRACES = 20
_TOGETHER_SECONDS = 0.1
_PAGE_MB = os.sysconf("SC_PAGE_SIZE") / 1e6


@dataclass(frozen=True, slots=True)
class Recording:
    """What a worker said of a trial: its events in order, and whether each waited for a place."""

    packed: Sequence[bytes]
    asks: Sequence[bool]
    result: AgentResult


def recordings() -> list[Recording]:
    sources, found = open_sources(None), []
    for name in map(str, range(_TRACES)):
        events = conversation("What is it?", "Use the tool.", "A", sources.about(name), name, turns=_TURNS)
        packer, contents, took = Packer(), EventContents(), spent(events)
        result = AgentResult(outcome="answered", seconds=took.seconds, usage=took.usage, cost_usd=took.cost_usd)
        asks = [isinstance(event, ModelCall) for event in events]
        found.append(Recording([packer.pack(*contents.written(event)) for event in events], asks, result))
    return found


class Replaying:
    """A `Channel`. Between two events of a trial `pause` seconds pass."""

    ended = 0
    """Trials, of all of them."""

    def __init__(self, recorded: Sequence[Recording], environment: Environment, line: str, pause: float) -> None:
        self._recorded, self._line, self._pause = recorded, line, pause
        self._said: list[ToDriver] = [Ready("simulated", environment)]
        self._urgent = asyncio.Event()
        self._urgent.set()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self._tickets = itertools.count()
        self._trials: dict[Attempt, asyncio.Task[None]] = {}

    async def put(self, messages: Sequence[ToWorker]) -> None:
        for message in messages:
            match message:
                case Start(attempt):
                    self._trials[attempt] = asyncio.create_task(self._play(attempt))
                case Answered(_, ticket):
                    self._waiting.pop(ticket).set_result(None)
                case Cancel(attempt):
                    self._trials[attempt].cancel()

    async def take(self) -> Sequence[ToDriver]:
        """As it comes over a wire."""
        try:
            async with asyncio.timeout(_TOGETHER_SECONDS):
                await self._urgent.wait()
        except TimeoutError:
            pass
        self._urgent.clear()
        said, self._said = self._said, []
        messages: Sequence[ToDriver] = pickle.loads(pickle.dumps(said, pickle.HIGHEST_PROTOCOL))
        return messages

    def place(self) -> str:
        return "here"

    async def close(self) -> None:
        for task in self._trials.values():
            task.cancel()

    async def _play(self, attempt: Attempt) -> None:
        recording = self._recorded[attempt.number % len(self._recorded)]
        # Not all that began together end together.
        pause = self._pause * random.Random(attempt.number).uniform(0.5, 1.5)
        for number, (packed, asks) in enumerate(zip(recording.packed, recording.asks, strict=True)):
            ticket = next(self._tickets)
            if asks:
                called = self._waiting[ticket] = asyncio.get_running_loop().create_future()
                self._said.append(Enters(attempt, ticket, self._line, 0.0, None, number == 0))
                self._urgent.set()
                await called
            await asyncio.sleep(pause)
            if asks:
                self._said.append(Tells(attempt, ticket, "replied"))
            self._said.append(Recorded(attempt, number, packed))
        self._said.append(Ended(attempt, recording.result))
        self._urgent.set()
        del self._trials[attempt]
        Replaying.ended += 1


@dataclass(frozen=True, slots=True)
class Engine:
    recorded: Sequence[Recording]
    environment: Environment
    line: str
    pause: float

    async def start(self, avoiding: Collection[str]) -> Replaying:
        return Replaying(self.recorded, self.environment, self.line, self.pause)

    def places(self) -> Collection[str]:
        return ("here",)

    def shown(self) -> str:
        return "here"


async def _open(
    workers: int,
    pause: float,
    _plan: Plan,
    _conditions: Sequence[Condition],
    fingerprint: Mapping[str, str],
    stack: AsyncExitStack,
    *,
    lines: Mapping[str, Line],
    **_: Any,
) -> RunExecutor:
    (line,) = lines
    engine = Engine(recordings(), recorded_environment(None, fingerprint), line, pause)
    fleet = FleetExecutor(engine, lines, workers=workers, kernels=1, warn=lambda _: None)
    stack.push_async_callback(fleet.close)
    await fleet.open()
    return fleet


@dataclass(slots=True)
class Seen:
    """`rss`, in MB, and the trials `done`, after each second and at the end; `cpu` is of the whole process."""

    trials: int
    missing: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    rss: list[float] = field(default_factory=list)
    done: list[int] = field(default_factory=list)


def _look(seen: Seen, over: threading.Event) -> None:
    ended = False
    while not ended:
        ended = over.wait(1.0)
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        seen.rss.append(pages * _PAGE_MB)
        seen.done.append(Replaying.ended)


def main() -> None:
    name, workers, trials, in_flight, seconds = sys.argv[1:]
    folder, seen, over = Path(name), Seen(int(trials)), threading.Event()
    gc.set_threshold(*_COLLECTED_AFTER)
    write_questions(folder, open_sources(None), seen.trials)
    (folder / "plan.toml").write_text(
        f"conditions = ['none']\n[questions]\nfile = 'questions.jsonl'\n[[models]]\nprovider = 'openai'\n"
        f"name = 'served'\nendpoint = 'http://127.0.0.1:1/v1'\nconcurrency = {in_flight}\n",
        encoding="utf-8",
    )
    plan, text = load_plan(folder / "plan.toml")
    looking = threading.Thread(target=_look, args=(seen, over), daemon=True)
    began, cpu = time.monotonic(), time.process_time()
    looking.start()
    with RunProgress() as progress:
        opens = partial(_open, int(workers), float(seconds) / EVENTS)
        ran = launch(plan.with_changes(store=folder / "store.sqlite"), text, progress, opens=opens)
    over.set()
    looking.join()
    seen.seconds, seen.cpu = time.monotonic() - began, time.process_time() - cpu
    seen.missing = ran.missing
    print(json.dumps(asdict(seen)))


if __name__ == "__main__":
    main()
