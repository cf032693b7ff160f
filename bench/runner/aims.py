"""What the runner is meant to reach, and whether it does."""

from collections.abc import Iterator

from bench.figures import Aim
from bench.runner.records import INSPECT, OURS, Report
from bench.runner.work import KINDS, Kind

TIMES = 5.0
"""Inspect's CPU over ours, and our trials per second over Inspect's."""

_SHARE = 0.95
_KILOBYTES = 300.0


def aims(report: Report) -> list[Aim]:
    """Of whole commands, the time that they take to start included."""
    return [*(each for kind in KINDS for each in _beside_inspect(report, kind)), *_flights(report)]


def _beside_inspect(report: Report, kind: Kind) -> Iterator[Aim]:
    yield _ratio(f"{kind}: Inspect's CPU for a trial, of ours", cpu_ratio(report, kind))
    yield _ratio(f"{kind}: our trials per second, of Inspect's", rate_ratio(report, kind))


def cpu_ratio(report: Report, kind: Kind, harness: str = INSPECT) -> float | None:
    """How many times our CPU for a trial a harness uses."""
    ours, theirs = (report.median(name, kind, lambda each: each.cpu / each.trials) for name in (OURS, harness))
    return theirs / ours if ours and theirs else None


def rate_ratio(report: Report, kind: Kind, harness: str = INSPECT) -> float | None:
    """How many trials we end while a harness ends one."""
    ours, theirs = (report.median(name, kind, lambda each: each.trials / each.wall) for name in (OURS, harness))
    return ours / theirs if ours and theirs else None


def _ratio(what: str, found: float | None) -> Aim:
    return Aim(what, f"at least {TIMES:g}", None if found is None else f"{found:.1f}", (found or 0) >= TIMES)


def _flights(report: Report) -> Iterator[Aim]:
    found = next((each for each in report.flights if each.harness == OURS), None)
    many = f"{found.wanted} in flight: " if found else "many in flight: "
    wanted = f"at least {_SHARE:.0%}"
    for what, share in (
        ("of the ideal rate, from first to last", found.whole if found else None),
        ("of the ideal rate, once all are", found.steady if found else None),
    ):
        yield Aim(many + what, wanted, None if share is None else f"{share:.1%}", (share or 0) >= _SHARE)
    memory = found.kilobytes if found else None
    yield Aim(
        f"{many}memory for each",
        f"at most {_KILOBYTES:g} kB",
        None if memory is None else f"{memory:.0f} kB",
        memory is not None and memory <= _KILOBYTES,
    )
