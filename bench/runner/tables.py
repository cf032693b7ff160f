"""The figures as tables, in Markdown, so that they can be put into a README as they are."""

import statistics
from collections.abc import Callable, Iterator

from bench.figures import NOTHING, TableOf, aims_table, print_notes, print_tables
from bench.runner.aims import aims, cpu_ratio, rate_ratio
from bench.runner.records import OURS, QUIET_CORES, Flight, Report, Sample
from bench.runner.work import KINDS, Kind
from rich.console import Console

_NOTE = (
    "Medians of the runs. Foreign: the load of other people's processes meanwhile, in cores, and how many of the"
    f" runs had at most {QUIET_CORES:g} of it."
)
_COMPARED = (
    "harness",
    "trials",
    "runs",
    "CPU of a trial, ms",
    "without the start",
    "of ours",
    "trials/s",
    "without the start",
    "ours is",
    "start, s of CPU",
    "traces, kB each",
    "peak, MB",
    "connections",
    "foreign",
)
_FLIGHTS = (
    "harness",
    "trials",
    "most at once",
    "of the ideal",
    "once all are",
    "filled after, s",
    "CPU of a trial, ms",
    "before, MB",
    "peak, MB",
    "kB in flight",
    "beside one at a time",
    "foreign",
)


def print_report(report: Report, console: Console) -> None:
    print_tables(_tables(report), console)
    failed = (f"{each.harness}: {each.what}: {each.reason}" for each in report.failed)
    print_notes(failed, report.machine, _NOTE, console)


def _tables(report: Report) -> Iterator[TableOf]:
    for kind in KINDS:
        names = dict.fromkeys(each.harness for each in report.samples if each.kind == kind)
        rows = [_compared(report, name, kind) for name in sorted(names, key=lambda name: (name != OURS, name))]
        yield f"{kind}, {report.in_flight} in flight", _COMPARED, [row for row in rows if row]
    latency = report.flights[0].latency if report.flights else 0
    many = report.flights[0].wanted if report.flights else 0
    title = f"{many} in flight, a server that takes {latency:g} s"
    yield title, _FLIGHTS, [_flight(each) for each in report.flights]
    yield aims_table("Aims", aims(report))


def _compared(report: Report, name: str, kind: Kind) -> tuple[str, ...]:
    taken = report.of(name, kind)
    if not taken:
        return ()
    start = report.of(name, kind, start=True)
    cpu, wall = report.marginal(name, kind, _cpu), report.marginal(name, kind, _wall)
    traces = statistics.median(each.traces or 0 for each in taken)
    loads = [each.foreign for each in taken]
    quiet = sum(load <= QUIET_CORES for load in loads)
    return (
        name,
        str(taken[0].trials),
        str(len(taken)),
        _shown(report.median(name, kind, lambda each: each.cpu / each.trials * 1000), 2),
        _shown(None if cpu is None else cpu * 1000, 2),
        _shown(cpu_ratio(report, kind, name), 2),
        _shown(report.median(name, kind, lambda each: each.trials / each.wall), 1),
        _shown(1 / wall if wall and wall > 0 else None, 1),
        _shown(rate_ratio(report, kind, name), 2),
        _shown(statistics.median(map(_cpu, start)) if start else None, 2),
        _shown(traces / taken[0].trials / 1000 if traces else None, 1),
        _shown(report.median(name, kind, lambda each: each.peak_mb), 0),
        str(max(each.connections for each in taken)),
        f"{statistics.median(loads):.2f} ({quiet}/{len(taken)} quiet)",
    )


def _flight(each: Flight) -> tuple[str, ...]:
    return (
        each.harness,
        str(each.trials),
        str(each.most),
        f"{each.whole:.1%}",
        NOTHING if each.steady is None else f"{each.steady:.1%}",
        _shown(each.filled, 1),
        f"{each.cpu / each.trials * 1000:.2f}",
        f"{each.before_mb:.0f}",
        f"{each.peak_mb:.0f}",
        f"{each.kilobytes:.0f}",
        f"{each.kilobytes_beside_alone:.0f}",
        f"{each.foreign:.2f}",
    )


def _shown(figure: float | None, digits: int) -> str:
    return NOTHING if figure is None else f"{figure:.{digits}f}"


_cpu: Callable[[Sample], float] = lambda each: each.cpu  # noqa: E731
_wall: Callable[[Sample], float] = lambda each: each.wall  # noqa: E731
