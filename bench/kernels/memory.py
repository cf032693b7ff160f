"""Idle kernels: the CPU time they use, and their memory as PSS (a page that n processes share counts 1/n for each).

A kernel tells its own number and its pid namespace, by which it is found among the processes of this machine; what it
started itself counts with it. What shares its namespace, and what stands above those in the tree of processes but above
no other kernel, is its guard (guardian, bwrap, containerd-shim). All other processes of ours are shared (fork server),
and so are Docker's daemons.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.kernels.latency import Say
from bench.kernels.load import Meter, Process, between, descendants, processes
from bench.kernels.records import Failed, Measure, Sample
from bench.kernels.ways import LiveKernel, Way, answering, failure, new_way, uses_docker

from toolablate.sandbox import KernelUnavailable

_MB = 1_000_000
_AT_ONCE = 4
_IDLE_SECONDS = 3.0
_WHO = "import os; print(os.getpid(), os.readlink('/proc/self/ns/pid'))"
_Figures = list[tuple[Measure, float]]
_DOCKER_DAEMONS = ("dockerd", "containerd")


async def measure_memory(names: Sequence[str], live: int, meter: Meter, say: Say) -> list[Sample | Failed]:
    """PSS at `live` idle kernels, one way after the other, so that none shares its pages with another."""
    found: list[Sample | Failed] = []
    for name in random.sample(names, len(names)):
        way = new_way(name, 0)
        try:
            taken = await memory_of(way, live, meter)
        except Exception as error:  # noqa: BLE001 - a way that fails is a finding, and the others go on
            failed = failure(name, "memory", error)
            found.append(failed)
            say(f"memory  {name} FAILED: {failed.reason}")
        else:
            found += taken
            say(f"memory  {name}: " + "  ".join(f"{each.measure} {each.value:.1f}" for each in taken[-4:]))
        finally:
            await way.close()
    return found


async def memory_of(way: Way, live: int, meter: Meter) -> list[Sample]:
    """One sample of each kernel, one of the guards per kernel, of what is shared, and of what idling costs."""
    kernels: list[LiveKernel] = []
    gate = asyncio.Semaphore(_AT_ONCE)

    async def begin() -> str:
        async with gate:
            kernel = await answering(way)
            kernels.append(kernel)
            reply = await kernel.run(_WHO)
            if reply.error:
                raise KernelUnavailable(f"the kernel could not say which it is: {reply.error}")
            return reply.text.strip()

    try:
        told = await asyncio.gather(*(begin() for _ in range(live)))
        docker = uses_docker([way.name])
        await meter.rest(docker=docker)
        before = meter.read(docker=docker)
        await asyncio.sleep(_IDLE_SECONDS)
        load = between(before, meter.read(docker=docker))
        figures: _Figures = [*_weigh(told, docker=docker), ("idle", load.ours / load.seconds * 1000 / live)]
        return [Sample(way.name, measure, value, load.foreign_cores, live) for measure, value in figures]
    finally:
        await asyncio.gather(*(kernel.stop() for kernel in kernels))


def _weigh(told: Sequence[str], *, docker: bool) -> _Figures:
    seen = processes()
    inside = _namespaces(seen)
    kernels = _find(told, inside)
    own = [descendants(seen, {kernel}) for kernel in kernels]
    guards = _guards(kernels, seen, inside)
    shared = descendants(seen, {os.getpid()}) - guards - set().union(*own) - {os.getpid()}
    if docker:
        shared |= {each.pid for each in seen.values() if each.name in _DOCKER_DAEMONS}
    return [
        *(("pss_kernel", sum(map(_pss, processes_of_it))) for processes_of_it in own),
        ("pss_guard", sum(map(_pss, guards)) / len(kernels)),
        ("pss_shared", sum(map(_pss, shared))),
    ]


def _namespaces(seen: Mapping[int, Process]) -> dict[int, str]:
    """The pid namespace of each process that lets us look."""
    found = {}
    for pid in seen:
        with contextlib.suppress(OSError):
            found[pid] = str(Path(f"/proc/{pid}/ns/pid").readlink())
    return found


def _find(told: Sequence[str], inside: Mapping[int, str]) -> list[int]:
    """The processes that called themselves so."""
    known: dict[str, int] = {}
    for pid, namespace in inside.items():
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
            number = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1]
            known[f"{number} {namespace}"] = pid
    missing = [name for name in told if name not in known]
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(told)} kernels cannot be found in /proc (that needs root)")
    return [known[name] for name in told]


def _guards(kernels: Sequence[int], seen: Mapping[int, Process], inside: Mapping[int, str]) -> set[int]:
    """What is there for one kernel alone, itself and its children apart."""
    ours = inside.get(os.getpid())
    served: dict[int, set[int]] = {}
    for kernel in kernels:
        members = {kernel} | {pid for pid, space in inside.items() if space == inside[kernel] != ours}
        for member in members:
            pid = member
            while pid > 1 and pid != os.getpid() and pid in seen:
                served.setdefault(pid, set()).add(kernel)
                pid = seen[pid].parent
    below = descendants(seen, set(kernels))
    return {pid for pid, kernels_served in served.items() if len(kernels_served) == 1 and pid not in below}


def _pss(pid: int) -> float:
    """Megabytes (10**6 bytes)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024 / _MB
