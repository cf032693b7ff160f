"""From the interventions that a condition names to those of one trial."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from toolablate.tools.interventions.intervention import Applied, Intervention, InterventionKind, Setting
from toolablate.tools.interventions.spotlight import Spotlight, SpotlightOptions
from toolablate.tools.interventions.standins import STAND_INS
from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import InterventionUse

INTERVENTIONS: Mapping[str, InterventionKind[Any]] = {
    "spotlight": InterventionKind(SpotlightOptions, Spotlight),
    **STAND_INS,
}
"""Every name that a plan can use."""


def open_interventions(uses: Sequence[InterventionUse], setting: Setting | None = None) -> tuple[Applied, ...]:
    """One trial's interventions, in the order in which they are applied. Raises InputError for an unknown name or
    option."""
    return tuple(Applied(use.name, _open(use, setting or Setting())) for use in uses)


def _open(use: InterventionUse, setting: Setting) -> Intervention:
    kind = INTERVENTIONS.get(use.name)
    if kind is None:
        raise InputError(
            f"interventions: there is no intervention {one_line(use.name, 80)!r}",
            hint=f"there are {', '.join(INTERVENTIONS)}",
            code="unknown_intervention",
        )
    try:
        options = kind.options.model_validate(use.options)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        where = ".".join(map(str, detail["loc"]))
        raise InputError(
            f"interventions: options of {use.name!r}: {where}: {detail['msg']}, found"
            f" {one_line(repr(detail['input']), 60)}",
            hint=f"its options: {', '.join(kind.options.model_fields) or 'none'}",
            code="unknown_option" if detail["type"] == "extra_forbidden" else "bad_option",
        ) from None
    return kind.make(options, setting)
