"""Two tools that say what they are given, under interventions, and a word of how often they really ran."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from toolablate.tools import Tool, ToolResult, Toolset, open_interventions, tool
from toolablate.tools.interventions import InterventionSetting
from toolablate.traces.records import InterventionUse, ToolRequest


@tool
def echo(text: str) -> str:
    """Says it again."""
    return text


@tool
def crash(text: str) -> str:
    """Says it as an error."""
    raise ValueError(text)


@dataclass
class Echoing:
    """The tools of one trial, `echo` and `crash`, with each result that they gave themselves in `given`."""

    uses: Sequence[InterventionUse]
    seed: str = ""
    given: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        tools: list[Tool] = [_Kept(each.open(each.options()), self.given) for each in (echo, crash)]
        setting = InterventionSetting(seed=self.seed, tools=("echo", "crash"))
        self.toolset = Toolset(tools, open_interventions(self.uses, setting))

    async def __call__(self, text: str, name: str = "echo") -> ToolResult:
        return await self.toolset.call(ToolRequest(id="1", name=name, arguments=json.dumps({"text": text})))


class _Kept:
    def __init__(self, tool: Tool, given: list[str]) -> None:
        self.spec, self.template, self.refusal, self.close = tool.spec, tool.template, tool.refusal, tool.close
        self._tool, self._given = tool, given

    async def call(self, arguments: Any) -> ToolResult:
        result = await self._tool.call(arguments)
        self._given.append(result.output)
        return result


def use(name: str, **options: Any) -> InterventionUse:
    return InterventionUse(name=name, options=options)


def details(result: ToolResult) -> list[tuple[str, str]]:
    return [(change.intervention, change.detail) for change in result.changes]
