"""The questions that a condition turned from right to wrong, or from wrong to right."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from toolablate.analysis.noise import Floor
from toolablate.analysis.pairing import Arm, Direction, Pair, counts, direction, mean, pairs, scored_in_both
from toolablate.traces.store import Observation


@dataclass(frozen=True, slots=True)
class Flip:
    """A question that is right under the baseline and wrong under a condition, or the reverse.

    baseline_score, score     mean over the repeats of each side, in [0, 1]; right is at least 0.5
    baseline_trials, trials   ids of the trials that these rest on, by repeat

    `simulated` tells that the model is a stand-in, not a measurement.
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


def flips(observations: Iterable[Observation], baseline: str, *, order: Sequence[str] = ()) -> list[Flip]:
    """The questions that `compare` counts as right to wrong and wrong to right, one by one.

    They come by model and condition as the rows of `compare` do, right to wrong first, then by question; the order of
    the observations changes nothing. Raises InputError where no trial of the baseline ended.
    """
    return [flip for pair in pairs(observations, baseline, order) for flip in _flipped(pair)]


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
