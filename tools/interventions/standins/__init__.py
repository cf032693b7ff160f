"""Results that stand in for a tool's own: the arms of the ladder between a tool that is offered and the real thing."""

from collections.abc import Mapping
from typing import Any

from toolablate.tools.interventions.intervention import InterventionKind

STAND_INS: Mapping[str, InterventionKind[Any]] = {}
