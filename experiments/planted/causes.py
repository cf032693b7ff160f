"""Why a trial of a scene is wrong: by the same draw put to the belief without one thing after another."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import accumulate, pairwise

from toolablate.agents.simulated.planted.mind import Influence, believed, drawn
from toolablate.experiments.planted.levels import extension, moved_by, repair
from toolablate.experiments.planted.worlds import Run, Way, World, runs
from toolablate.traces.records import Mechanism

Belief = Mapping[str, float]

OFTEN_RIGHT = 0.5
"""The probability of being right without tools from which on an error that no tool had a part in is bad luck."""


@dataclass(frozen=True, slots=True)
class Causes:
    """What a run would have believed with one thing removed each, in the order of the ledger's chain.

    now      what it did believe
    bare     without tools and prompt
    without  by what is removed
    """

    right: str
    now: Belief
    bare: Belief
    without: Mapping[Mechanism, Belief]


def causes(world: World, run: Run, trial: str) -> Causes:
    """Of the run of the trial `trial`."""
    without: dict[Mechanism, Belief] = {}
    if run.limit:
        without["budget"] = _mean_belief(world, extension(world, run, trial))
    if run.fault is not None:
        without["tool_fault"] = _mean_belief(world, repair(world, run, trial))
    every = world.influences(run)
    removed: dict[Mechanism, Iterable[Influence]] = {
        "retrieval_distraction": moved_by(world, run, "search"),
        "lock_in": moved_by(world, run, "code"),
        "calling": [each for each in every if each.source == "called"],
        "availability": [each for each in every if each.source == "offered"],
        "prompt": [each for each in every if each.source == "prompted"],
    }
    without |= {mechanism: world.believed(run, tuple(each)) for mechanism, each in removed.items() if each}
    return Causes(world.right, world.believed(run), believed(world.scene, ()), without)


def cause_at(found: Causes, u: float) -> Mechanism:
    """Of an answer that the draw `u` makes wrong.

    What makes the same draw right when it alone is removed did it; of several, and where the draw is right only without
    all of them, the one that moved the most from the right letter to the one that was drawn, in nats. Where the draw is
    wrong without tools as well, no tool did it: that is `luck` where such draws are the rarer ones, and else the
    model's own error.
    """
    wrong = drawn(found.now, u)
    alone = {each for each, belief in found.without.items() if drawn(belief, u) == found.right}
    candidates = alone or (set(found.without) if drawn(found.bare, u) == found.right else set())
    if not candidates:
        return "luck" if found.bare[found.right] >= OFTEN_RIGHT else "own_error"
    ordered = [each for each in found.without if each in candidates]
    return max(ordered, key=lambda each: _odds(found.without[each], found.right, wrong))


def chances(found: Causes, letter: str) -> dict[Mechanism, float]:
    """The probability of each cause given that this wrong letter was drawn: what can be known at best."""
    begin, end = _span(found.now, letter)
    cuts = {begin, end}
    for belief in (found.bare, *found.without.values()):
        cuts |= {cut for cut in _span(belief, found.right) if begin < cut < end}
    shares: dict[Mechanism, float] = {}
    for low, high in pairwise(sorted(cuts)):
        cause = cause_at(found, (low + high) / 2)
        shares[cause] = shares.get(cause, 0.0) + (high - low) / (end - begin)
    return shares


def _mean_belief(world: World, way: Way) -> Belief:
    ended = [(probability, world.believed(run)) for probability, run in runs(world, way)]
    _, first = ended[0]
    return {letter: sum(probability * belief[letter] for probability, belief in ended) for letter in first}


def _span(belief: Belief, letter: str) -> tuple[float, float]:
    """The draws that give this letter."""
    upper = dict(zip(belief, accumulate(belief.values()), strict=True))
    return upper[letter] - belief[letter], upper[letter]


def _odds(belief: Belief, right: str, wrong: str) -> float:
    tiny = 1e-300
    return math.log(max(belief[right], tiny)) - math.log(max(belief[wrong], tiny))
