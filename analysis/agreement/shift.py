"""Whether two scorers differ by condition: where they do, the effect of a condition depends on whom one asks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.agreement.arm import JudgedArm, differential, differential_interval, errors
from toolablate.analysis.agreement.gradings import Gradings, arms, side_by_side
from toolablate.analysis.agreement.scorers import grading, is_judge
from toolablate.analysis.effect import too_few
from toolablate.analysis.pairing import Unit, even_difference, mean, scored_in_both, unit
from toolablate.analysis.statistics import RESAMPLES, bootstrap_intervals, by_unit, holm, sign_flip_p


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
