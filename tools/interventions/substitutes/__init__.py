"""Results that stand in for a tool's own: the arms of the ladder between a tool that is offered and the real thing.

Each is imported when a trial has one: what finds a wrong answer in a text knows many ways to write a number.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pydantic import Field

from toolablate.tools.interventions.intervention import Intervention, InterventionKind, InterventionSetting, OfTools
from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.tools.interventions.substitutes.claims import refuse_without_wrong_answer

__all__ = ["SUBSTITUTES", "PlaceboOptions", "refuse_without_wrong_answer"]

__getattr__ = importing(__name__, {"claims": ("refuse_without_wrong_answer",)})


class PlaceboOptions(OfTools):
    """`chars` is how many characters a placebo has at most; by default it has about as many as the real result."""

    chars: int | None = Field(default=None, gt=0)


def _made_by(module: str, name: str) -> Callable[[OfTools, InterventionSetting], Intervention]:
    def make(options: OfTools, setting: InterventionSetting) -> Intervention:
        made: Intervention = getattr(import_module(f"{__name__}.{module}"), name)(options, setting)
        return made

    return make


SUBSTITUTES: Mapping[str, InterventionKind[Any]] = {
    "sham": InterventionKind(OfTools, _made_by("claims", "Sham")),
    "placebo": InterventionKind(PlaceboOptions, _made_by("placebo", "Placebo")),
    "oracle": InterventionKind(OfTools, _made_by("claims", "Oracle")),
    "adversarial": InterventionKind(OfTools, _made_by("claims", "Adversarial")),
}
