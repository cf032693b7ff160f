"""One run of the benchmark, part after part."""

import argparse
import asyncio
import os
import platform
import tempfile
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TypeVar

from bench.kernels.latency import Say, measure_latency, warm
from bench.kernels.load import Meter, between
from bench.kernels.memory import measure_memory
from bench.kernels.plain import PlainWay
from bench.kernels.programs import measure_programs, read_programs, run_whole_example
from bench.kernels.records import PLAIN, Failed, Programs, Report, Row, Sample, Step, WholeExample
from bench.kernels.row import run_row
from bench.kernels.steps import measure_steps
from bench.kernels.throughput import measure_throughput
from bench.kernels.ways import POOLED, Way, failure, new_way

from toolablate.sandbox import BACKENDS

_T = TypeVar("_T")
_PACKAGES = ("ipykernel", "jupyter_client", "pyzmq", "numpy", "scipy", "pandas", "sympy")
_IDLE_SECONDS = 1.0


@dataclass
class _Findings:
    samples: list[Sample] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    programs: list[Programs] = field(default_factory=list)
    whole_example: WholeExample | None = None

    def take(self, found: Sequence[Sample | Failed | Step]) -> None:
        self.samples += [each for each in found if isinstance(each, Sample)]
        self.steps += [each for each in found if isinstance(each, Step)]
        self.failed += [each for each in found if isinstance(each, Failed)]

    async def attempt(self, part: str, way: str, work: Awaitable[_T]) -> _T | None:
        """What `work` gives; its failure is kept and does not end the run."""
        try:
            return await work
        except Exception as error:  # noqa: BLE001 - the other parts go on, and the failure is reported
            self.failed.append(failure(way, part, error))
            return None


async def measure(options: argparse.Namespace, names: Sequence[str], say: Say) -> Report:
    """All parts that `options` ask for. The ways named are alive side by side, but for memory."""
    meter, found, default = Meter(), _Findings(), _default(names)
    machine = await _machine(meter)
    async with AsyncExitStack() as stack:
        stack.enter_context(_own_temporary_folder())
        ways = []
        for name in names:
            way = new_way(name, options.pool)
            stack.push_async_callback(way.close)
            ways.append(way)
        working, failed = await warm(ways, meter)
        found.take(failed)
        await _compare(options, working, default, found, meter, say)
        machine["plain starts repeated"] = str(sum(way.repeated for way in ways if isinstance(way, PlainWay)))
    if options.live:
        unpooled = [way.name for way in working if not way.name.endswith(POOLED)]
        found.take(await measure_memory(unpooled, options.live, meter, say))
    if options.whole_example:
        work = run_whole_example(options.recorded, meter, say)
        found.whole_example = await found.attempt("the whole example", default, work)
    machine["rests cut short"] = str(meter.hurried)
    return Report(
        machine,
        default,
        tuple(found.samples),
        tuple(found.failed),
        tuple(found.rows),
        tuple(found.steps),
        tuple(found.programs),
        found.whole_example,
    )


async def _compare(
    options: argparse.Namespace, ways: Sequence[Way], default: str, found: _Findings, meter: Meter, say: Say
) -> None:
    unpooled = {way.name: way for way in ways if not way.name.endswith(POOLED)}
    found.take(await measure_latency(ways, options.samples, meter, say))
    # A pool hands out sooner and makes no more.
    found.take(
        await measure_throughput([*unpooled.values()], options.concurrency, options.seconds, options.rounds, meter, say)
    )
    if options.programs:
        among = [unpooled[name] for name in dict.fromkeys((PLAIN, default, "docker")) if name in unpooled]
        await found.attempt("programs", default, _run_programs(options, among, found, meter, say))
    if default in unpooled and options.steps:
        found.take(await found.attempt("steps", default, measure_steps(unpooled[default], options.steps, say)) or [])
    if default in unpooled and options.row:
        row = await found.attempt("row", default, run_row(unpooled[default], options.row, meter, say))
        found.rows += [row] if row else []


async def _run_programs(
    options: argparse.Namespace, ways: Sequence[Way], found: _Findings, meter: Meter, say: Say
) -> None:
    programs = read_programs(options.recorded, options.programs, options.seed)
    compared, taken = await measure_programs(ways, programs, options.workers, meter, say)
    found.programs += compared
    found.take(taken)


@contextmanager
def _own_temporary_folder() -> Iterator[None]:
    """So that what is left in it is ours."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield
        finally:
            tempfile.tempdir = before


def _default(names: Sequence[str]) -> str:
    """The backend that we prefer among those measured."""
    return next((name for name in BACKENDS if name in names), names[0])


async def _machine(meter: Meter) -> dict[str, str]:
    """`load at rest` is what the machine did while we slept and no foreign process owns up to: it is in all that is
    called ours."""
    before = meter.read()
    await asyncio.sleep(_IDLE_SECONDS)
    rest = between(before, meter.read())
    return {
        "cores": str(os.cpu_count()),
        "linux": platform.release(),
        "python": platform.python_version(),
        **{name: _version(name) for name in _PACKAGES},
        "load at rest": f"{rest.ours / rest.seconds:.2f}",
        "foreign load at rest": f"{rest.foreign_cores:.2f}",
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"
