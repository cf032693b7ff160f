"""What a rung is worth whichever order the factors come in."""

from collections.abc import Mapping, Sequence

import numpy as np

from toolablate.analysis.attribution.shapley import Subset, inserted, shares_of
from toolablate.analysis.ladder.arms import ArmKind, Ladder
from toolablate.analysis.ladder.paired import Trials
from toolablate.analysis.ladder.waterfall import Shapley, ShapleyValue
from toolablate.analysis.pairing import mean
from toolablate.analysis.statistics.numerals import Floats


def shapley(trials: Trials, ladder: Ladder) -> Shapley | None:
    """The Shapley value of each rung, of those that the ladder has; None where an arm is lacking.

    There is no calling without availability and no content without calling, so that these factors form a chain; the
    prompt may come at any place in it. The value is the mean of a factor's marginal contributions over these orders,
    all equally likely (five, where the chain has four factors).
    """
    if not ladder.prompted or ladder.missing_unprompted:
        return None
    prompted, bare = _levels(ladder)
    questions = trials.scored({*prompted, *bare})
    if not questions:
        return None
    with_prompt, without = ([trials.means(label, questions) for label in labels] for labels in (prompted, bare))
    scores = np.array([*with_prompt, *without])
    shares = shares_of(inserted(len(ladder.rungs)))
    worth = [(_weights(each, len(prompted)) @ scores).tolist() for each in shares]
    own = [_differences(trials, rung.before, rung.after, questions) for rung in ladder.rungs]
    moved = [[value - here for value, here in zip(*both, strict=True)] for both in zip(worth, own, strict=True)]
    total = _differences(trials, bare[0], prompted[-1], questions)
    known = trials.means_known(questions, [*worth, *moved])
    return Shapley(
        questions=len(questions),
        clusters=trials.clusters(questions),
        values=tuple(
            ShapleyValue(rung.name, value.small, value.points, value.ci95, 100 * mean(here), away.ci95)
            for rung, here, value, away in zip(ladder.rungs, own, known[: len(own)], known[len(own) :], strict=True)
        ),
        total=100 * mean(total),
    )


def _differences(trials: Trials, before: str, after: str, questions: Sequence[str]) -> list[float]:
    return [new - old for old, new in zip(*(trials.means(label, questions) for label in (before, after)), strict=True)]


def _levels(ladder: Ladder) -> tuple[list[str], list[str]]:
    """The labels along the chain, with the prompt and without it."""
    chain: list[ArmKind] = [kind for kind in ladder.arms if kind not in ("none", "scaffold")]
    prompted = [ladder.arms["scaffold"], *(ladder.arms[kind] for kind in chain)]
    return prompted, [ladder.arms["none"], *(ladder.unprompted[kind] for kind in chain)]


def _weights(shares: Mapping[Subset, float], levels: int) -> Floats:
    """By level of the chain, first with the prompt (factor 0), then without it."""
    found = np.zeros(2 * levels)
    for at, share in shares.items():
        found[len(at - {0}) + (0 if 0 in at else levels)] = share
    return found
