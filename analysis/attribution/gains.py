"""What a trial's trace and its beliefs tell the ledger of its results: what harmed, and what helped."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from toolablate.analysis.attribution.belief import Flip, Trajectory
from toolablate.analysis.attribution.belief.levels import cuts
from toolablate.analysis.attribution.fall import KINDS, fall_at
from toolablate.analysis.attribution.ledger import Scores, Signal, ToolKind
from toolablate.analysis.attribution.signals import Signals
from toolablate.analysis.pairing import RIGHT, mean

FOUND: dict[ToolKind, Signal] = {"code": "computed", "search": "retrieved"}


def computes_an_answer(signals: Signals) -> bool:
    """Whether code speaks for the answer at all: it looks at finitely many cases of a general question, or gave what
    the model answers. Code that does neither is a call like any other."""
    adopted = signals.adoption
    return bool(signals.reformulation.checks) or (adopted is not None and adopted.form == "code")


def is_locked_in(flip: Flip | None, steps: Sequence[int], signals: Signals, set_aside: Scores) -> bool:
    """Whether the belief falls for good at code or what it gave, which speaks for the answer, and is nearer to what it
    was before once the computation is set aside."""
    if flip is None or not set_aside or not computes_an_answer(signals):
        return False
    fall = fall_at(flip, steps, signals.calls)
    return fall.kinds == {"code"} and mean(set_aside) > (flip.before + flip.level) / 2


def ledger_signals(
    signals: Signals, steps: Sequence[int], trajectory: Trajectory | None, flip: Flip | None, set_aside: Scores
) -> frozenset[Signal]:
    found: set[Signal] = {FOUND[kind] for kind in _rises(trajectory, steps, signals) if kind in FOUND}
    if signals.reading.leaks:
        found.add("answer_leak")
    if is_locked_in(flip, steps, signals, set_aside):
        found.add("lock_in")
    return frozenset(found)


def _rises(trajectory: Trajectory | None, steps: Sequence[int], signals: Signals) -> Iterator[ToolKind]:
    """The kinds of tools at whose results the belief rises from below one half to above it, to stay there to the end.
    By levels, as a fall is (`flip_step`)."""
    if trajectory is None:
        return
    beliefs = trajectory.beliefs
    samples = np.array([belief.samples for belief in beliefs])
    right = np.array([round(belief.right.mean * belief.samples) for belief in beliefs])
    (levels,) = cuts(right[None], samples)
    heights = [float(right[begin:end].sum() / samples[begin:end].sum()) for begin, end in pairwise(levels)]
    for number, (before, after) in enumerate(pairwise(heights), start=1):
        if before < RIGHT <= after and min(heights[number:]) >= RIGHT:
            place = levels[number]
            begin, end = steps[beliefs[place - 1].step], steps[beliefs[place].step]
            yield from (KINDS[call.form] for call in signals.calls if begin <= call.event < end)
