"""Changes that a condition makes to what its tools return."""

from toolablate.tools.interventions.from_condition import (
    INTERVENTIONS,
    Applied,
    intervened,
    intervention_sources,
    open_interventions,
)
from toolablate.tools.interventions.function import FunctionIntervention, intervention
from toolablate.tools.interventions.intervention import (
    Call,
    Intervention,
    InterventionKind,
    InterventionSetting,
    Options,
    Proceed,
)

__all__ = [
    "INTERVENTIONS",
    "Applied",
    "Call",
    "FunctionIntervention",
    "Intervention",
    "InterventionKind",
    "InterventionSetting",
    "Options",
    "Proceed",
    "intervened",
    "intervention",
    "intervention_sources",
    "open_interventions",
]
