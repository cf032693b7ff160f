"""Starting and stopping one kernel at a time; all ways interleaved in random order."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any

from bench.kernels.load import Load, Meter, between
from bench.kernels.records import Failed, Measure, Sample
from bench.kernels.ways import Way, answering, failure, importing, uses_docker

_SAMPLE_SECONDS = 180.0
_MS = 1000

Say = Callable[[str], None]
Measurement = Callable[[Way, Meter], Coroutine[Any, Any, list[Sample]]]


async def warm(ways: Sequence[Way], meter: Meter) -> tuple[list[Way], list[Failed]]:
    """Starts each way once, unrecorded; gives those that work, and why the others do not."""
    working, failed = [], []
    for way in ways:
        failures = [each for each in await _tried(first_imports, way, meter) if isinstance(each, Failed)]
        failed += failures
        working += [] if failures else [way]
    return working, failed


async def measure_latency(ways: Sequence[Way], rounds: int, meter: Meter, say: Say) -> list[Sample | Failed]:
    """`rounds` samples of each measurement of each way."""
    found: list[Sample | Failed] = []
    jobs = [(way, job) for way in ways for job in MEASUREMENTS]
    for number in range(1, rounds + 1):
        for way, job in random.sample(jobs, len(jobs)):
            taken = await _tried(job, way, meter)
            found += taken
            say(f"latency {number}/{rounds}  {_described(taken)}")
    return found


async def first_reply(way: Way, meter: Meter) -> list[Sample]:
    async with loaded(meter, way) as load:
        begun = time.perf_counter()
        kernel = await answering(way)
        answered = time.perf_counter()
        await kernel.stop()
        stopped = time.perf_counter()
    first, stop = (answered - begun) * _MS, (stopped - answered) * _MS
    return _samples(way, load[0], ("first", first), ("stop", stop), ("cpu", load[0].ours * _MS))


async def first_imports(way: Way, meter: Meter) -> list[Sample]:
    async with loaded(meter, way) as load:
        begun = time.perf_counter()
        kernel = await importing(way)
        imported = time.perf_counter()
        await kernel.stop()
    return _samples(way, load[0], ("imports", (imported - begun) * _MS), ("cpu_imports", load[0].ours * _MS))


async def start_during_stop(way: Way, meter: Meter) -> list[Sample]:
    async with loaded(meter, way) as load:
        last = await answering(way)
        stopping = asyncio.ensure_future(last.stop())
        await asyncio.sleep(0)  # the stop begins before the start
        begun = time.perf_counter()
        try:
            kernel = await answering(way)
            answered = time.perf_counter()
        finally:
            await stopping
        await kernel.stop()
    return _samples(way, load[0], ("during_stop", (answered - begun) * _MS))


MEASUREMENTS: tuple[Measurement, ...] = (first_reply, first_imports, start_during_stop)


@asynccontextmanager
async def loaded(meter: Meter, way: Way) -> AsyncIterator[list[Load]]:
    """Gives the load of what is done inside. Rests before and after, so that nobody pays for what another left to do,
    and what a stop leaves to be done is still counted."""
    docker = uses_docker([way.name])
    await meter.rest(docker=docker)
    before = meter.read(docker=docker)
    load: list[Load] = []
    yield load
    await meter.rest(docker=docker)
    load.append(between(before, meter.read(docker=docker)))


async def _tried(job: Measurement, way: Way, meter: Meter) -> Sequence[Sample | Failed]:
    try:
        async with asyncio.timeout(_SAMPLE_SECONDS):
            return await job(way, meter)
    except Exception as error:  # noqa: BLE001 - a way that fails is a finding, and the others go on
        return [failure(way.name, job.__name__, error)]


def _samples(way: Way, load: Load, *figures: tuple[Measure, float]) -> list[Sample]:
    return [Sample(way.name, measure, value, load.foreign_cores) for measure, value in figures]


def _described(taken: Sequence[Sample | Failed]) -> str:
    if isinstance(taken[0], Failed):
        return f"{taken[0].way}: {taken[0].measure} FAILED: {taken[0].reason}"
    figures = "  ".join(f"{each.measure} {each.value:.0f} ms" for each in taken if isinstance(each, Sample))
    return f"{taken[0].way}: {figures}  (foreign load {taken[0].foreign:.2f})"
