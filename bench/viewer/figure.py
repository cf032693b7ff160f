import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """So many times that something took, in milliseconds, with what is aimed at for the slowest of twenty."""

    what: str
    p50: float
    p95: float
    largest: float
    count: int
    aim: float | None

    @property
    def met(self) -> bool:
        return self.aim is None or self.p95 <= self.aim


def figure(what: str, seconds: Sequence[float], aim: float | None = None) -> Figure:
    ordered = sorted(1000 * each for each in seconds)
    return Figure(what, _share(ordered, 0.5), _share(ordered, 0.95), ordered[-1], len(ordered), aim)


def _share(ordered: Sequence[float], share: float) -> float:
    """The nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
