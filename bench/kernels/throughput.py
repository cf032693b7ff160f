"""Kernels per second: several workers, each starting, using and stopping one kernel after the other."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence

from bench.kernels.latency import Say, loaded
from bench.kernels.load import Meter
from bench.kernels.records import Failed, Measure, Sample
from bench.kernels.ways import LiveKernel, Way, answering, failure, importing

_CELLS: dict[Measure, Callable[[Way], Awaitable[LiveKernel]]] = {"rate": answering, "rate_imports": importing}


async def measure_throughput(
    ways: Sequence[Way], concurrencies: Sequence[int], seconds: float, rounds: int, meter: Meter, say: Say
) -> list[Sample | Failed]:
    """Kernels per second of each way at each concurrency, bare and with imports, for about `seconds` each."""
    found: list[Sample | Failed] = []
    jobs = [(way, many, measure) for way in ways for many in concurrencies for measure in _CELLS]
    for number in range(1, rounds + 1):
        for way, many, measure in random.sample(jobs, len(jobs)):
            at = f"throughput {number}/{rounds}  {way.name}: {measure}, {many} at once"
            try:
                sample = await kernels_per_second(way, measure, many, seconds, meter)
            except Exception as error:  # noqa: BLE001 - a way that fails is a finding, and the others go on
                failed = failure(way.name, f"{measure}, {many} at once", error)
                found.append(failed)
                say(f"{at} FAILED: {failed.reason}")
            else:
                found.append(sample)
                say(f"{at}: {sample.value:.1f} kernels/s  (foreign load {sample.foreign:.2f})")
    return found


async def kernels_per_second(way: Way, measure: Measure, many: int, seconds: float, meter: Meter) -> Sample:
    """From the first start to the end of the last stop, with `many` workers that begin no kernel after `seconds`."""
    cell = _CELLS[measure]
    done = 0

    async def work(deadline: float) -> None:
        nonlocal done
        while time.perf_counter() < deadline:
            kernel = await cell(way)
            await kernel.stop()
            done += 1

    async with loaded(meter, way) as load:
        begun = time.perf_counter()
        async with asyncio.TaskGroup() as workers:
            for _ in range(many):
                workers.create_task(work(begun + seconds))
        elapsed = time.perf_counter() - begun
    return Sample(way.name, measure, done / elapsed, load[0].foreign_cores, many)
