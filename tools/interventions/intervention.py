"""What an intervention is: it stands between a model's call and the tool, and says what the model is shown."""

import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue

from toolablate.tools.likeness import Likeness
from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Question

if TYPE_CHECKING:
    from toolablate.tools.donors import TrialDonors


@dataclass(frozen=True, slots=True)
class Setting:
    """What an intervention may know of its trial. `outside` names the tools whose text comes from the web or from
    another program, in the order of the condition; `seed` tells trials apart. `tools` names all tools, None where they
    are not open yet; `donors` gives results under other questions."""

    outside: tuple[str, ...] = ()
    question: Question | None = None
    seed: str = ""
    tools: tuple[str, ...] | None = None
    donors: "TrialDonors | None" = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call that fits its tool. `number` counts the trial's calls from 1 in the order in which they are made,
    `of_tool` those of this tool; a call that is tried again keeps its numbers. `chance` is for draws, and is each
    intervention's own: the same in a replay and when a call is tried again, another in every other trial and call."""

    tool: str
    arguments: Mapping[str, JsonValue]
    number: int
    of_tool: int
    likeness: Likeness
    chance: random.Random = field(default_factory=lambda: random.Random(0), compare=False)  # noqa: S311 - no secret


Proceed = Callable[[], Awaitable[ToolResult]]
"""Goes on with a call: to the intervention before, or to the tool itself."""


class Intervention(Protocol):
    """One trial's own, so it may count calls. What it does depends on its options, its trial and the calls alone, never
    on time, nor on any chance but that of the call: a replay makes the same changes."""

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        """The result that the model is to be shown. May call `proceed`, once or not at all, may wait, and may raise
        ToolError as a tool may. Calls that do not fit never come here."""
        ...


class Options(BaseModel):
    """Options of an intervention, as a plan writes them: strict types, no unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True, slots=True)
class InterventionKind(Generic[OptionsT]):
    """What a plan can name: the options it takes, and how one is made for a trial. One that is for text from outside
    is applied, unless its options name others, to the calls of `Setting.outside` alone."""

    options: type[OptionsT]
    make: Callable[[OptionsT, Setting], Intervention]
    for_outside: bool = False
