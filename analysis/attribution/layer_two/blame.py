"""How likely each mechanism is to be what made a trial wrong."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.fall import KINDS, fall_at
from toolablate.analysis.attribution.gains import computes_an_answer, is_locked_in
from toolablate.analysis.attribution.layer_two.chances import PRIOR, drawn_chances
from toolablate.analysis.attribution.layer_two.levels import Level, Part, chains
from toolablate.analysis.attribution.ledger import ToolKind
from toolablate.analysis.attribution.spoiling import faults
from toolablate.analysis.pairing import RIGHT, mean
from toolablate.analysis.statistics.numerals import Floats
from toolablate.traces.records import Mechanism

OF_PARTS: Mapping[Part, Mechanism] = {
    "budget": "budget",
    "tool_fault": "tool_fault",
    "again": "luck",
    "search": "retrieval_distraction",
    "code": "lock_in",
    "other": "other_results",
    "calling": "calling",
    "availability": "availability",
    "prompt": "prompt",
}
CHANGES: Mapping[Part, float] = {
    "budget": 0.5,
    "tool_fault": 0.5,
    "again": 0.05,
}
"""How likely a level is to differ from the one before it, before any run is seen: a limit that ran out and a tool that
failed mostly matter, and what is drawn again has no reason to be another."""

RESULTS, CALLS = (0.5, 0.05), (0.3, 0.03)
"""The same of results, where the belief falls for good at results of their kind and where it does not; and of calls,
where it falls at a reply that makes some and where it does not. Set by hand, on the planted benchmark's half for
tuning, where it hardly matters by how much the two differ."""

OFFER = (0.3, 0.1)
"""The same of the offer of tools and of the condition's words, where nothing was called, so that little else can have
done it, and where something was."""

UNPROBED = 0.2
"""Of both where no belief was asked for."""

ORDER: tuple[Mechanism, ...] = (
    *("format", "budget", "tool_fault", "retrieval_distraction", "lock_in", "other_results", "calling"),
    *("availability", "prompt", "luck", "own_error"),
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
        chances = drawn_chances([level.tally for level in levels], _changes(levels[1:], evidence))
        for mechanism, share in _shared(levels, chances, named).items():
            found[mechanism] += share / len(orders)
    lost = _lost_by_form(evidence)
    shares = {mechanism: (1 - lost) * found[mechanism] for mechanism in ORDER if mechanism in found}
    return {"format": lost, **shares} if lost else shares


def _changes(levels: Sequence[Level], evidence: Evidence) -> list[float]:
    fall = fall_at(evidence.flip, evidence.steps, evidence.signals.calls) if evidence.flip else None
    at_calls = fall is not None and fall.at != "results"
    at_results = fall.kinds if fall is not None and fall.at != "reply" else frozenset[ToolKind]()
    probed = evidence.trajectory is not None

    def change(part: Part) -> float:
        if part in CHANGES:
            return CHANGES[part]
        if part in ("availability", "prompt"):
            return OFFER[evidence.called]
        if not probed:
            return UNPROBED
        expected, other = CALLS if part == "calling" else RESULTS
        return expected if (at_calls if part == "calling" else part in at_results) else other

    return [change(level.part) for level in levels]


def _shared(levels: Sequence[Level], chances: Floats, named: Mapping[Part, Mechanism]) -> dict[Mechanism, float]:
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
    """Calls of code that did it whatever they gave are a lock-in where the model comes back once the computation is set
    aside: with placebo results it has put the question into the same code. Results that hold nothing mislead nobody:
    what goes with them is that a call was made."""
    named = dict(OF_PARTS)
    for kind in _kinds_without_content(evidence):
        named[kind] = "calling"
    return {**named, "calling": "lock_in"} if named["code"] == "lock_in" and _comes_back(evidence) else named


def _kinds_without_content(evidence: Evidence) -> frozenset[ToolKind]:
    """Of tools whose calls all failed by the model's own doing, or found nothing. Of a tool that failed itself the
    replays have what it gives when it works; an attempt that infrastructure spoiled does not say of which it was."""
    calls, broken = evidence.signals.calls, set(faults(evidence.signals))
    if not broken <= {call.event for call in calls}:
        return frozenset()
    return evidence.chain.tools - {KINDS[call.form] for call in calls if call.gave or call.event in broken}


def _comes_back(evidence: Evidence) -> bool:
    """To a belief nearer to the first than to the last, where no other fall was found."""
    if evidence.chain.tools != {"code"} or evidence.trajectory is None or not evidence.set_aside:
        return False
    if not computes_an_answer(evidence.signals):
        return False
    if evidence.flip is not None:
        return is_locked_in(evidence.flip, evidence.steps, evidence.signals, evidence.set_aside)
    shares = [belief.right.mean for belief in evidence.trajectory.beliefs]
    return mean(evidence.set_aside) > (shares[0] + shares[-1]) / 2


def _lost_by_form(evidence: Evidence) -> float:
    closing = evidence.closing if evidence.score.verdict == "unparsed" else ()
    return (sum(closing) + PRIOR) / (len(closing) + 2 * PRIOR) if closing else 0.0
