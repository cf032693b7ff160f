"""What the first page shows: each model under each condition, on a line."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import Accuracy
from toolablate.analysis.findings import Findings, FlipMatrix
from toolablate.viewer.index import ArmCounts

LEAST_SCALE = 10.0
"""Points that a bar's half stands for at least: small effects are to look small."""


@dataclass(frozen=True, slots=True)
class Bar:
    """An effect and its interval on a line from -`scale` to `scale` points, in percent of its length from the left.
    `low` and `high` are None where there is no interval."""

    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Line:
    """`accuracy` to `bar` are None while they are not computed; a baseline has the first alone."""

    counts: ArmCounts
    baseline: bool
    accuracy: Accuracy | None = None
    compared: Comparison | None = None
    flips: FlipMatrix | None = None
    bar: Bar | None = None

    @property
    def percent(self) -> float | None:
        """The score: that of the findings, which may be a moment older than the counts, or of the counts."""
        if self.accuracy is not None:
            return self.accuracy.percent
        return None if self.counts.score is None else 100 * self.counts.score


@dataclass(frozen=True, slots=True)
class Progress:
    """Of a run, or of one of its arms: trials."""

    planned: int
    ended: int
    running: int

    @property
    def going(self) -> bool:
        return self.ended < self.planned


def lines(arms: Sequence[ArmCounts], found: Findings | None) -> dict[str, list[Line]]:
    """By model, in the order of the arms."""
    made: dict[str, list[Line]] = {}
    for arm in arms:
        made.setdefault(arm.model, []).append(_line(arm, found))
    return made


def progress(arms: Sequence[ArmCounts]) -> Progress:
    return Progress(*(sum(getattr(arm, name) for arm in arms) for name in ("planned", "ended", "running")))


def scale(found: Findings | None) -> float:
    """Points that the longest bar needs on either side of 0, in tens."""
    rows = () if found is None else found.comparisons
    furthest = max((abs(end) for row in rows for end in _ends(row)), default=LEAST_SCALE)
    return max(LEAST_SCALE, 10.0 * -(-furthest // 10))


def _ends(row: Comparison) -> Iterator[float]:
    if row.delta_points is not None:
        yield row.delta_points
    yield from row.ci95 or ()


def _line(arm: ArmCounts, found: Findings | None) -> Line:
    if found is None:
        return Line(arm, baseline=False)
    name = (arm.model, arm.condition)
    compared = next((row for row in found.comparisons if (row.model, row.condition) == name), None)
    return Line(
        counts=arm,
        baseline=arm.condition == found.baseline,
        accuracy=next((row.accuracy for row in found.arms if (row.model, row.condition) == name), None),
        compared=compared,
        flips=next((row for row in found.flips if (row.model, row.condition) == name), None),
        bar=None if compared is None else _bar(compared, scale(found)),
    )


def _bar(row: Comparison, most: float) -> Bar | None:
    if row.delta_points is None:
        return None
    low, high = row.ci95 or (None, None)
    return Bar(
        _place(row.delta_points, most),
        None if low is None else _place(low, most),
        None if high is None else _place(high, most),
    )


def _place(points: float, most: float) -> float:
    return round(50 + 50 * points / most, 2)
