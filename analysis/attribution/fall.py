"""At what a belief fell: between which two steps, and what happened there."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.analysis.attribution.belief import Flip
from toolablate.analysis.attribution.ledger import ToolKind
from toolablate.analysis.attribution.signals import CallSeen
from toolablate.analysis.attribution.signals.steps import Form

KINDS: dict[Form, ToolKind] = {"code": "code", "search": "search", "page": "search", "other": "other"}


@dataclass(frozen=True, slots=True)
class Fall:
    """Where a belief fell.

    at      `results` where it fell at what calls gave, `reply` where it fell at a reply that makes calls, before their
            results; `either` where steps between were not probed
    event   the last result, or the reply; the first event of the stretch where it is either
    events  the calls that it is about: whose results these are, or that the reply makes
    kinds   of their tools
    """

    at: Literal["results", "reply", "either"]
    event: int
    events: tuple[int, ...]
    kinds: frozenset[ToolKind]


def fall_at(flip: Flip, steps: Sequence[int], calls: Sequence[CallSeen]) -> Fall:
    """Of a flip between steps that stand before the events `steps`; `calls` are those of the trial."""
    begin, end = steps[flip.after], steps[flip.step]
    following = steps[flip.step + 1] if flip.step + 1 < len(steps) else None
    within = [call for call in calls if begin <= call.event < end]
    called = [call for call in calls if call.event >= end and (following is None or call.event < following)]
    about = within or called
    events, kinds = tuple(call.event for call in about), frozenset(KINDS[call.form] for call in about)
    if flip.step - flip.after > 1:
        return Fall("either", begin, events, kinds)
    return Fall("results", events[-1], events, kinds) if within else Fall("reply", begin, events, kinds)
