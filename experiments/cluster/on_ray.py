"""Workers as actors of Ray, the extra `cluster`. Beside `joining` no other module knows it."""

import asyncio
import gc
import os
import pickle
import re
import signal
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, suppress
from dataclasses import dataclass
from typing import Any

from toolablate.experiments.cluster.joining import (
    LOCAL_WORKERS,
    Head,
    head,
    join,
    nodes,
    rejoin,
    too_few_cpus,
    what_nodes_have,
)
from toolablate.experiments.cluster.messages import ToDriver, ToWorker, WorkerLost, WorkerSetupError
from toolablate.experiments.cluster.node import in_thread
from toolablate.experiments.cluster.worker import Opener, Worker
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.reports.numbers import counted
from toolablate.tools.text import one_line

_CLOSE_SECONDS = 10.0
# Ray sets it for its workers; users' tools are to find what the driver has.
_THREADS = "OMP_NUM_THREADS"


def _unpacked(packed: bytes, threads: str | None) -> Any:
    """In a process of Ray, once that is as the driver's is."""
    os.environ.pop(_THREADS, None)
    if threads is not None:
        os.environ[_THREADS] = threads
    _let_sigint_through()
    return pickle.loads(packed)  # noqa: S301 - of the driver, which runs our own code


def _let_sigint_through() -> None:
    """Ray blocks SIGINT in its processes, and what is blocked stays so in those that users' tools start. A handler that
    does nothing, unlike one that ignores it, ends with `exec`. Ctrl-C is the driver's, and must not end a worker."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, lambda *_: None)
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


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
            # A mask is that of a thread, and tools are called in this one and in those that it starts.
            _let_sigint_through()
            self._running = asyncio.create_task(self._worker.run())
        return await self._worker.take()

    async def close(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)


class RayChannel:
    """A `Channel`."""

    def __init__(self, actor: Any, head: Head) -> None:
        self._actor = actor
        self._head = head

    async def put(self, messages: Sequence[ToWorker]) -> None:
        await self._said(self._actor.put.remote(list(messages)))

    async def take(self) -> Sequence[ToDriver]:
        messages: Sequence[ToDriver] = await self._said(self._actor.take.remote())
        return messages

    async def _said(self, reference: Any) -> Any:
        import ray.exceptions

        try:
            return await reference
        except ray.exceptions.RayError as error:
            if isinstance(error, ray.exceptions.RayActorError) and error.actor_init_failed:
                raise WorkerSetupError(_reason(error), _address(error)) from None
            raise WorkerLost(_reason(error)) from None

    def place(self) -> str:
        """The id of its node, also once it has ended. Ray tells it in no public place where it has no dashboard, and
        nowhere of an actor that it does not know, or while the cluster is gone."""
        if not self._head.is_there():
            return ""
        try:
            from ray._private.state import actors

            identity = self._actor._actor_id.hex()
            return str(actors(identity).get("Address", {}).get("NodeID", ""))
        except Exception:  # noqa: BLE001 - of many kinds, and of none is the place known
            return ""

    async def close(self) -> None:
        import ray
        import ray.exceptions

        with suppress(WorkerLost, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._said(self._actor.close.remote())
        # Where this process is in no cluster any more, `kill` would start one.
        if await in_thread(self._head.is_there) and ray.is_initialized():
            with suppress(ray.exceptions.RayError, ValueError):
                ray.kill(self._actor)


class RayEngine:
    """An `Engine`. Whatever a worker needs is an argument of its actor: a `runtime_env` shows in logs."""

    def __init__(self, workers: int, section: ClusterSection, opener: Opener, lines: Mapping[str, bool]) -> None:
        self.workers = workers
        self._section = section
        self._packed = pickle.dumps((opener, dict(lines)))
        self._head = head()

    def places(self) -> list[str]:
        """None while the cluster is gone."""
        if not self._head.is_there():
            return []
        try:
            return [identity for identity, _, cpus in nodes() if cpus >= self._section.cpus]
        except Exception:  # noqa: BLE001 - of many kinds, and all are that no node answers
            return []

    def shown(self) -> str:
        if not self._head.is_there():
            return f"the head of the cluster ({self._head.address}) does not answer"
        try:
            return f"a worker {what_nodes_have(self._section)}"
        except Exception as error:  # noqa: BLE001 - of many kinds, and all are that no node answers
            return f"no node of the cluster answers: {one_line(str(error), 200)}"

    async def start(self, avoiding: Collection[str]) -> RayChannel:
        import ray
        import ray.exceptions

        options: dict[str, Any] = {
            "num_cpus": self._section.cpus,
            "max_restarts": 0,
            "max_task_retries": 0,
            "scheduling_strategy": "SPREAD",
        }
        if avoiding:
            options["label_selector"] = {"ray.io/node-id": f"!in({','.join(sorted(avoiding))})"}
        if not await in_thread(self._head.answers):
            raise WorkerLost(f"the head of the cluster ({self._head.address}) does not answer")
        try:
            self._head = rejoin(self._section, self._head)
        except Exception as error:  # noqa: BLE001 - of many kinds, and all are that there is no node yet
            raise WorkerLost(f"no node of the cluster answers: {one_line(str(error), 200)}") from None
        try:
            given = self._packed, os.environ.get(_THREADS), gc.get_threshold()
            actor = ray.remote(RayWorker).options(**options).remote(*given)
        except ray.exceptions.RayError as error:
            raise WorkerLost(one_line(str(error), 200)) from None
        return RayChannel(actor, self._head)


def open_ray(
    section: ClusterSection, opener: Opener, lines: Mapping[str, bool], stack: AsyncExitStack, tell: Tell
) -> RayEngine:
    """Joins the cluster that the plan names, or starts one; the stack leaves it. Raises InputError."""
    join(section, stack, tell)
    workers = section.workers or LOCAL_WORKERS
    if section.workers is None and section.address != "local":
        workers = sum(cpus >= section.cpus for _, _, cpus in nodes())
        if not workers:
            raise too_few_cpus(section)
    return RayEngine(workers, section, opener, lines)


class RayNode:
    """Tries something in a process as `RayWorker` has it."""

    def __init__(self, packed: bytes, threads: str | None) -> None:
        self._trying = _unpacked(packed, threads)

    async def tried(self) -> Any:
        return await self._trying()


@dataclass(frozen=True, slots=True)
class NodeSaid:
    """What trying a node came to: what was `found`, or why nothing was. `works` is whether a worker would be started
    there, for which it needs so many processors."""

    name: str
    cpus: float
    works: bool
    found: Any = None
    error: str = ""


def try_each_node(
    section: ClusterSection, trying: Callable[[], Awaitable[Any]], seconds: float, stack: ExitStack, tell: Tell
) -> list[NodeSaid]:
    """On all nodes at once that could have workers, for so long at most; `trying` is pickled. Raises InputError as
    `open_ray`."""
    join(section, stack, tell)
    import ray
    import ray.exceptions
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    packed, actors, tried = pickle.dumps(trying), list[Any](), dict[str, Any]()
    there_are = nodes()
    for identity, _, cpus in there_are:
        if cpus >= section.cpus:
            there = NodeAffinitySchedulingStrategy(identity, soft=False)
            options: dict[str, Any] = {"num_cpus": 0, "max_restarts": 0, "scheduling_strategy": there}
            actors.append(ray.remote(RayNode).options(**options).remote(packed, os.environ.get(_THREADS)))
            tried[identity] = actors[-1].tried.remote()
    if tried:
        tell(f"Trying {counted(len(tried), 'node')} ...")
        ray.wait(list(tried.values()), num_returns=len(tried), timeout=seconds)
    said = []
    for identity, name, cpus in there_are:
        found, error = None, ""
        try:
            if identity in tried:
                found = ray.get(tried[identity], timeout=0)
        except ray.exceptions.GetTimeoutError:
            error = f"nothing was heard of it within {seconds:.0f} s"
        except ray.exceptions.RayError as failed:
            error = _reason(failed)
        said.append(NodeSaid(name, cpus, identity in tried, found, error))
    for actor in actors:
        ray.kill(actor)
    return said


def _reason(error: Exception) -> str:
    """In plain words: Ray tells of much that is not for people, as of the stack of what a worker raised. That a process
    has ended it says in its text alone; one that is cut off may live."""
    import ray.exceptions

    if isinstance(error, ray.exceptions.ActorUnavailableError):
        return "it cannot be reached any more"
    if isinstance(error, ray.exceptions.RayTaskError) and isinstance(error.cause, WorkerLost):
        return str(error.cause)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if lines and "Error" in lines[-1]:
        return one_line(lines[-1], 200)
    if isinstance(error, ray.exceptions.RayActorError):
        return "its process ended" if "process has died" in str(error) else "nothing is heard of it any more"
    return one_line(str(error), 200)


def _address(error: Exception) -> str:
    """Of a process that could not be made, where: Ray says so in its text alone."""
    found = re.search(r"\bip=([^,)\s]+)", str(error))
    return f"the node {found[1]}" if found else "a node"
