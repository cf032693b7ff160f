"""What a rung is worth whichever order the factors come in."""

import math

from toolablate.traces.analysis.ladder.arms import ArmKind, Ladder
from toolablate.traces.analysis.ladder.paired import Chance, Trials
from toolablate.traces.analysis.ladder.waterfall import Shapley, ShapleyValue


def shapley(trials: Trials, ladder: Ladder, chance: Chance) -> Shapley | None:
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
    with_prompt, without = ([trials.scores(label) for label in labels] for labels in (prompted, bare))
    values = []
    for place, rung in enumerate(ladder.rungs):
        contributions = [
            _contribution([level[question] for level in with_prompt], [level[question] for level in without], place)
            for question in questions
        ]
        own = [trials.scores(rung.after)[question] - trials.scores(rung.before)[question] for question in questions]
        interval = trials.interval(questions, contributions, chance)
        values.append(ShapleyValue(rung.name, _points(contributions), _points(own), interval))
    total = [with_prompt[-1][question] - without[0][question] for question in questions]
    return Shapley(len(questions), trials.clusters(questions), tuple(values), _points(total))


def _levels(ladder: Ladder) -> tuple[list[str], list[str]]:
    """The labels along the chain, with the prompt and without it."""
    chain: list[ArmKind] = [kind for kind in ladder.arms if kind not in ("none", "scaffold")]
    prompted = [ladder.arms["scaffold"], *(ladder.arms[kind] for kind in chain)]
    return prompted, [ladder.arms["none"], *(ladder.unprompted[kind] for kind in chain)]


def _contribution(prompted: list[float], bare: list[float], place: int) -> float:
    """Of one question: the mean marginal contribution of the prompt (place 0), or of the chain's factor at `place`,
    which the prompt precedes in `place` of the orders."""
    orders = len(prompted)
    if place == 0:
        return math.fsum(new - old for new, old in zip(prompted, bare, strict=True)) / orders
    after_prompt = prompted[place] - prompted[place - 1]
    before_prompt = bare[place] - bare[place - 1]
    return (place * after_prompt + (orders - place) * before_prompt) / orders


def _points(values: list[float]) -> float:
    return 100 * math.fsum(values) / len(values)
