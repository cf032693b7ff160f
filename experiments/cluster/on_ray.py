"""Workers as actors of Ray, the extra `cluster`. Beside `joining` no other module knows it."""

import asyncio
import gc
import os
import pickle
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from toolablate.experiments.cluster.joining import LOCAL_WORKERS, join, no_cluster, nodes
from toolablate.experiments.cluster.messages import ToDriver, ToWorker, WorkerLost
from toolablate.experiments.cluster.worker import Opener, Worker
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.tools.text import one_line

_CLOSE_SECONDS = 10.0
# Ray sets it for its workers; users' tools are to find what the driver has.
_THREADS = "OMP_NUM_THREADS"


def _unpacked(packed: bytes, threads: str | None) -> Any:
    """In a process of Ray, once that is as the driver's is."""
    os.environ.pop(_THREADS, None)
    if threads is not None:
        os.environ[_THREADS] = threads
    return pickle.loads(packed)  # noqa: S301 - of the driver, which runs our own code


class RayWorker:
    """A `Worker` in a process of Ray."""

    def __init__(self, packed: bytes, threads: str | None, collected_after: tuple[int, int, int]) -> None:
        opener, lines = _unpacked(packed, threads)
        # By default Python looks for cycles so often that it is a fifth of a run's CPU.
        gc.set_threshold(*collected_after)
        self._worker = Worker(opener, lines)
        self._running: asyncio.Task[None] | None = None

    async def put(self, messages: Sequence[ToWorker]) -> None:
        self._worker.put(messages)

    async def take(self) -> Sequence[ToDriver]:
        if self._running is None:
            self._running = asyncio.create_task(self._worker.run())
        return await self._worker.take()

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)


class RayChannel:
    """A `Channel`."""

    def __init__(self, actor: Any) -> None:
        self._actor = actor

    async def put(self, messages: Sequence[ToWorker]) -> None:
        await self._asked(self._actor.put.remote(list(messages)))

    async def take(self) -> Sequence[ToDriver]:
        messages: Sequence[ToDriver] = await self._asked(self._actor.take.remote())
        return messages

    async def _asked(self, reference: Any) -> Any:
        import ray.exceptions

        try:
            return await reference
        except ray.exceptions.RayError as error:
            raise WorkerLost(_reason(error)) from None

    async def close(self) -> None:
        import ray
        import ray.exceptions

        with suppress(WorkerLost, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._asked(self._actor.close.remote())
        with suppress(ray.exceptions.RayError, ValueError):
            ray.kill(self._actor)


class RayEngine:
    """An `Engine`. Whatever a worker needs is an argument of its actor: a `runtime_env` shows in logs."""

    def __init__(self, workers: int, cpus: float, opener: Opener, lines: Mapping[str, bool]) -> None:
        self.workers = workers
        self._cpus = cpus
        self._packed = pickle.dumps((opener, dict(lines)))

    async def start(self) -> RayChannel:
        import ray
        import ray.exceptions

        options = {"num_cpus": self._cpus, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": "SPREAD"}
        try:
            given = self._packed, os.environ.get(_THREADS), gc.get_threshold()
            actor = ray.remote(RayWorker).options(**options).remote(*given)
        except ray.exceptions.RayError as error:
            raise WorkerLost(one_line(str(error), 200)) from None
        return RayChannel(actor)


def open_ray(
    section: ClusterSection, opener: Opener, lines: Mapping[str, bool], stack: AsyncExitStack, tell: Tell
) -> RayEngine:
    """Joins the cluster that the plan names, or starts one; the stack leaves it. Raises InputError."""
    join(section, stack, tell)
    workers = section.workers or LOCAL_WORKERS
    if section.workers is None and section.address != "local":
        workers = sum(cpus >= section.cpus for _, _, cpus in nodes())
        if not workers:
            raise no_cluster(section.address, f"no node has {section.cpus:g} CPUs, as cluster.cpus asks for")
    return RayEngine(workers, section.cpus, opener, lines)


class RayNode:
    """Asks something in a process as `RayWorker` has it."""

    def __init__(self, packed: bytes, threads: str | None) -> None:
        self._ask = _unpacked(packed, threads)

    async def ask(self) -> Any:
        return await self._ask()


@dataclass(frozen=True, slots=True)
class NodeSaid:
    """What asking a node came to: its `answer`, or why there is none. `works` is whether a worker would be started
    there, for which it needs so many processors."""

    name: str
    cpus: float
    works: bool
    answer: Any = None
    error: str = ""


def ask_each_node(
    section: ClusterSection, ask: Callable[[], Awaitable[Any]], seconds: float, stack: ExitStack, tell: Tell
) -> list[NodeSaid]:
    """Asks all nodes at once that could have workers, for so long at most; `ask` is pickled. Raises InputError as
    `open_ray`."""
    join(section, stack, tell)
    import ray
    import ray.exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    packed, actors, asked = pickle.dumps(ask), list[Any](), dict[str, Any]()
    there_are = nodes()
    for identity, _, cpus in there_are:
        if cpus >= section.cpus:
            there = NodeAffinitySchedulingStrategy(identity, soft=False)
            options: dict[str, Any] = {"num_cpus": 0, "max_restarts": 0, "scheduling_strategy": there}
            actors.append(ray.remote(RayNode).options(**options).remote(packed, os.environ.get(_THREADS)))
            asked[identity] = actors[-1].ask.remote()
    if asked:
        ray.wait(list(asked.values()), num_returns=len(asked), timeout=seconds)
    said = []
    for identity, name, cpus in there_are:
        answer, error = None, ""
        try:
            if identity in asked:
                answer = ray.get(asked[identity], timeout=0)
        except ray.exceptions.GetTimeoutError:
            error = f"nothing was heard of it within {seconds:.0f} s"
        except ray.exceptions.RayError as failed:
            error = _reason(failed)
        said.append(NodeSaid(name, cpus, identity in asked, answer, error))
    for actor in actors:
        ray.kill(actor)
    return said


def _reason(error: Exception) -> str:
    """Ray ends with what was raised, after a stack. Of a process that was killed, or lost with its node, it says much
    that is not for people."""
    import ray.exceptions

    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "Error" in lines[-1]:
        return one_line(lines[-1], 200)
    return "its process ended" if isinstance(error, ray.exceptions.RayActorError) else one_line(str(error), 200)
