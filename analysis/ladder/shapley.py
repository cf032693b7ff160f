"""What a rung is worth whichever order the factors come in."""

import math
from collections.abc import Sequence

from toolablate.analysis.ladder.arms import ArmKind, Ladder
from toolablate.analysis.ladder.paired import Trials
from toolablate.analysis.ladder.waterfall import Shapley, ShapleyValue
from toolablate.analysis.pairing import mean


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
    by_question = list(zip(zip(*with_prompt, strict=True), zip(*without, strict=True), strict=True))
    worth = [[_contribution(*levels, place) for levels in by_question] for place in range(len(ladder.rungs))]
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


def _contribution(prompted: Sequence[float], bare: Sequence[float], place: int) -> float:
    """Of one question: the mean marginal contribution of the prompt (place 0), or of the chain's factor at `place`,
    which the prompt precedes in `place` of the orders."""
    orders = len(prompted)
    if place == 0:
        return math.fsum(new - old for new, old in zip(prompted, bare, strict=True)) / orders
    after_prompt = prompted[place] - prompted[place - 1]
    before_prompt = bare[place] - bare[place - 1]
    return (place * after_prompt + (orders - place) * before_prompt) / orders
