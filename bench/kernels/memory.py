"""Memory of idle kernels: PSS, in which a page that n processes share counts 1/n for each.

A kernel tells its own number and its pid namespace, by which it is found among the processes of this machine. Above it
in the tree, what belongs to one kernel alone is its guard (guardian, bwrap, containerd-shim), what stands above several
is shared (the fork server); Docker's daemons are shared as well. What a kernel started itself counts with it.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from toolablate.sandbox import KernelUnavailable

from .latency import Say, loaded
from .load import Meter, Process, descendants, processes
from .records import Failed, Measure, Sample
from .ways import LiveKernel, Way, answering, failure, new_way, uses_docker

_MB = 1_000_000
_AT_ONCE = 4
_WHO = "import os; print(os.getpid(), os.readlink('/proc/self/ns/pid'))"
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
            say(f"memory  {name}: " + "  ".join(f"{each.measure} {each.value:.1f} MB" for each in taken[-3:]))
        finally:
            await way.close()
    return found


async def memory_of(way: Way, live: int, meter: Meter) -> list[Sample]:
    """One sample of each kernel, one of the guards per kernel, one of what is shared."""
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
        async with loaded(meter, way) as load:
            told = await asyncio.gather(*(begin() for _ in range(live)))
        figures = _weigh(told, docker=uses_docker([way.name]))
        return [Sample(way.name, measure, value, load[0].foreign_cores, live) for measure, value in figures]
    finally:
        await asyncio.gather(*(kernel.stop() for kernel in kernels))


def _weigh(told: Sequence[str], *, docker: bool) -> list[tuple[Measure, float]]:
    seen = processes()
    kernels = _find(told, seen)
    guards, shared = _above(kernels, seen)
    if docker:
        shared |= {each.pid for each in seen.values() if each.name in _DOCKER_DAEMONS}
    guards -= shared
    figures: list[tuple[Measure, float]] = [
        ("pss_kernel", sum(_pss(pid) for pid in descendants(seen, {kernel}))) for kernel in kernels
    ]
    figures.append(("pss_guard", sum(map(_pss, guards)) / len(kernels)))
    return [*figures, ("pss_shared", sum(map(_pss, shared)))]


def _find(told: Sequence[str], seen: Mapping[int, Process]) -> list[int]:
    """The processes that called themselves so."""
    known: dict[str, int] = {}
    for pid in seen:
        try:
            status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
            namespace = Path(f"/proc/{pid}/ns/pid").readlink()
        except (OSError, ValueError):
            continue
        inside = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()[-1]
        known[f"{inside} {namespace}"] = pid
    missing = [name for name in told if name not in known]
    if missing:
        raise RuntimeError(f"{len(missing)} of {len(told)} kernels cannot be found in /proc (that needs root)")
    return [known[name] for name in told]


def _above(kernels: Sequence[int], seen: Mapping[int, Process]) -> tuple[set[int], set[int]]:
    """The processes above one kernel alone, and those above several; neither ourselves nor process 1."""
    counts: Counter[int] = Counter()
    for kernel in kernels:
        pid = seen[kernel].parent
        while pid > 1 and pid != os.getpid() and pid in seen:
            counts[pid] += 1
            pid = seen[pid].parent
    return {pid for pid, n in counts.items() if n == 1}, {pid for pid, n in counts.items() if n > 1}


def _pss(pid: int) -> float:
    """Megabytes (10**6 bytes)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii", errors="replace").splitlines()
    return int(next(line for line in lines if line.startswith("Pss:")).split()[1]) * 1024 / _MB
