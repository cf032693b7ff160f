"""Results that stand in for a tool's own: the arms of the ladder between a tool that is offered and the real thing."""

from collections.abc import Mapping
from typing import Any

from toolablate.tools.interventions.intervention import InterventionKind, Options
from toolablate.tools.interventions.standins.claims import Adversarial, Oracle, refuse_without_wrong_answer
from toolablate.tools.interventions.standins.placebo import Placebo
from toolablate.tools.interventions.standins.sham import Sham

__all__ = ["STAND_INS", "refuse_without_wrong_answer"]

STAND_INS: Mapping[str, InterventionKind[Any]] = {
    "sham": InterventionKind(Options, Sham),
    "placebo": InterventionKind(Options, Placebo),
    "oracle": InterventionKind(Options, Oracle),
    "adversarial": InterventionKind(Options, Adversarial),
}
