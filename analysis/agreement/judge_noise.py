"""How often a judge grades the same answer differently, and what that does to a comparison."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.agreement.gradings import Gradings, correct, grading, is_judge
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING, arms_effect
from toolablate.analysis.flips import chance, right
from toolablate.analysis.pairing import Pair, Unit, pairs, scored_in_both, unit
from toolablate.analysis.statistics.intervals import bootstrap_interval, by_unit, effective_clusters
from toolablate.analysis.statistics.variance import detectable
from toolablate.traces.store import TrialSummary

Way = Literal["again", "same_text"]
"""How an answer came to be graded twice: by a re-grading, or because several trials of one question ended with the same
text."""

TAIL = 0.025
"""Of a 95 % interval, on either side."""


@dataclass(frozen=True, slots=True)
class Regraded:
    """The grades of one judge for the same answers.

    answers             graded more than once: trials, or where `way` is "same_text" the texts that trials share
    pairs, differing    two grades of one answer, and of these pairs those that say different things
    percent             differing of all pairs. An answer that is called correct with probability q differs with
                        2 q (1 - q), of which this is an unbiased estimate
    ci95                its 95 % interval from a bootstrap over clusters; where no pair differs the exact one of as many
                        single pairs as clusters are worth (Clopper and Pearson 1934, Biometrika 26); None where the
                        data cannot tell
    small               pairs of clusters worth fewer of one weight than FEW_CLUSTERS, or fewer than FEW_DIFFERING with
                        a pair that differs, so that the interval may cover the truth less often than it says

    Answers that are no text, and so are put to no judge, are left out.
    """

    judge: str
    way: Way
    simulated: bool
    answers: int
    questions: int
    clusters: int
    pairs: int
    differing: int
    percent: float
    ci95: tuple[float, float] | None
    small: bool


@dataclass(frozen=True, slots=True)
class _Grades:
    """Of one answer: the question and its unit, how many grades it has and how many of them say correct."""

    question: str
    unit: Unit
    grades: int
    right: int

    @property
    def pairs(self) -> int:
        return self.grades * (self.grades - 1) // 2

    @property
    def differing(self) -> int:
        return self.right * (self.grades - self.right)


def regraded(found: Gradings, answers: Mapping[str, str], *, seed: int = 0) -> list[Regraded]:
    """Of each judge first what its re-gradings say, then what answers of the same text do; the one or the other is left
    out where no answer was graded twice. `answers` has for each trial its answer, or a digest of it."""
    by_judge: dict[str, list[Mapping[str, TrialSummary]]] = defaultdict(list)
    for scorer, trials in found.items():
        if is_judge(scorer):
            by_judge[grading(scorer)[0]].append({trial: seen for trial, seen in trials.items() if _graded(seen)})
    rows = []
    for judge, several in by_judge.items():
        simulated = any(seen.simulated for trials in several for seen in trials.values())
        ways: tuple[tuple[Way, Iterable[_Grades]], ...] = (
            ("again", _again(several)),
            ("same_text", _same_text(several, answers)),
        )
        for way, grades in ways:
            if twice := list(grades):
                rows.append(_row(judge, way, twice, simulated, seed))
    return rows


def _graded(seen: TrialSummary) -> bool:
    return seen.value is not None and seen.verdict != "unparsed"


def _again(several: Sequence[Mapping[str, TrialSummary]]) -> Iterator[_Grades]:
    by_trial: dict[str, list[TrialSummary]] = defaultdict(list)
    for trials in several:
        for trial, seen in trials.items():
            by_trial[trial].append(seen)
    yield from _several(by_trial.values())


def _same_text(several: Sequence[Mapping[str, TrialSummary]], answers: Mapping[str, str]) -> Iterator[_Grades]:
    """Within each grading, since between two of them it is the other way that counts."""
    for trials in several:
        by_text: dict[tuple[str, str], list[TrialSummary]] = defaultdict(list)
        for trial, seen in trials.items():
            if trial in answers:
                by_text[seen.question, answers[trial]].append(seen)
        yield from _several(by_text.values())


def _several(answers: Iterable[Sequence[TrialSummary]]) -> Iterator[_Grades]:
    """Of those that were graded more than once."""
    for seen in answers:
        if len(seen) > 1:
            yield _Grades(seen[0].question, unit(seen[0]), len(seen), sum(map(correct, seen)))


def _row(judge: str, way: Way, twice: Sequence[_Grades], simulated: bool, seed: int) -> Regraded:
    units = [each.unit for each in twice]
    differing, pairs = by_unit(units, [each.differing for each in twice], [each.pairs for each in twice])
    interval = _interval(differing, pairs, seed)
    return Regraded(
        judge=judge,
        way=way,
        simulated=simulated,
        answers=len(twice),
        questions=len({each.question for each in twice}),
        clusters=len(pairs),
        pairs=int(sum(pairs)),
        differing=int(sum(differing)),
        percent=100 * sum(differing) / sum(pairs),
        ci95=None if interval is None else (100 * interval[0], 100 * interval[1]),
        small=effective_clusters(pairs) < FEW_CLUSTERS or sum(each > 0 for each in differing) < FEW_DIFFERING,
    )


def _interval(differing: Sequence[float], pairs: Sequence[float], seed: int) -> tuple[float, float] | None:
    if not any(differing):
        return 0.0, 1 - TAIL ** (1 / effective_clusters(pairs))
    # Scaled to a mean of one, since the bootstrap rounds what it is given.
    scale = len(pairs) / sum(pairs)
    return bootstrap_interval([scale * each for each in differing], [scale * each for each in pairs], seed=seed)


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
