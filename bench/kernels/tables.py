"""The figures as tables, in Markdown, so that they can be put into a README as they are."""

from collections.abc import Iterable, Iterator, Sequence

from bench.figures import NOTHING, TableOf, aims_table, print_notes, print_tables
from bench.kernels.aims import aims
from bench.kernels.records import PLAIN, Measure, Report, Summary, summarize
from rich.console import Console

_NOTE = "Medians [10th..90th percentile]. Foreign: the load of other people's processes meanwhile, in cores."


def print_report(report: Report, console: Console) -> None:
    print_tables(_tables(report), console)
    failed = (f"{each.way}: {each.measure}: {each.reason}" for each in report.failed)
    print_notes(failed, report.machine, _NOTE, console)


def _tables(report: Report) -> Iterator[TableOf]:
    yield "Latency, ms", _LATENCY, list(_latency_rows(report))
    yield "Kernels per second", ("way", "at once", "bare", "with imports", "foreign"), list(_rate_rows(report))
    yield "Idle kernels, MB (PSS)", _IDLE, list(_idle_rows(report))
    yield f"TAT-QA programs, one kernel each ({_PROGRAMS_NOTE})", _PROGRAMS, list(_program_rows(report))
    yield (
        "In a row",
        ("way", "kernels", "s", "first tenth, ms", "last tenth, ms", "left behind", "foreign"),
        [
            (
                each.way,
                str(each.kernels),
                f"{each.seconds:.1f}",
                f"{each.first_tenth_ms:.1f}",
                f"{each.last_tenth_ms:.1f}",
                ", ".join(f"{count} {what}" for what, count in each.left.items()) or "nothing",
                f"{each.foreign:.2f}",
            )
            for each in report.rows
        ],
    )
    yield (
        "Where the time goes, seen from the host",
        ("way", "function", "calls", "begins at, ms", "takes, ms"),
        [(each.way, each.name, f"{each.calls:g}", f"{each.at_ms:.2f}", f"{each.ms:.2f}") for each in report.steps],
    )
    yield aims_table(f"Aims for the default backend, {report.default}", aims(report))


_LATENCY = (
    "way",
    "1+1",
    "of plain",
    "imports",
    "of plain",
    "stop",
    "1+1 in a stop",
    "CPU",
    "CPU imports",
    "foreign",
)
_PROGRAMS_NOTE = "results held against those of the first way"
_PROGRAMS = ("way", "programs", "per second", "of plain", "raised", "differing", "foreign")


def _latency_rows(report: Report) -> Iterator[tuple[str, ...]]:
    for way in _ways(report, "first"):
        yield (
            way,
            _spread(report.of(way, "first")),
            _ratio(report, way, "first"),
            _spread(report.of(way, "imports")),
            _ratio(report, way, "imports"),
            _spread(report.of(way, "stop")),
            _spread(report.of(way, "during_stop")),
            _spread(report.of(way, "cpu"), spread=False),
            _spread(report.of(way, "cpu_imports"), spread=False),
            _foreign(report, way, ("first", "imports", "during_stop")),
        )


def _rate_rows(report: Report) -> Iterator[tuple[str, ...]]:
    for way in _ways(report, "rate"):
        for many in sorted({each.many for each in report.samples if (each.way, each.measure) == (way, "rate")}):
            bare, imports = (report.of(way, measure, many) for measure in _RATES)
            yield way, str(many), _spread(bare), _spread(imports), _foreign(report, way, _RATES, many)


_RATES: tuple[Measure, ...] = ("rate", "rate_imports")


def _idle_rows(report: Report) -> Iterator[tuple[str, ...]]:
    for way in _ways(report, "pss_kernel"):
        live = next(each.many for each in report.samples if (each.way, each.measure) == (way, "pss_kernel"))
        kernel, guard, shared, cpu = (report.of(way, measure, live) for measure in _IDLE_MEASURES)
        assert kernel is not None
        assert guard is not None
        assert shared is not None
        assert cpu is not None
        each = kernel.median + guard.median + shared.median / live
        figures = (guard.median, shared.median, each, cpu.median)
        yield way, str(live), _spread(kernel), *(f"{figure:.1f}" for figure in figures)


_IDLE = ("way", "live", "kernel", "its guard", "shared", "all, per kernel", "CPU of each, ms per s")
_IDLE_MEASURES: tuple[Measure, ...] = ("pss_kernel", "pss_guard", "pss_shared", "idle")


def _program_rows(report: Report) -> Iterator[tuple[str, ...]]:
    rates = {each.way: each.programs / each.seconds for each in report.programs if each.seconds}
    for each in report.programs:
        plain = rates.get(PLAIN)
        yield (
            each.way,
            str(each.programs),
            f"{rates[each.way]:.1f}",
            f"{rates[each.way] / plain:.1f}" if plain else NOTHING,
            str(each.raised),
            str(len(each.differing)),
            _foreign(report, each.way, ("programs",)),
        )


def _ways(report: Report, measure: Measure) -> list[str]:
    return sorted({each.way for each in report.samples if each.measure == measure}, key=_plain_first)


def _plain_first(way: str) -> tuple[bool, str]:
    return not way.startswith("plain"), way


def _spread(found: Summary | None, *, spread: bool = True) -> str:
    if found is None:
        return NOTHING
    digits = 1 if found.median < 100 else 0
    text = f"{found.median:.{digits}f}"
    return f"{text} [{found.low:.{digits}f}..{found.high:.{digits}f}]" if spread and found.count > 1 else text


def _ratio(report: Report, way: str, measure: Measure) -> str:
    ours, plain = report.of(way, measure), report.of(PLAIN, measure)
    return f"{ours.median / plain.median:.3f}" if ours and plain else NOTHING


def _foreign(report: Report, way: str, measures: Iterable[Measure], many: int | None = None) -> str:
    """The median load, and how many of the samples were taken on a quiet machine."""
    wanted: Sequence[Measure] = tuple(measures)
    taken = [
        each
        for each in report.samples
        if each.way == way and each.measure in wanted and (many is None or each.many == many)
    ]
    found = summarize(taken)
    if found is None:
        return NOTHING
    loads = sorted(each.foreign for each in taken)
    return f"{loads[len(loads) // 2]:.2f} ({found.quiet}/{found.count} quiet)"
