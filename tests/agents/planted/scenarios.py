"""A question, a scenario of it, and requests at any point of a conversation about it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolablate.agents.simulated.planted.scenario import Scenario
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    Message,
    ModelRequest,
    Question,
    SimulatedModel,
    ToolRequest,
    ToolSpec,
)

VALVE = Question(
    id="valve",
    prompt="Which valve is to be shut first?",
    choices=("the inlet", "the outlet", "the bypass", "none of them"),
    target=ChoiceTarget(letters=("B",)),
)


def spec(name: str, argument: str) -> ToolSpec:
    schema: dict[str, Any] = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return ToolSpec(name=name, description="", parameters=schema)


SEARCH, OPEN, PYTHON = spec("web_search", "query"), spec("open_page", "url"), spec("python", "code")


def scenario_of(**fields: Any) -> Scenario:
    given: dict[str, Any] = {"question": "valve", "prior": {"A": 0.0, "B": 2.0, "C": 0.0, "D": 0.0}}
    return Scenario.model_validate(given | fields)


def call(kind: str, text: str) -> dict[str, str]:
    return {"kind": kind, "text": text}


def asked(*messages: Message, tools: Sequence[ToolSpec] = (), prompt: str = "", **more: Any) -> ModelRequest:
    system = (Message(role="system", content=prompt),) if prompt else ()
    opening = (*system, Message(role="user", content=VALVE.prompt))
    return ModelRequest(messages=(*opening, *messages), tools=tuple(tools), **more)


def called(tool: ToolSpec, text: str, result: str, number: int = 0) -> tuple[Message, Message]:
    """A call and its result."""
    (argument,) = tool.parameters["required"]
    request = ToolRequest(id=f"call_{number}_0", name=tool.name, arguments=json.dumps({argument: text}))
    return (
        Message(role="assistant", tool_calls=(request,)),
        Message(role="tool", content=result, tool_call_id=request.id),
    )


def write_scenarios(path: Path, *scenarios: dict[str, Any]) -> SimulatedModel:
    path.write_text("".join(json.dumps(scenario) + "\n" for scenario in scenarios), encoding="utf-8")
    return SimulatedModel(name="sim", scenarios=str(path))


def arm(name: str = "none", **more: Any) -> Condition:
    return Condition(name=name, **more)
