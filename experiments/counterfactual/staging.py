"""Interventions before and after the event at which a trial is taken up again."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolablate.tools.interventions import Call
from toolablate.tools.interventions.intervention import Scope
from toolablate.traces.records import InterventionUse


@dataclass(slots=True)
class Stage:
    """`over` is set once all that was recorded has been made again."""

    over: bool = False


class StagedScope(Scope):
    """The calls of a scope that are made `before` the stage is over, or `after` it. One that is new after it counts
    only calls from then on."""

    def __init__(self, inner: Scope, stage: Stage, *, before: bool, after: bool) -> None:
        super().__init__()
        self._inner = inner
        self._stage = stage
        self._before = before
        self._after = after

    def holds(self, call: Call) -> bool:
        if not (self._before or self._stage.over):
            return False
        return self._inner.holds(call) and (self._after if self._stage.over else self._before)


def joined(before: Sequence[InterventionUse], after: Sequence[InterventionUse]) -> tuple[InterventionUse, ...]:
    """Those of both stages in their order; a new one is a stand-in, and stands nearest to the tool."""
    return (*(use for use in after if use not in before), *before)
