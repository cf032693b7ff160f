"""A miss names the nearest recorded request, and the first place where the two differ."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agents.replies.samples import MODEL, kept, request

from toolablate.agents.replies import ResponseCache
from toolablate.agents.replies.recorded import asked
from toolablate.traces.records import Message, ModelRequest, OpenAIModel, Sampling, ToolRequest

LONG = "The passage says that the mill was built in 1743 by the monks. " * 40
CALL = Message(role="assistant", tool_calls=(ToolRequest(id="c1", name="python", arguments='{"code": "1"}'),))
RESULT = Message(role="tool", content="1", tool_call_id="c1")


@pytest.fixture
async def cache(tmp_path: Path) -> AsyncIterator[ResponseCache]:
    async with ResponseCache(tmp_path / "replies.sqlite", write=True) as opened:
        for number in range(20):
            first = f"Question {number}: {LONG}"
            await opened.keep(asked(MODEL, request(first), 0), kept("call"))
            await opened.keep(asked(MODEL, request(first, CALL, RESULT), 0), kept("answer"))
        yield opened


def miss(cache: ResponseCache, wanted: ModelRequest, model: OpenAIModel = MODEL, repeat: int = 0) -> str:
    """The miss, as `path: recorded ..., asked ...`."""
    error = cache.not_recorded(asked(model, wanted, repeat))
    assert error.code == "not_recorded"
    assert not error.retryable
    assert 'replies.mode = "record"' in error.hint
    found = re.fullmatch(
        r"replies\.sqlite holds no reply to this request; the nearest one differs in (.*)", error.message
    )
    assert found
    return found[1]


def changed(record: Any, **changes: Any) -> Any:
    return record.model_copy(update=changes)


def test_a_word_that_was_changed_in_a_long_question(cache: ResponseCache) -> None:
    words = f"Question 7: {LONG}".replace("1743 by the monks. The", "1744 by the monks. The", 1)
    place = 'messages[1].content: recorded "…ill was built in 1743 by the monks.'
    assert miss(cache, request(words)).startswith(place)


def test_the_first_message_that_differs_in_a_longer_conversation(cache: ResponseCache) -> None:
    told = miss(cache, request(f"Question 3: {LONG}", CALL, changed(RESULT, content="2")))
    assert told == 'messages[3].content: recorded "1", asked "2"'


def test_a_call_that_differs_inside(cache: ResponseCache) -> None:
    call = changed(CALL, tool_calls=(changed(CALL.tool_calls[0], arguments='{"code": "2"}'),))
    told = miss(cache, request(f"Question 3: {LONG}", call, RESULT))
    assert told == (
        'messages[2].tool_calls[0].arguments: recorded "{\\"code\\": \\"1\\"}", asked "{\\"code\\": \\"2\\"}"'
    )


def test_a_conversation_that_goes_on(cache: ResponseCache) -> None:
    more = Message(role="user", content="Go on.")
    told = miss(cache, request(f"Question 3: {LONG}", CALL, RESULT, more))
    assert told == 'messages[4]: recorded nothing, asked {"content": "Go on.", "role": "user"}'


def test_other_tools(cache: ResponseCache) -> None:
    told = miss(cache, request(f"Question 3: {LONG}", tools=()))
    assert told.startswith('tools[0]: recorded {"description": "Runs Python."')
    assert told.endswith("asked nothing")


def test_other_parameters(cache: ResponseCache) -> None:
    assert miss(cache, request(f"Question 3: {LONG}", tool_choice="none")) == (
        'tool_choice: recorded "auto", asked "none"'
    )
    warmer = changed(MODEL, sampling=Sampling(temperature=0.5))
    assert miss(cache, request(f"Question 3: {LONG}"), warmer) == ("sampling.temperature: recorded nothing, asked 0.5")


def test_another_model(cache: ResponseCache) -> None:
    told = miss(cache, request(f"Question 3: {LONG}", CALL, RESULT), changed(MODEL, model="other-name"))
    assert told == 'model.name: recorded "wire-name", asked "other-name"'


async def test_the_same_model_goes_before_a_longer_common_beginning(cache: ResponseCache) -> None:
    other = changed(MODEL, model="other-name")
    await cache.keep(asked(other, ModelRequest(messages=(Message(role="user", content="Hello"),)), 0), kept("x"))
    told = miss(cache, request(f"Question 3: {LONG}"), other)
    assert told.startswith("messages[0].")


async def test_the_same_name_and_api_at_another_endpoint_go_before_a_longer_common_beginning(
    cache: ResponseCache,
) -> None:
    moved = changed(MODEL, endpoint="http://127.0.0.1:7/v1")
    for api, name in (("responses", MODEL.wire_name), ("chat", "other-name")):
        other = changed(MODEL, endpoint="http://127.0.0.1:8/v1", api=api, model=name)
        await cache.keep(asked(other, request("Why?", CALL, RESULT), 0), kept("x"))
    told = miss(cache, request("Why?", CALL, RESULT), moved)
    assert told == f'model.endpoint: recorded "{MODEL.endpoint}", asked "http://127.0.0.1:7/v1"'
    by_other_api = changed(moved, model="other-name", api="responses")
    assert "model.api: recorded" in miss(cache, request("Why?", CALL, RESULT), by_other_api)


def test_a_repeat_too_many(cache: ResponseCache) -> None:
    assert miss(cache, request(f"Question 3: {LONG}"), repeat=2) == "repeat: recorded 0, asked 2"


async def test_an_empty_cache(tmp_path: Path) -> None:
    async with ResponseCache(tmp_path / "replies.sqlite", write=True) as opened:
        error = opened.not_recorded(asked(MODEL, request("Why?"), 0))
    assert error.message == "replies.sqlite holds no reply to this request, nor to any other"
