"""Workers as actors of Ray, the extra `cluster`. No other module knows it."""

import asyncio
import os
import pickle
import secrets
import socket
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import cache
from typing import Any

from toolablate.experiments.cluster.messages import ToDriver, ToWorker, WorkerLost
from toolablate.experiments.cluster.worker import Opener, Worker
from toolablate.experiments.environment.web import Tell
from toolablate.experiments.plans.sections import ClusterSection
from toolablate.tools.text import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install

LOCAL_WORKERS = 2
_CLOSE_SECONDS = 10.0
# Ray sets it for its workers; users' tools are to find what the driver has.
_THREADS = "OMP_NUM_THREADS"


class RayWorker:
    """A `Worker` in a process of Ray. What it is made of is unpacked when the process is as the driver's is."""

    def __init__(self, packed: bytes, threads: str | None) -> None:
        os.environ.pop(_THREADS, None)
        if threads is not None:
            os.environ[_THREADS] = threads
        opener, lines = pickle.loads(packed)  # noqa: S301 - of the driver, which runs our own code
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
            raise WorkerLost(one_line(str(error), 200)) from None

    async def close(self) -> None:
        import ray

        with suppress(WorkerLost, TimeoutError):
            async with asyncio.timeout(_CLOSE_SECONDS):
                await self._asked(self._actor.close.remote())
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
            actor = ray.remote(RayWorker).options(**options).remote(self._packed, os.environ.get(_THREADS))
        except ray.exceptions.RayError as error:
            raise WorkerLost(one_line(str(error), 200)) from None
        return RayChannel(actor)


def open_ray(
    section: ClusterSection, opener: Opener, lines: Mapping[str, bool], stack: AsyncExitStack, tell: Tell
) -> RayEngine:
    """Joins the cluster that the plan names, or starts one; the stack leaves it. Raises InputError."""
    # Read when Ray is imported: nothing is reported to its makers, and nobody without the token can run code.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    local = section.address == "local"
    if local and "RAY_AUTH_MODE" not in os.environ:
        os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=_local_token())
    _require_token()
    if not local and section.address != "auto":
        _require_answer(section.address)
    try:
        import ray
    except ImportError:
        raise InputError("cluster: Ray is not installed", hint=to_install("cluster"), code="no_ray") from None
    workers = section.workers or LOCAL_WORKERS
    if not ray.is_initialized():
        tell("Starting Ray on this machine ..." if local else f"Joining the cluster ({section.address}) ...")
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "address": section.address}
        if local:
            options |= {"num_cpus": workers * max(1, round(section.cpus)), "include_dashboard": False}
        try:
            ray.init(**options)
        except Exception as error:  # noqa: BLE001 - of many kinds, and all are about the address
            raise _no_cluster(section.address, f"{type(error).__name__}: {one_line(str(error), 300)}") from None
        stack.callback(ray.shutdown)
        _hush()
    if section.workers is None and not local:
        # Ray names no types for it.
        nodes: Any = ray.nodes
        workers = sum(node["Alive"] and node["Resources"].get("CPU", 0) >= section.cpus for node in nodes())
        if not workers:
            raise _no_cluster(section.address, f"no node has {section.cpus:g} CPUs, as cluster.cpus asks for")
    return RayEngine(workers, section.cpus, opener, lines)


def _hush() -> None:
    """Of a lost node Ray would print the end of its log into the run's progress. The fleet tells what was lost."""
    import ray._private.worker as printing

    if hasattr(printing, "print_to_stdstream"):
        printing.print_to_stdstream = lambda *_, **__: None


@cache
def _local_token() -> str:
    """One for this process, since Ray reads it once."""
    return secrets.token_hex(32)


def _require_token() -> None:
    if os.environ.get("RAY_AUTH_MODE") != "token":
        raise InputError(
            "cluster: whoever reaches the ports of a Ray cluster without a token can run code there",
            hint="start each node, and this command, with RAY_AUTH_MODE=token and one RAY_AUTH_TOKEN_PATH",
            code="no_token",
        )


def _require_answer(address: str) -> None:
    """Ray itself would try for a minute."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except OSError as error:
        raise _no_cluster(address, str(error)) from None


def _no_cluster(address: str, why: str) -> InputError:
    return InputError(
        f"cluster.address: there is no cluster to join at {address!r}: {why}",
        hint='start one with `ray start --head`, and run this on one of its nodes; or try address = "local"',
        code="no_cluster",
    )
