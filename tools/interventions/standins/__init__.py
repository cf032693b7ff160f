"""Results that stand in for a tool's own: the arms of the ladder between a tool that is offered and the real thing."""

from collections.abc import Mapping
from typing import Any

from toolablate.tools.interventions.intervention import InterventionKind
from toolablate.tools.interventions.scope import OfTools
from toolablate.tools.interventions.standins.claims import Adversarial, Oracle, refuse_without_wrong_answer
from toolablate.tools.interventions.standins.placebo import Placebo
from toolablate.tools.interventions.standins.sham import Sham

__all__ = ["STAND_INS", "refuse_without_wrong_answer"]

STAND_INS: Mapping[str, InterventionKind[Any]] = {
    "sham": InterventionKind(OfTools, Sham),
    "placebo": InterventionKind(OfTools, Placebo),
    "oracle": InterventionKind(OfTools, Oracle),
    "adversarial": InterventionKind(OfTools, Adversarial),
}
