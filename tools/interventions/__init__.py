"""Changes that a condition makes to what its tools return."""

from toolablate.tools.interventions.intervention import Intervention, InterventionKind, Options, Setting
from toolablate.tools.interventions.opening import INTERVENTIONS, open_interventions

__all__ = ["INTERVENTIONS", "Intervention", "InterventionKind", "Options", "Setting", "open_interventions"]
