"""What a rung is worth whichever order the factors come in."""

import math
from collections.abc import Sequence

from toolablate.traces.analysis.ladder.arms import ArmKind, Ladder
from toolablate.traces.analysis.ladder.paired import Trials
from toolablate.traces.analysis.ladder.waterfall import Shapley, ShapleyValue


def shapley(trials: Trials, ladder: Ladder) -> Shapley | None:
    """The Shapley value of each rung, of those that the ladder has; None where an arm is lacking.

    There is no calling without availability and no content without calling, so that these factors form a chain; the
    prompt may come at any place in it. The value is the mean of a factor's marginal contributions over these orders,
    all equally likely (five, where the chain has four factors). Source: Faigle and Kern (1992), "The Shapley value for
    cooperative games under precedence constraints", International Journal of Game Theory 21.
    """
    if not ladder.prompted or ladder.missing_unprompted:
        return None
    prompted, bare = _levels(ladder)
    questions = trials.scored({*prompted, *bare})
    if not questions:
        return None
    with_prompt, without = ([trials.means(label, questions) for label in labels] for labels in (prompted, bare))
    values = []
    for place, rung in enumerate(ladder.rungs):
        contributions = [
            _contribution(of_one, of_other, place)
            for of_one, of_other in zip(zip(*with_prompt, strict=True), zip(*without, strict=True), strict=True)
        ]
        before, after = (trials.means(label, questions) for label in (rung.before, rung.after))
        own = [new - old for old, new in zip(before, after, strict=True)]
        moved = trials.away(questions, [value - here for value, here in zip(contributions, own, strict=True)])
        found = trials.away(questions, contributions)
        values.append(ShapleyValue(rung.name, found.small, points(contributions), found.ci95, points(own), moved.ci95))
    total = [new - old for new, old in zip(with_prompt[-1], without[0], strict=True)]
    return Shapley(len(questions), trials.clusters(questions), tuple(values), points(total))


def _levels(ladder: Ladder) -> tuple[list[str], list[str]]:
    """The labels along the chain, with the prompt and without it."""
    chain: list[ArmKind] = [kind for kind in ladder.arms if kind not in ("none", "scaffold")]
    prompted = [ladder.arms["scaffold"], *(ladder.arms[kind] for kind in chain)]
    return prompted, [ladder.arms["none"], *(ladder.unprompted[kind] for kind in chain)]


def _contribution(prompted: Sequence[float], bare: Sequence[float], place: int) -> float:
    """Of one question: the mean marginal contribution of the prompt (place 0), or of the chain's factor at `place`,
    which the prompt precedes in `place` of the orders."""
    orders = len(prompted)
    if place == 0:
        return math.fsum(new - old for new, old in zip(prompted, bare, strict=True)) / orders
    after_prompt = prompted[place] - prompted[place - 1]
    before_prompt = bare[place] - bare[place - 1]
    return (place * after_prompt + (orders - place) * before_prompt) / orders


def points(values: Sequence[float]) -> float:
    return 100 * math.fsum(values) / len(values)
