"""What an endpoint is declared not to take is refused before it is asked."""

from typing import Any

import pytest

from toolablate.agents import connect, require_capabilities
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, OpenAIModel, ScriptedModel, ToolUse

HERE = "http://127.0.0.1:1/v1"
TOOL = (ToolUse(name="python"),)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"sampling": {"seed": 0}, "capabilities": {"seed": False}}, "capabilities.seed"),
        ({"sampling": {"logprobs": True}, "capabilities": {"logprobs": False}}, "capabilities.logprobs"),
        ({"sampling": {"top_logprobs": 0}, "capabilities": {"logprobs": False}}, "capabilities.logprobs"),
        ({"sampling": {"seed": 1}, "api": "responses"}, "sampling.seed"),
        ({"sampling": {"extra": {"stream": True}}}, "sampling.extra.stream"),
        ({"sampling": {"extra": {"previous_response_id": "r"}}}, "sampling.extra.previous_response_id"),
    ],
)
def test_a_model_that_asks_for_too_much(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(InputError, match=named) as caught:
        connect(OpenAIModel(name="mine", endpoint=HERE, **fields))
    assert "'mine'" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("capability", "wanted"),
    [
        ("tools", {"tools": TOOL}),
        ("tool_choice_required", {"tools": TOOL, "tool_choice": "required"}),
        ("tool_choice_required", {"tools": TOOL, "tool_choice": "python"}),
        ("parallel_tool_calls", {"tools": TOOL, "parallel_tool_calls": True}),
        ("parallel_tool_calls", {"tools": TOOL, "parallel_tool_calls": False}),
    ],
)
def test_a_condition_that_asks_for_too_much(capability: str, wanted: dict[str, Any]) -> None:
    condition = Condition(name="arm", **wanted)
    for said in (True, None):
        require_capabilities(OpenAIModel(name="mine", endpoint=HERE, capabilities={capability: said}), condition)
    with pytest.raises(InputError, match=rf"'mine'.*'arm'.*capabilities\.{capability} is false"):
        require_capabilities(OpenAIModel(name="mine", endpoint=HERE, capabilities={capability: False}), condition)


def test_what_is_not_wanted_need_not_be_there() -> None:
    can = {"tools": False, "tool_choice_required": False, "parallel_tool_calls": False, "seed": False}
    model = OpenAIModel(name="mine", endpoint=HERE, capabilities=can)
    require_capabilities(model, Condition(name="plain", tool_choice="required", parallel_tool_calls=True))
    require_capabilities(ScriptedModel(name="s", script="x"), Condition(name="arm", tools=TOOL))
