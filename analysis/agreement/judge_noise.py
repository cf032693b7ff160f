"""What a judge's noise does to a comparison: the flips that it makes by itself, and what it hides."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from toolablate.analysis.agreement.gradings import Gradings
from toolablate.analysis.agreement.regrading import Regraded, Way
from toolablate.analysis.effect import arms_effect
from toolablate.analysis.noise import chance, right
from toolablate.analysis.pairing import Pair, pairs, scored_in_both, unit
from toolablate.analysis.statistics import detectable


@dataclass(frozen=True, slots=True)
class JudgeNoise:
    """Of one model and condition against its baseline, over the questions that the judge scored on both sides, what is
    to be expected of a judge that grades the same answer otherwise in `percent` of pairs (`Regraded`, by `way`).

    judge_flips        questions that go one way, no matter which, between two runs that differ in nothing but the
                       judge's grades: `percent` of the questions, divided by two ways; with the 95 % interval that
                       `percent` has
    noise_flips        the same between two runs of the baseline, as `compare` has it: the answers' own noise and the
                       judge's. None where no question has two scored repeats of it
    judge_points       the true difference that would be found with probability 80 % at level .05 if the judge's noise
                       were all there is, at these questions and repeats
    detectable_points  the same as `compare` has it, with all that varies; None where that is unknown
    """

    judge: str
    way: Way
    percent: float
    model: str
    baseline: str
    condition: str
    simulated: bool
    questions: int
    judge_flips: float
    judge_flips_ci95: tuple[float, float] | None
    noise_flips: float | None
    judge_points: float
    detectable_points: float | None


def judge_noise(
    found: Gradings, rates: Sequence[Regraded], baseline: str, *, order: Sequence[str] = (), seed: int = 0
) -> list[JudgeNoise]:
    """By the re-gradings of each judge, or where there are none by answers of the same text; of the grading that
    counts. Nothing where the judge scored no trial of the baseline."""
    by_judge = {each.judge: each for each in reversed(rates)}
    return [
        row
        for judge, trials in found.items()
        if judge in by_judge and any(seen.condition == baseline for seen in trials.values())
        for pair in pairs(trials.values(), baseline, order)
        for row in _of_pair(pair, by_judge[judge], seed)
    ]


def _of_pair(pair: Pair, rate: Regraded, seed: int) -> Iterator[JudgeNoise]:
    questions = scored_in_both(pair.scored_before, pair.scored_after)
    if not questions:
        return
    before, after = ([arm[question] for question in questions] for arm in (pair.scored_before, pair.scored_after))
    of = [unit(pair.after[question][0]) for question in questions]
    varies = rate.percent / 200

    def flips(percent: float) -> float:
        return len(questions) * percent / 200

    yield JudgeNoise(
        judge=rate.judge,
        way=rate.way,
        percent=rate.percent,
        model=pair.model,
        baseline=pair.baseline,
        condition=pair.condition,
        simulated=rate.simulated,
        questions=len(questions),
        judge_flips=flips(rate.percent),
        judge_flips_ci95=None if rate.ci95 is None else (flips(rate.ci95[0]), flips(rate.ci95[1])),
        noise_flips=chance(right(before), right(after)).noise_flips,
        judge_points=100 * detectable(_standard_error(before, after, varies)),
        detectable_points=arms_effect(
            pair.scored_before, pair.scored_after, questions, of, seed=seed
        ).detectable_points,
    )


def _standard_error(before: Sequence[Sequence[float]], after: Sequence[Sequence[float]], varies: float) -> float:
    """Of the mean difference, by grades alone that vary by this much around an answer's chance to be called correct,
    each drawn for itself: `paired_standard_error` without what varies between questions, for repeats that differ."""
    shares = (1 / len(old) + 1 / len(new) for old, new in zip(before, after, strict=True))
    return math.sqrt(varies * math.fsum(shares)) / len(before)
