"""One worker, as the driver deals with it: what it runs, what is posted to it, whether it is like the others."""

import asyncio
import time
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from toolablate.experiments.cluster.attempts import UnderWay
from toolablate.experiments.cluster.messages import Attempt, Channel, ToWorker, WorkerLost
from toolablate.traces.records import Environment
from toolablate.traces.store import WorkerStanding

# The driver's loop may be behind: what is there by then was not lost.
LATE_SECONDS = 1.0
# A head that does not answer keeps each for seconds: of their own, since look-ups of names need the loop's.
_ASKING = ThreadPoolExecutor(4, "asks the cluster")

Answer = TypeVar("Answer")


async def in_thread(asked: Callable[[], Answer]) -> Answer:
    """What an engine or a channel answers that may take seconds."""
    return await asyncio.get_running_loop().run_in_executor(_ASKING, asked)


class Engine(Protocol):
    """Starts workers somewhere."""

    async def start(self, avoiding: Collection[str]) -> Channel:
        """At none of these places. Raises WorkerLost where it cannot."""
        ...

    def places(self) -> Collection[str]:
        """Where it could start workers now. Is called by `in_thread`, as `shown`."""
        ...

    def shown(self) -> str:
        """For people: what a worker needs of a node, and all nodes that there are."""
        ...


@dataclass(slots=True)
class Node:
    """A worker that is started, ready or lost. `heard` is when it last said something, and `asked` when it was last
    asked to; `ended` is how many trials it has ended, and `lost` how many were lost with it; `avoids` is whether there
    were places where it must not be, `place` is where it became ready, if that is known, and `why` it was lost."""

    channel: Channel
    slot: int
    name: str = ""
    heard: float = field(default_factory=time.monotonic)
    asked: float = field(default_factory=time.monotonic)
    ended: int = 0
    lost: int = 0
    avoids: bool = False
    place: str = ""
    why: str = ""
    trials: dict[Attempt, UnderWay] = field(default_factory=dict)
    shared: set[str] = field(default_factory=set)
    _outgoing: list[ToWorker] = field(default_factory=list)
    _some: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def coding(self) -> int:
        return sum(trial.coding for trial in self.trials.values())

    def standing(self, state: Literal["ready", "lost"]) -> WorkerStanding:
        running = len(self.trials) if state == "ready" else 0
        return WorkerStanding(self.name, state, running, self.ended, self.lost, time.monotonic() - self.heard)

    def post(self, message: ToWorker) -> None:
        self._outgoing.append(message)
        self._some.set()

    async def send(self) -> None:
        """Sends what is posted. Raises WorkerLost."""
        while True:
            await self._some.wait()
            self._some.clear()
            batch, self._outgoing = self._outgoing, []
            await self.channel.put(batch)

    async def watch(self, most: Callable[[], float | None]) -> None:
        """Raises WorkerLost where it has been silent for as long as it may be. Apart from who listens to it: a time-out
        for each batch of its messages took 6 % of the CPU of a driver of a hundred workers."""
        while True:
            seconds = most()
            if seconds is None or not self._silent(seconds):
                left = LATE_SECONDS if seconds is None else self.asked + seconds - time.monotonic()
                # It may be silent for another time once it is ready.
                await asyncio.sleep(left if self.name else min(left, LATE_SECONDS))
                continue
            # Where this loop itself was late, what has come meanwhile is there an instant later.
            await asyncio.sleep(LATE_SECONDS)
            if self._silent(seconds):
                why = "it cannot be reached, or a tool blocks its event loop"
                raise WorkerLost(f"nothing was heard of it for {seconds:.0f} s ({why})")

    def _silent(self, seconds: float) -> bool:
        return time.monotonic() - self.asked >= seconds


async def first_ended(*all_of_them: Coroutine[Any, Any, None]) -> None:
    """Until one of them raises: a worker that cannot be heard or told anything is lost."""
    tasks = [asyncio.create_task(each) for each in all_of_them]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in ended:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def differing(first: Environment, other: Environment) -> str:
    """What is not the same."""
    one, two = first.model_dump(mode="json"), other.model_dump(mode="json")
    return "; ".join(
        f"{name}: {_shown(one[name], two[name])} there, {_shown(two[name], one[name])} at the first"
        for name in one
        if one[name] != two[name]
    )


def _shown(one: object, other: object) -> object:
    """Of a mapping what differs."""
    if isinstance(one, dict) and isinstance(other, dict):
        return ", ".join(f"{key} {other.get(key)}" for key in one | other if one.get(key) != other.get(key))
    return other
