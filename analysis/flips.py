"""Questions that flip between a condition and its baseline, and how many of them flip by chance alone."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from toolablate.analysis.pairing import (
    RIGHT,
    Arm,
    Direction,
    Pair,
    Unit,
    counts,
    direction,
    mean,
    pairs,
    scored_in_both,
)
from toolablate.analysis.statistics.harm import (
    Bounds,
    Harm,
    Repeats,
    SelectedEffects,
    flips_between_runs,
    harm_bounds,
    noise_flips,
    question_effects,
    selected_effects,
)
from toolablate.traces.store import TrialSummary

HARM_RESAMPLES = 2_000
"""Bounds are wide, with several ways to take each: more resamples would be most of what a comparison waits for."""


@dataclass(frozen=True, slots=True)
class Chance:
    """Flips between single runs, beside those that chance alone gives.

    flips_right_to_wrong,   questions that one run of the baseline gets right and one run of the condition gets wrong,
      flips_wrong_to_right  or the reverse; expected over the choice of the runs, which with one repeat is a count
    noise_flips             questions that go one way, no matter which, between two runs of the baseline. Without any
                            change both ways would show as many. None where no question has two scored repeats of it
    noise_questions         questions that this was measured on, from which it is scaled to all
    condition_noise_...     the same between two runs of the condition

    Right is a score of RIGHT or more: of graded scores these see no change that does not cross it.
    """

    flips_right_to_wrong: float
    flips_wrong_to_right: float
    noise_flips: float | None
    noise_questions: int
    condition_noise_flips: float | None
    condition_noise_questions: int


@dataclass(frozen=True, slots=True)
class Floor:
    """The noise floor of one model and condition against its baseline, over the questions that count: those with a
    scored trial on both sides."""

    model: str
    baseline: str
    condition: str
    questions: int
    chance: Chance


@dataclass(frozen=True, slots=True)
class Harmed:
    """What repeats tell of the `harm_questions` that have two or more scored trials on both sides."""

    harm: Harm | None
    question_effects: SelectedEffects | None
    harm_questions: int


def floors(summaries: Iterable[TrialSummary], baseline: str, *, order: Sequence[str] = ()) -> list[Floor]:
    """One per model and condition other than the baseline, in the order of `compare`. Raises InputError where no trial
    of the baseline ended."""
    return [
        Floor(pair.model, pair.baseline, pair.condition, len(found), chance(*sides))
        for pair in pairs(summaries, baseline, order)
        for found in [scored_in_both(pair.scored_before, pair.scored_after)]
        for sides in [[right([arm[name] for name in found]) for arm in (pair.scored_before, pair.scored_after)]]
    ]


def right(scores: Iterable[Sequence[float]]) -> list[Repeats]:
    """Whether each trial was right, from its score: the repeats of each question."""
    return [[score >= RIGHT for score in repeats] for repeats in scores]


def chance(before: Sequence[Repeats], after: Sequence[Repeats]) -> Chance:
    flips = flips_between_runs(before, after), flips_between_runs(after, before)
    return Chance(*flips, *_noise(before), *_noise(after))


def harmed(before: Sequence[Repeats], after: Sequence[Repeats], units: Sequence[Unit], *, seed: int = 0) -> Harmed:
    several = [place for place, both in enumerate(zip(before, after, strict=True)) if min(map(len, both)) > 1]
    old, new = [before[place] for place in several], [after[place] for place in several]
    of = [units[place] for place in several]
    effects = question_effects(old, new)
    selected = None if effects is None else selected_effects(effects, of)
    found = harm_bounds(old, new, of, seed=seed, resamples=HARM_RESAMPLES)
    return Harmed(None if found is None else possible(found, _right_share(old)), selected, len(several))


def possible(harm: Harm, base: float) -> Harm:
    """The bounds without what chance has put beyond the possible: no share is under 0, and no more trials are harmed
    than the share `base` that the baseline gets right, or helped than it gets wrong. In simulations that flatters an
    upper bound in one shape alone, where every question is an even coin: by 1.5 of 50 points at 60 questions."""
    return Harm(_within(harm.harmed, base), _within(harm.helped, 1 - base))


def _within(bounds: Bounds, most: float) -> Bounds:
    high = max(0.0, min(bounds.high, most))
    low = min(high, max(0.0, bounds.low))
    if bounds.ci95 is None:
        return Bounds(low, high, None)
    return Bounds(low, high, (min(low, bounds.ci95[0]), max(high, bounds.ci95[1])))


def _right_share(repeats: Sequence[Repeats]) -> float:
    return math.fsum(sum(drawn) / len(drawn) for drawn in repeats) / max(1, len(repeats))


def _noise(repeats: Sequence[Repeats]) -> tuple[float | None, int]:
    """Noise flips of all questions, and of how many they were measured."""
    several = [drawn for drawn in repeats if len(drawn) > 1]
    flips = noise_flips(several)
    return (None, 0) if flips is None else (len(repeats) * flips / len(several), len(several))


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that is right under the baseline and wrong under a condition, or the reverse.

    baseline_score, score     mean over the repeats of each side, in [0, 1]; right is at least 0.5
    baseline_trials, trials   ids of the trials that these rest on, by repeat

    `simulated`: a simulated model, no measurement.
    """

    model: str
    baseline: str
    condition: str
    question: str
    domain: str
    simulated: bool
    direction: Direction
    baseline_score: float
    score: float
    baseline_trials: tuple[str, ...]
    trials: tuple[str, ...]


def flips(summaries: Iterable[TrialSummary], baseline: str, *, order: Sequence[str] = ()) -> list[Flip]:
    """The questions that `compare` counts as right to wrong and wrong to right, one by one.

    They come by model and condition as the rows of `compare` do, right to wrong first, then by question; the order of
    the summaries changes nothing. Raises InputError where no trial of the baseline ended.
    """
    return [flip for pair in pairs(summaries, baseline, order) for flip in _flipped(pair)]


def flips_json(found: Iterable[Flip], floors: Iterable[Floor] = ()) -> str:
    """`{"flips": [...], "floors": [...]}` with the fields of the records; what is unknown is null."""
    content = {"flips": [asdict(flip) for flip in found], "floors": [asdict(floor) for floor in floors]}
    return json.dumps(content, ensure_ascii=False, indent=2)


def _flipped(pair: Pair) -> list[Flip]:
    return sorted(_each(pair), key=lambda flip: (flip.direction, flip.question))


def _each(pair: Pair) -> Iterator[Flip]:
    for question in scored_in_both(pair.scored_before, pair.scored_after):
        before, after = mean(pair.scored_before[question]), mean(pair.scored_after[question])
        way = direction(before, after)
        if way is not None:
            yield Flip(
                model=pair.model,
                baseline=pair.baseline,
                condition=pair.condition,
                question=question,
                domain=pair.after[question][0].domain,
                simulated=any(trial.simulated for trial in pair.after[question]),
                direction=way,
                baseline_score=before,
                score=after,
                baseline_trials=_ids(pair.before, question),
                trials=_ids(pair.after, question),
            )


def _ids(arm: Arm, question: str) -> tuple[str, ...]:
    counted = sorted((trial.repeat, trial.trial) for trial in arm[question] if counts(trial))
    return tuple(identity for _, identity in counted)
