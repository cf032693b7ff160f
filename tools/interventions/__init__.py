"""Changes that a condition makes to what its tools return."""

from toolablate.tools.interventions.applying import intervened
from toolablate.tools.interventions.intervention import (
    Applied,
    Call,
    Intervention,
    InterventionKind,
    Options,
    Proceed,
    Setting,
)
from toolablate.tools.interventions.opening import INTERVENTIONS, open_interventions

__all__ = [
    "INTERVENTIONS",
    "Applied",
    "Call",
    "Intervention",
    "InterventionKind",
    "Options",
    "Proceed",
    "Setting",
    "intervened",
    "open_interventions",
]
