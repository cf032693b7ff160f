"""What an intervention is, which calls it is for, and how it says what it changed."""

import random
from collections.abc import Awaitable, Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from toolablate.tools.tool import ResultTemplate, ToolResult
from toolablate.traces.records import Change, Question

if TYPE_CHECKING:
    from toolablate.tools.placebo_sources import TrialPlaceboSources


@dataclass(frozen=True, slots=True)
class InterventionSetting:
    """What an intervention may know of its trial. `outside` names the tools whose text comes from the web or from
    another program, in the order of the condition; `seed` tells trials apart. `tools` names all tools, None where they
    are not open yet; `placebo_sources` gives results under other questions."""

    outside: tuple[str, ...] = ()
    question: Question | None = None
    seed: str = ""
    tools: tuple[str, ...] | None = None
    placebo_sources: "TrialPlaceboSources | None" = None


@dataclass(frozen=True, slots=True)
class Call:
    """One call that fits its tool. `number` counts the trial's calls from 1 in the order in which they are made,
    `of_tool` those of this tool; a call that is tried again keeps its numbers. `chance` is for draws, and is each
    intervention's own: the same in a replay and when a call is tried again, another in every other trial and call."""

    tool: str
    arguments: Mapping[str, JsonValue]
    number: int
    of_tool: int
    template: ResultTemplate
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
    make: Callable[[OptionsT, InterventionSetting], Intervention]
    for_outside: bool = False


# Which calls an intervention is for: those of some tools, and of these the first, the second and so on.


class OfTools(Options):
    """`tools` names the tools whose calls it is for; by default all of the condition."""

    tools: list[str] | None = Field(default=None, min_length=1)

    def chosen_calls(self) -> Container[int] | None:
        """Which calls of these tools, counted from 1 over all of them; None for every one."""
        return None


class OfCalls(OfTools):
    """`calls` says which calls of these tools, counted from 1 over all of them: [1] is the first only."""

    calls: list[Annotated[int, Field(gt=0)]] | None = Field(default=None, min_length=1)

    def chosen_calls(self) -> Container[int] | None:
        return self.calls


class CallScope:
    """The calls of one trial that an intervention is for. It is asked of every call, in the order in which they are
    made, so that its count depends neither on how long a call takes nor on what other interventions do with it."""

    def __init__(self, tools: Container[str] | None = None, calls: Container[int] | None = None) -> None:
        self._tools = tools
        self._calls = calls
        self._counted: dict[int, int] = {}

    def holds(self, call: Call) -> bool:
        """Whether the intervention is for this call; a call that is tried again is not counted again."""
        if self._tools is not None and call.tool not in self._tools:
            return False
        count = self._counted.setdefault(call.number, len(self._counted) + 1)
        return self._calls is None or count in self._calls


# What interventions share: saying what was changed.


def changed(result: ToolResult, intervention: str, detail: str) -> ToolResult:
    """The result with what an intervention did to it."""
    return replace(result, changes=(*result.changes, Change(intervention=intervention, detail=detail)))
