"""Whether two scorers differ by condition: where they do, a condition's effect depends on the scorer."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.agreement.gradings import Both, Gradings, arms, grading, is_judge, side_by_side
from toolablate.analysis.effect import too_few
from toolablate.analysis.pairing import Unit, even_difference, mean, scored_in_both, unit
from toolablate.analysis.statistics.intervals import (
    RESAMPLES,
    Figures,
    bootstrap_intervals,
    by_unit,
    jackknifed_interval,
)
from toolablate.analysis.statistics.p_values import holm, sign_flip_p

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


@dataclass(frozen=True, slots=True)
class Shift:
    """A condition's effect by two scorers, over the questions with a trial on both sides that both gave a value.

    first_points,        the mean difference between condition and baseline by each scorer, in percentage points
      second_points
    points               second_points - first_points: how much more the condition gains, in the second scorer's eyes,
                         with its 95 % interval
    differential_points  where the first scorer is a rule and the second a judge: what of `points` is left once errors
                         are allowed for that come as often under both conditions, with its 95 % interval. A judge that
                         calls a share e of right answers wrong and a share f of wrong ones right, under both, makes
                         every effect smaller, by the share e + f of it; what is left are errors that differ by
                         condition, and can make or hide an effect (differential misclassification; Copeland and others
                         1977, American Journal of Epidemiology 105). None for two judges, of which neither is the
                         truth, and where the rule calls all trials right, or all wrong
    p_value, p_holm      two-sided sign-flip test that `differential_points` is 0, or where that is None `points`;
                         corrected over all shifts of one call by Holm's method
    agreement_points     by how much more often the scorers agree under the condition than under the baseline, in
                         percentage points, with its 95 % interval
    small                too few independent questions, or too few on which the scorers' effects differ, for `ci95` to
                         cover what it says
    """

    first: str
    second: str
    model: str
    baseline: str
    condition: str
    simulated: bool
    questions: int
    clusters: int
    small: bool
    first_points: float
    second_points: float
    points: float
    ci95: tuple[float, float] | None
    differential_points: float | None
    differential_ci95: tuple[float, float] | None
    p_value: float
    p_holm: float
    agreement_points: float
    agreement_ci95: tuple[float, float] | None


def shifts(
    found: Gradings,
    pairs: Sequence[tuple[str, str]],
    baseline: str,
    *,
    order: Sequence[str] = (),
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> list[Shift]:
    """Of each pair of scorers, model and condition other than the baseline that has a question in common with it. Two
    gradings of one judge differ by chance alone, and are left out."""
    rows = [
        row
        for first, second in pairs
        if grading(first)[0] != grading(second)[0]
        for row in _of_pair(found, first, second, baseline, order, seed=seed, resamples=resamples)
    ]
    corrected = holm([row.p_value for row in rows])
    return [replace(row, p_holm=p_value) for row, p_value in zip(rows, corrected, strict=True)]


def _of_pair(
    found: Gradings, first: str, second: str, baseline: str, order: Sequence[str], **drawing: int
) -> Iterator[Shift]:
    counted = [each for each in side_by_side(found, first, second) if each.counts]
    units = {each.first.question: unit(each.first) for each in counted}
    by_arm = {(model, condition): JudgedArm.of(trials) for model, condition, trials in arms(counted, order)}
    for (model, condition), after in by_arm.items():
        before = by_arm.get((model, baseline))
        if condition == baseline or before is None:
            continue
        questions = scored_in_both(before.first, after.first)
        if questions:
            of = [units[question] for question in questions]
            yield _shift((first, second, model, baseline, condition), before, after, questions, of, **drawing)


def _shift(
    named: tuple[str, str, str, str, str],
    before: JudgedArm,
    after: JudgedArm,
    questions: Sequence[str],
    units: Sequence[Unit],
    **drawing: int,
) -> Shift:
    gains = {name: _changes(before, after, name, questions) for name in ("first", "second", "more", "agreed")}
    sums, agreed, sizes = by_unit(units, gains["more"], gains["agreed"], [1.0] * len(questions))
    ci95, agreement_ci95 = bootstrap_intervals([(sums, sizes), (agreed, sizes)], **drawing)
    known = errors(before, after, questions) if is_judge(named[1]) and not is_judge(named[0]) else None
    beyond = None if known is None else differential_interval(before, after, questions, units, **drawing)
    old, new = (arm.more if known is None else arm.beyond(known) for arm in (before, after))
    (tested,) = by_unit(units, [even_difference(old[question], new[question]) for question in questions])
    p_value = sign_flip_p(tested, **drawing)
    return Shift(
        *named,
        simulated=before.simulated or after.simulated,
        questions=len(questions),
        clusters=len(sums),
        small=too_few(sums, sizes),
        first_points=100 * mean(gains["first"]),
        second_points=100 * mean(gains["second"]),
        points=100 * mean(gains["more"]),
        ci95=_percents(ci95),
        differential_points=None if known is None else 100 * differential(before, after, questions, known),
        differential_ci95=_percents(beyond),
        p_value=p_value,
        p_holm=p_value,
        agreement_points=100 * mean(gains["agreed"]),
        agreement_ci95=_percents(agreement_ci95),
    )


def _changes(before: JudgedArm, after: JudgedArm, name: str, questions: Sequence[str]) -> list[float]:
    old, new = getattr(before, name), getattr(after, name)
    return [mean(new[question]) - mean(old[question]) for question in questions]


def _percents(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return None if interval is None else (100 * interval[0], 100 * interval[1])
