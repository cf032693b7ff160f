"""Which calls an intervention is for: those of some tools, and of these the first, the second and so on."""

from collections.abc import Container
from typing import Annotated

from pydantic import Field

from toolablate.tools.interventions.intervention import Call, Options


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


class Scope:
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
