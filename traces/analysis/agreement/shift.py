"""Whether two scorers differ by condition: where they do, the effect of a condition depends on whom one asks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolablate.traces.analysis.agreement.gradings import Both, Gradings, arms, side_by_side
from toolablate.traces.analysis.agreement.scorers import grading
from toolablate.traces.analysis.effect import too_few
from toolablate.traces.analysis.pairing import Unit, even_difference, mean, scored_in_both, unit
from toolablate.traces.analysis.statistics import bootstrap_intervals, by_unit, holm, sign_flip_p


@dataclass(frozen=True, slots=True)
class Shift:
    """A condition's effect by two scorers, over the questions with a trial on both sides that both gave a value.

    first_points,      the mean difference between condition and baseline by each scorer, in percentage points
      second_points
    points             second_points - first_points: how much more the condition gains, in the second scorer's eyes,
                       with its 95 % interval. 0 where a scorer's errors are the same under both
    p_value, p_holm    two-sided sign-flip test that it is 0; corrected over all shifts of one call by Holm's method
    agreement_points   by how much more often the scorers agree under the condition than under the baseline, in
                       percentage points, with its 95 % interval
    small              too few independent questions, or too few on which the scorers' effects differ, for `ci95` to
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
    p_value: float
    p_holm: float
    agreement_points: float
    agreement_ci95: tuple[float, float] | None


def shifts(
    found: Gradings, pairs: Sequence[tuple[str, str]], baseline: str, *, order: Sequence[str] = (), seed: int = 0
) -> list[Shift]:
    """Of each pair of scorers, model and condition other than the baseline that has a question in common with it. Two
    gradings of one judge differ by chance alone, and are left out."""
    rows = [
        row
        for first, second in pairs
        if grading(first)[0] != grading(second)[0]
        for row in _of_pair(found, first, second, baseline, order, seed)
    ]
    corrected = holm([row.p_value for row in rows])
    return [replace(row, p_holm=p_value) for row, p_value in zip(rows, corrected, strict=True)]


def _of_pair(
    found: Gradings, first: str, second: str, baseline: str, order: Sequence[str], seed: int
) -> Iterator[Shift]:
    counted = [each for each in side_by_side(found, first, second) if each.counts]
    units = {each.first.question: unit(each.first) for each in counted}
    by_arm = {(model, condition): _Arm.of(trials) for model, condition, trials in arms(counted, order)}
    for (model, condition), after in by_arm.items():
        before = by_arm.get((model, baseline))
        if condition == baseline or before is None:
            continue
        questions = scored_in_both(before.first, after.first)
        if questions:
            of = [units[question] for question in questions]
            yield _shift((first, second, model, baseline, condition), before, after, questions, of, seed)


Values = Mapping[str, list[float]]
"""By question, then by repeat."""


@dataclass(frozen=True, slots=True)
class _Arm:
    """Of the trials under one condition: the values of both scorers, how much the second gives more, and whether they
    agree."""

    first: Values
    second: Values
    more: Values
    agreed: Values
    simulated: bool

    @classmethod
    def of(cls, trials: Sequence[Both]) -> "_Arm":
        first: dict[str, list[float]] = {}
        second: dict[str, list[float]] = {}
        agreed: dict[str, list[float]] = {}
        for each in trials:
            question = each.first.question
            first.setdefault(question, []).append(each.first.value or 0.0)
            second.setdefault(question, []).append(each.second.value or 0.0)
            agreed.setdefault(question, []).append(float(each.same))
        more = {
            question: [new - old for old, new in zip(first[question], second[question], strict=True)]
            for question in first
        }
        return cls(first, second, more, agreed, any(each.first.simulated for each in trials))


def _shift(
    named: tuple[str, str, str, str, str],
    before: _Arm,
    after: _Arm,
    questions: Sequence[str],
    units: Sequence[Unit],
    seed: int,
) -> Shift:
    more, agreed = _changes(before.more, after.more, questions), _changes(before.agreed, after.agreed, questions)
    even = [even_difference(before.more[question], after.more[question]) for question in questions]
    sums, agreements, tested, sizes = by_unit(units, more, agreed, even, [1.0] * len(questions))
    intervals = bootstrap_intervals([(sums, sizes), (agreements, sizes)], seed=seed)
    ci95, agreement_ci95 = (None if each is None else (100 * each[0], 100 * each[1]) for each in intervals)
    p_value = sign_flip_p(tested, seed=seed)
    return Shift(
        *named,
        simulated=before.simulated or after.simulated,
        questions=len(questions),
        clusters=len(sums),
        small=too_few(sums, sizes),
        first_points=100 * mean(_changes(before.first, after.first, questions)),
        second_points=100 * mean(_changes(before.second, after.second, questions)),
        points=100 * mean(more),
        ci95=ci95,
        p_value=p_value,
        p_holm=p_value,
        agreement_points=100 * mean(agreed),
        agreement_ci95=agreement_ci95,
    )


def _changes(before: Values, after: Values, questions: Sequence[str]) -> list[float]:
    return [mean(after[question]) - mean(before[question]) for question in questions]
