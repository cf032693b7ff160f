"""The levels of one wrong trial: how often runs are right as more and more of what was at work is taken away."""

import math
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.fall import Fall, fall_at
from toolablate.analysis.attribution.layer_two.chances import Tally
from toolablate.analysis.attribution.ledger import Arms, Replay, Scores, ToolKind
from toolablate.analysis.attribution.spoiling import faults, ran_out

Part = Literal["budget", "tool_fault", "again", "search", "code", "other", "calling", "availability", "prompt"]
"""What is taken away on the way to a level; `again` is nothing but what was drawn, and a kind of tool its results."""

_NAMED: tuple[Part, ...] = ("search", "code", "other", "calling", "availability", "prompt", "tool_fault", "budget")


@dataclass(frozen=True, slots=True)
class Level:
    """Runs at one level, and what was taken away since the level before."""

    part: Part
    tally: Tally


def chains(evidence: Evidence) -> tuple[tuple[Level, ...], ...]:
    """The levels from the trial as it was to the question without tools, in the order of the ledger's; one chain for
    each order in which kinds of tools lose their results. Levels without runs are left out, and orders that tell less
    apart than others: of a tool without placebos it is not known what taking it away first does."""
    orders = permutations(sorted(evidence.chain.tools))
    fall = fall_at(evidence.flip, evidence.steps, evidence.signals.calls) if evidence.flip else None
    found = [
        tuple(_filled([*_before(evidence, order, fall), *_without_results(evidence, order)], fall)) for order in orders
    ]
    most = max(map(len, found))
    return tuple(levels for levels in found if len(levels) == most)


def _filled(levels: Sequence[Level], fall: Fall | None) -> Iterator[Level]:
    """A level without runs hands on what was taken away for it."""
    passed: list[Part] = []
    for level in levels:
        passed.append(level.part)
        if level.tally.runs:
            yield Level(_named_of(passed, fall), level.tally)
            passed = []


def _named_of(passed: Sequence[Part], fall: Fall | None) -> Part:
    """Of what was taken away together what the belief falls at; else the results before the calls, and these before
    what is there without any."""
    fell: list[Part] = []
    if fall is not None and fall.at == "results":
        fell += sorted(fall.kinds)
    elif fall is not None and fall.at == "reply":
        fell.append("calling")
    return next((part for part in (*fell, *_NAMED) if part in passed), "again")


def _before(evidence: Evidence, order: Sequence[ToolKind], fall: Fall | None) -> Iterator[Level]:
    """As it was, mended from outside, drawn again, and without the results of one kind of tool after another."""
    replay, signals = evidence.chain.replay or Replay(), evidence.signals
    stopped, broken = ran_out(signals), bool(faults(signals))
    yield Level("again", _believed(evidence, len(evidence.steps) - 1))
    if stopped:
        yield Level("budget", _tally(replay.extended))
    if broken:
        yield Level("tool_fault", _tally(replay.repaired))
    if not order:
        return
    # What goes on from the one result has the trial's own budget and faults.
    turning = None if stopped or broken else evidence.turning
    turned = fall.kinds if fall else frozenset()
    yield Level("again", _tally((*replay.rollouts.get(frozenset(), ()), *(turning.kept if turning else ()))))
    for number, kind in enumerate(order, start=1):
        if turning and kind in turned:
            yield Level(kind, _tally(turning.without))
        yield Level(kind, _tally(replay.rollouts.get(frozenset(order[:number]), ())))
    if not replay.rollouts.get(frozenset(order)):
        yield Level(order[-1], _believed(evidence, _step_before_results(evidence)))


def _step_before_results(evidence: Evidence) -> int:
    """Where there are no placebos: once the first calls that were not refused are made, and nothing is given yet."""
    refused = {each.event for each in evidence.signals.refused}
    first = min((call.event for call in evidence.signals.calls if call.event not in refused), default=0)
    return bisect_right(evidence.steps, first) - 1


def _without_results(evidence: Evidence, order: Sequence[ToolKind]) -> Iterator[Level]:
    """The arms of the ladder, and the belief at the first step, at which nothing was called yet. Calls that were all
    refused have no results, and are calls."""
    arms = evidence.chain.arms
    if order:
        yield Level("calling", _tally(arms.placebo))
        yield Level("calling", _tally(arms.sham))
    if evidence.called:
        yield Level("calling", _believed(evidence, 0))
    yield Level("calling" if evidence.called else "again", _tally((*arms.offered, *evidence.outset)))
    yield from _without_tools(arms, prompted=evidence.signals.prompted)


def _without_tools(arms: Arms, *, prompted: bool) -> Iterator[Level]:
    """Without a prompt the scaffold is the question alone."""
    if prompted:
        yield Level("availability", _tally(arms.scaffold))
    yield Level("prompt" if prompted else "availability", _tally(arms.none))


def _believed(evidence: Evidence, step: int) -> Tally:
    beliefs = evidence.trajectory.beliefs if evidence.trajectory else ()
    found = next((belief for belief in beliefs if belief.step == step), None)
    return Tally(found.samples, found.right.mean * found.samples) if found else Tally(0, 0.0)


def _tally(scores: Scores) -> Tally:
    return Tally(len(scores), math.fsum(scores))
