"""Kernels one after the other, thousands of them, and whether anything of them stays behind."""

import os
import statistics
import tempfile
import time
from pathlib import Path

from bench.kernels.latency import Say, loaded
from bench.kernels.load import Meter, descendants, processes
from bench.kernels.records import Row
from bench.kernels.ways import Way, answering

_EVERY = 100


async def run_row(way: Way, kernels: int, meter: Meter, say: Say) -> Row:
    """`kernels` starts, 1+1 and stops in a row; what is left is counted after the first one and after the last."""
    await (await answering(way)).stop()
    async with loaded(meter, way):
        pass
    before = _census()
    times = []
    async with loaded(meter, way) as load:
        begun = time.perf_counter()
        for number in range(1, kernels + 1):
            started = time.perf_counter()
            await (await answering(way)).stop()
            times.append((time.perf_counter() - started) * 1000)
            if number % _EVERY == 0:
                say(f"row  {way.name}: {number}/{kernels} kernels")
        seconds = time.perf_counter() - begun
    after = _census()
    left = {name: after[name] - before[name] for name in before if after[name] > before[name]}
    tenth = max(1, kernels // 10)
    first, last = (statistics.median(part) for part in (times[:tenth], times[-tenth:]))
    return Row(way.name, kernels, seconds, first, last, left, load[0].foreign_cores)


def _census() -> dict[str, int]:
    """What there is now of all that a kernel might leave. Mounts and cgroups are the whole machine's."""
    controllers = [line.split() for line in Path("/proc/cgroups").read_text(encoding="ascii").splitlines()[1:]]
    return {
        "processes": len(descendants(processes(), {os.getpid()})),
        "descriptors": sum(1 for _ in Path("/proc/self/fd").iterdir()),
        "mounts": len(Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()),
        "cgroups": sum(int(fields[2]) for fields in controllers),
        "files": sum(1 for _ in Path(tempfile.gettempdir()).iterdir()),
    }
