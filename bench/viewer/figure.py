import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """What something took so many times, in milliseconds by the clock, with what is aimed at for the slowest of twenty;
    `cpu` is the mean of processor time, which other work on the machine hardly changes."""

    what: str
    p50: float
    p95: float
    largest: float
    cpu: float
    count: int
    aim: float | None

    @property
    def met(self) -> bool:
        return self.aim is None or self.p95 <= self.aim


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds by the clock, and of processor time; 0 where that was not measured."""

    clock: float
    cpu: float = 0.0


def figure(what: str, times: Sequence[Took], aim: float | None = None) -> Figure:
    ordered = sorted(1000 * each.clock for each in times)
    cpu = 1000 * math.fsum(each.cpu for each in times) / len(times)
    return Figure(what, _share(ordered, 0.5), _share(ordered, 0.95), ordered[-1], cpu, len(ordered), aim)


def _share(ordered: Sequence[float], share: float) -> float:
    """The nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
