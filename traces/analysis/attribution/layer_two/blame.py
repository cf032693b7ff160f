"""How likely each mechanism is to be what made a trial wrong."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from toolablate.traces.analysis.attribution.evidence import Evidence
from toolablate.traces.analysis.attribution.gains import is_locked_in
from toolablate.traces.analysis.attribution.layer_two.chances import PRIOR, drawn_chances
from toolablate.traces.analysis.attribution.layer_two.levels import Level, Part, chains
from toolablate.traces.analysis.pairing import RIGHT
from toolablate.traces.analysis.statistics.numerals import Floats
from toolablate.traces.records import Mechanism

OF_PARTS: Mapping[Part, Mechanism] = {
    "budget": "budget",
    "tool_fault": "tool_fault",
    "again": "luck",
    "search": "retrieval_distraction",
    "code": "lock_in",
    "other": "retrieval_distraction",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
}
ORDER: tuple[Mechanism, ...] = (
    *("format", "budget", "tool_fault", "retrieval_distraction", "lock_in", "calling", "availability", "prompt"),
    *("luck", "own_error"),
)


def blame(evidence: Evidence) -> dict[Mechanism, float]:
    """The probability of each mechanism, given that the trial is wrong; they sum to 1.

    Where the chance of being right is p with something and q without it, and taking it away makes nothing wrong that
    was right, a wrong trial would have been right without it with the probability (q - p) / (1 - p): the probability of
    necessity (Pearl 1999, "Probabilities of causation", Synthese 121; Tian and Pearl 2000, Annals of Mathematics and
    AI 28) under monotonicity. Along the chain each part gets what it adds to the highest chance before it. What no part
    restores is `luck` where the question without tools is right more often than not, else `own_error`. Over the draws
    of what is known of the chances, that is averaged; over orders of kinds of tools as well.

    An answer that could not be read is right with the share of those that were asked for once more: that is `format`,
    and the others share the rest.
    """
    found: dict[Mechanism, float] = defaultdict(float)
    named = _named(evidence)
    orders = chains(evidence)
    for levels in orders:
        for mechanism, share in _shared(levels, named).items():
            found[mechanism] += share / len(orders)
    lost = _lost_by_form(evidence)
    shares = {mechanism: (1 - lost) * found[mechanism] for mechanism in ORDER if mechanism in found}
    return {"format": lost, **shares} if lost else shares


def _shared(levels: Sequence[Level], named: Mapping[Part, Mechanism]) -> dict[Mechanism, float]:
    chances = drawn_chances([level.tally for level in levels])
    highest = np.maximum.accumulate(chances, axis=1)
    wrong = 1 - chances[:, 0]
    found: dict[Mechanism, float] = defaultdict(float)
    for place, level in enumerate(levels[1:], start=1):
        found[named[level.part]] += float(np.mean((highest[:, place] - highest[:, place - 1]) / wrong))
    left: Floats = (1 - highest[:, -1]) / wrong
    bare = chances[:, -1] >= RIGHT
    found["luck"] += float(np.mean(left * bare))
    found["own_error"] += float(np.mean(left * ~bare))
    return found


def _named(evidence: Evidence) -> Mapping[Part, Mechanism]:
    """Calls whose belief fell with the code, before or after it ran, and came back once that was set aside, are a
    lock-in: with placebo results the model has put the question into the same code."""
    locked_in = is_locked_in(evidence.flip, evidence.steps, evidence.signals, evidence.set_aside)
    return {**OF_PARTS, "calling": "lock_in"} if locked_in else OF_PARTS


def _lost_by_form(evidence: Evidence) -> float:
    closing = evidence.closing if evidence.score.verdict == "unparsed" else ()
    return (sum(closing) + PRIOR) / (len(closing) + 2 * PRIOR) if closing else 0.0
