"""A trial against a real HTTP endpoint, with tools that are plain functions."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.servers.chat_server import ChatServer

from toolablate.agents import AgentResult, ChatModel, RetryPolicy, connect, run_agent
from toolablate.tools.tool import ToolResult
from toolablate.traces.records import (
    Budget,
    ChoiceTarget,
    Condition,
    Event,
    OpenAIModel,
    Question,
    ToolRequest,
    ToolSpec,
)

QUESTION = Question(id="q1", prompt="Which one?", choices=("yes", "no"), target=ChoiceTarget(letters=("A",)))
QUICK = RetryPolicy(base_seconds=0.001, cap_seconds=0.002)


class LocalTools:
    """Functions as tools, with the manners of a real toolset: what does not fit is answered as `invalid`."""

    def __init__(self, **functions: Callable[..., Awaitable[ToolResult]]) -> None:
        self._functions = functions

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(
            ToolSpec(name=name, description=name, parameters={"type": "object", "properties": {}})
            for name in self._functions
        )

    async def call(self, request: ToolRequest) -> ToolResult:
        if request.name not in self._functions:
            return ToolResult(f"There is no tool {request.name!r}.", status="invalid", error="unknown_tool")
        try:
            arguments = json.loads(request.arguments)
        except ValueError as error:
            return ToolResult(f"The arguments are not JSON: {error}", status="invalid", error="bad_json")
        return await self._functions[request.name](**arguments)


async def double(x: int) -> ToolResult:
    return ToolResult(str(2 * x))


@dataclass
class Played:
    """How a trial went."""

    result: AgentResult
    events: list[Event]
    kinds: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.kinds = [event.kind for event in self.events]

    def of(self, kind: str) -> list[Any]:
        return [event for event in self.events if event.kind == kind]

    @property
    def answer(self) -> Any:
        (answer,) = self.of("answer")
        assert self.events[-1] is answer
        return answer


def condition(prompt: str = "", tool_choice: Any = "auto", **budget: Any) -> Condition:
    return Condition(name="test", prompt=prompt, tool_choice=tool_choice, budget=Budget(**budget))


async def play_with(
    model: ChatModel, tools: Any = None, arm: Condition | None = None, retry: RetryPolicy = QUICK, **options: Any
) -> Played:
    events: list[Event] = []
    result = await run_agent(
        prompt=QUESTION.prompt,
        model=model,
        condition=arm or condition(),
        tools=tools or LocalTools(),
        record=events.append,
        retry=retry,
        **options,
    )
    return Played(result, events)


Play = Callable[..., Awaitable[Played]]


@pytest.fixture
def play(chat_server: ChatServer) -> Play:
    """Plays one trial against `chat_server`. `model` holds fields of the model's record."""

    async def play(tools: Any = None, arm: Condition | None = None, *, model: Any = None, **options: Any) -> Played:
        record = OpenAIModel(name="m", **{"endpoint": chat_server.url, **(model or {})})
        source = connect(record)
        try:
            arm = arm or condition()
            return await play_with(source.session(QUESTION, arm, 0), tools, arm, **options)
        finally:
            await source.close()

    return play
