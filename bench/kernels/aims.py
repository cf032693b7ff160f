"""What the default backend is meant to reach, and whether it does."""

from collections.abc import Iterator

from bench.figures import Aim
from bench.kernels.records import PLAIN, Measure, Report
from bench.kernels.ways import POOLED

LIVE = 40
"""At how many live kernels the aim for memory holds."""

_PROGRAMS = 1667
_DELAY_MS = 2.0
_DELAY_SHARE = 0.2


def aims(report: Report) -> list[Aim]:
    """For the default backend of this run."""
    return [*_latencies(report), *_ratios(report), _stop(report), _rate(report), _memory(report), _programs(report)]


def _latencies(report: Report) -> Iterator[Aim]:
    aimed: tuple[tuple[str, str, Measure, float], ...] = (
        ("from the pool to the first reply", POOLED, "first", 15),
        ("start to the first reply", "", "first", 40),
        ("start to the end of the imports", "", "imports", 45),
    )
    for what, pooled, measure, most in aimed:
        found = report.of(report.default + pooled, measure)
        yield Aim(
            what,
            f"at most {most:g} ms",
            f"{found.median:.1f} ms" if found else None,
            found is not None and found.median <= most,
        )


def _ratios(report: Report) -> Iterator[Aim]:
    aimed: tuple[tuple[str, Measure, float], ...] = (
        ("start, of plain ipykernel's", "first", 0.12),
        ("start with the imports, of plain ipykernel's", "imports", 0.04),
    )
    for what, measure, most in aimed:
        ours, plain = report.of(report.default, measure), report.of(PLAIN, measure)
        ratio = ours.median / plain.median if ours and plain else None
        found = None if ratio is None else f"{ratio:.3f}"
        yield Aim(what, f"at most {most:g}", found, ratio is not None and ratio <= most)


def _stop(report: Report) -> Aim:
    """A start that had to wait for the stop would take longer by the whole of it. Two things at once on few cores cost
    a little anyway."""
    alone, during = report.of(report.default, "first"), report.of(report.default, "during_stop")
    stop = report.of(report.default, "stop")
    what, wanted = "a stop delays the next start", f"at most {_DELAY_MS:g} ms or {_DELAY_SHARE:.0%} of a start"
    if not (alone and during and stop):
        return Aim(what, wanted, None)
    delay = during.median - alone.median
    met = delay <= max(_DELAY_MS, _DELAY_SHARE * alone.median)
    return Aim(what, wanted, f"{delay:+.1f} ms (the stop takes {stop.median:.1f} ms)", met)


def _rate(report: Report) -> Aim:
    best = report.best_rate(report.default, "rate")
    found = f"{best[0].median:.1f} ({best[1]} at once)" if best else None
    return Aim("kernels per second", "at least 40", found, best is not None and best[0].median >= 40)


def _memory(report: Report) -> Aim:
    found = report.of(report.default, "pss_kernel", LIVE)
    met = found is not None and found.median <= 25
    return Aim(f"PSS per idle kernel at {LIVE} live", "at most 25 MB", f"{found.median:.1f} MB" if found else None, met)


def _programs(report: Report) -> Aim:
    what, wanted = f"the TAT-QA example ({_PROGRAMS} programs)", "at most 60 s"
    if whole := report.whole_example:
        complete = whole.programs == _PROGRAMS
        return Aim(what, wanted, f"{whole.seconds:.1f} s ({whole.programs} programs)", complete and whole.seconds <= 60)
    for each in report.programs:
        if each.way == report.default:
            seconds = each.seconds / each.programs * _PROGRAMS
            return Aim(what, wanted, f"{seconds:.1f} s (reckoned from {each.programs} programs)", seconds <= 60)
    return Aim(what, wanted, None)
