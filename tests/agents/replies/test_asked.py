"""Who asks the same gets the same reply, and nobody else does."""

from typing import Any

import pytest
from tests.agents.replies.samples import MODEL, PYTHON, request

from toolablate.agents.replies.recorded import asked
from toolablate.traces.records import (
    Capabilities,
    Message,
    ModelRequest,
    OpenAIModel,
    Price,
    Sampling,
    ToolRequest,
)

CALL = ToolRequest(id="call_1", name="python", arguments="{}")
SAID = Message(role="assistant", content="a", reasoning="b", reasoning_key="reasoning", items=({"type": "x"},))
ASKED = request("Why?", SAID)


def changed(record: Any, **changes: Any) -> Any:
    return type(record).model_validate({**record.model_dump(exclude_unset=True), **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"name": "another label"},
        {"endpoint": f"{MODEL.endpoint}/"},
        {"api_key_env": "MY_KEY"},
        {"price": Price(input=1, output=2)},
        {"timeout_seconds": 1.0},
        {"concurrency": 1},
        {"requests_per_minute": 1.0},
        {"capabilities": Capabilities(max_tokens_key="max_tokens")},
    ],
)
def test_what_changes_no_request_changes_no_key(changes: dict[str, Any]) -> None:
    assert asked(changed(MODEL, **changes), ASKED, 0).key == asked(MODEL, ASKED, 0).key


def test_without_a_name_of_its_own_the_label_is_what_is_asked_for() -> None:
    assert asked(OpenAIModel(name="wire-name", endpoint=MODEL.endpoint), ASKED, 0).key == asked(MODEL, ASKED, 0).key


@pytest.mark.parametrize(
    "changes",
    [
        {"endpoint": "http://127.0.0.1:8/v1"},
        {"api": "responses"},
        {"model": "other"},
        {"sampling": Sampling(temperature=0.0)},
        {"sampling": Sampling(extra={"top_k": 3})},
    ],
)
def test_another_model_or_other_parameters_are_another_key(changes: dict[str, Any]) -> None:
    assert asked(changed(MODEL, **changes), ASKED, 0).key != asked(MODEL, ASKED, 0).key


@pytest.mark.parametrize(
    "changes",
    [
        {"tools": ()},
        {"tools": (changed(PYTHON, description="Runs Python 3."),)},
        {"tool_choice": "none"},
        {"parallel_tool_calls": False},
    ],
)
def test_another_request_is_another_key(changes: dict[str, Any]) -> None:
    assert asked(MODEL, changed(ASKED, **changes), 0).key != asked(MODEL, ASKED, 0).key


@pytest.mark.parametrize(
    "changes",
    [
        {"content": "A"},
        {"reasoning": ""},
        {"reasoning_key": "reasoning_content"},
        {"items": ({"type": "y"},)},
        {"tool_calls": (CALL,)},
        {"tool_calls": (changed(CALL, id="call_2"),)},
    ],
)
def test_all_that_is_sent_of_a_message_counts(changes: dict[str, Any]) -> None:
    other = request("Why?", changed(SAID, **changes))
    assert asked(MODEL, other, 0).key != asked(MODEL, ASKED, 0).key


def test_a_repeat_asks_the_same_and_has_a_reply_of_its_own() -> None:
    first, second = asked(MODEL, ASKED, 0), asked(MODEL, ASKED, 1)
    assert first.key == second.key
    assert first.name != second.name


def test_two_messages_are_not_one_that_holds_both() -> None:
    both = asked(MODEL, request("a", "b"), 0)
    one = asked(MODEL, request('a"},{"content":"b'), 0)
    assert both.key != one.key


def test_a_lone_surrogate_can_be_asked() -> None:
    spoiled = asked(MODEL, ModelRequest(messages=(Message(role="user", content="\ud800"),)), 0)
    assert spoiled.messages[0].text == '{"content":"\ufffd","role":"user"}'
