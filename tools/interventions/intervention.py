"""What an intervention is: a change made to what a tool returned, before the model is shown it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict

from toolablate.tools.tool import ToolResult
from toolablate.traces.records import ToolRequest


@dataclass(frozen=True, slots=True)
class Setting:
    """What an intervention may know of its trial. `outside` names the tools whose text comes from the web or from
    another program, in the order of the condition."""

    outside: tuple[str, ...] = ()


class Intervention(Protocol):
    """One trial's own, so it may count calls. What it does depends on its options, its trial and the calls alone, never
    on time or chance: a replay makes the same changes."""

    async def apply(self, request: ToolRequest, result: ToolResult) -> ToolResult:
        """The result that takes the place of `result`. May wait, and may raise ToolError as a tool may."""
        ...


class Options(BaseModel):
    """Options of an intervention, as a plan writes them: strict types, no unknown names."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True, slots=True)
class InterventionKind(Generic[OptionsT]):
    """What a plan can name: the options it takes, and how one is made for a trial."""

    options: type[OptionsT]
    make: Callable[[OptionsT, Setting], Intervention]
