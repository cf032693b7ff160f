"""The trials under one condition as two scorers see them, and how often the second errs by what the first says."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.agreement.gradings import Both
from toolablate.analysis.agreement.jackknife import Figures, jackknifed_interval
from toolablate.analysis.pairing import Unit, mean
from toolablate.analysis.statistics import RESAMPLES, by_unit

Values = Mapping[str, list[float]]
"""By question, then by repeat."""


@dataclass(frozen=True, slots=True)
class Errors:
    """The mean value that the second scorer gives where the first says 0, and how much more where it says 1."""

    base: float
    slope: float


@dataclass(frozen=True, slots=True)
class JudgedArm:
    """The values of both scorers, how much more the second gives, and whether they agree."""

    first: Values
    second: Values
    more: Values
    agreed: Values
    simulated: bool

    @classmethod
    def of(cls, trials: Sequence[Both]) -> "JudgedArm":
        first, second, more, agreed = (defaultdict[str, list[float]](list) for _ in range(4))
        for each in trials:
            old, new = each.first.value or 0.0, each.second.value or 0.0
            columns = ((first, old), (second, new), (more, new - old), (agreed, float(each.same)))
            for values, value in columns:
                values[each.first.question].append(value)
        return cls(first, second, more, agreed, any(each.first.simulated for each in trials))

    def beyond(self, known: Errors) -> Values:
        """What the second scorer gives beyond what is to be expected from the first, with the same errors for all."""
        return {
            question: [
                new - known.base - known.slope * old for old, new in zip(values, self.second[question], strict=True)
            ]
            for question, values in self.first.items()
        }

    def moments(self, question: str) -> tuple[float, float, float, float]:
        """The means over repeats of the first's values, their squares, the second's values, and their products."""
        old, new = self.first[question], self.second[question]
        products = [one * other for one, other in zip(old, new, strict=True)]
        return mean(old), mean([value**2 for value in old]), mean(new), mean(products)


def errors(before: JudgedArm, after: JudgedArm, questions: Sequence[str]) -> Errors | None:
    """Of both arms together; None where the first scorer gives one value alone."""
    each = [(1.0, *before.moments(question), *after.moments(question)) for question in questions]
    return _errors(tuple(map(sum, zip(*each, strict=True))))


def differential(before: JudgedArm, after: JudgedArm, questions: Sequence[str], known: Errors) -> float:
    """How much more the second scorer gives the arm `after` than `before`, beyond what its errors would make of the
    first's difference if they were the same in both."""
    old, new = before.beyond(known), after.beyond(known)
    return mean([mean(new[question]) - mean(old[question]) for question in questions])


def differential_interval(
    before: JudgedArm,
    after: JudgedArm,
    questions: Sequence[str],
    units: Sequence[Unit],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> tuple[float, float] | None:
    """Its 95 % interval, which allows for that the errors are estimated."""
    each = [(1.0, *before.moments(question), *after.moments(question)) for question in questions]
    columns = by_unit(units, *zip(*each, strict=True))
    return jackknifed_interval(
        _differential, list(zip(*columns, strict=True)), columns[0], seed=seed, resamples=resamples
    )


def _errors(sums: Figures) -> Errors | None:
    """By least squares over both arms; for right or wrong these are the shares of each."""
    size = 2 * sums[0]
    first, squares, second, products = (sums[place] + sums[place + 4] for place in range(1, 5))
    spread = squares - first**2 / size
    if spread <= 1e-9:
        return None
    slope = (products - first * second / size) / spread
    return Errors((second - slope * first) / size, slope)


def _differential(sums: Figures) -> float | None:
    known = _errors(sums) if sums[0] else None
    if known is None:
        return None
    return (sums[7] - sums[3] - known.slope * (sums[5] - sums[1])) / sums[0]
