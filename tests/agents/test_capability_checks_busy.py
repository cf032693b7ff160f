"""Capability checks of endpoints that are busy, break down or answer something else: asked again, within what was announced."""

import pytest
from tests.agents.personalities import Chat, unsupported
from tests.servers.chat_server import ChatServer, Drop, Hang, Raw, Status, Step, reply

from toolablate.agents.capability_checks import MOST_REPEATS, MOST_REQUESTS, check_capabilities
from toolablate.traces.records import Capabilities, OpenAIModel, Sampling

OPENAI_LIKE = Chat(refuses=("max_tokens",), limits=("max_completion_tokens",))
INSISTING = Chat(thoughts={"reasoning_content": "hm"}, insists=True)
AT_ONCE = {"retry-after-ms": "1"}


@pytest.mark.parametrize(
    "step", [Status(503, headers=AT_ONCE), Status(529, headers=AT_ONCE), Status(500, headers=AT_ONCE)]
)
async def test_an_endpoint_that_was_busy_is_asked_again(chat_server: ChatServer, step: Step) -> None:
    chat_server.plays(step).answers(OPENAI_LIKE)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))
    assert (found.state("reachable"), found.capabilities.tools) == ("yes", True)
    chat_server.answers(lambda body: step)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))
    assert (found.state("reachable"), found.state("chat"), found.requests) == ("yes", "unknown", 2)


async def test_what_is_announced_is_the_most(chat_server: ChatServer) -> None:
    """All requests that a capability check has, at an endpoint that refuses the plan's parameters and is busy time and again."""
    model = OpenAIModel(name="m", endpoint=chat_server.url, sampling=Sampling(temperature=0.5))
    busy = Status(503, headers=AT_ONCE)
    chat_server.plays(*[busy] * MOST_REPEATS)
    chat_server.answers(lambda body: unsupported("temperature") if "temperature" in body else INSISTING(body))
    found = await check_capabilities(model, attempts=9)
    assert found.requests == len(chat_server.requests) == MOST_REQUESTS
    assert found.state("reasoning_left_out") == "no"


async def test_an_endpoint_that_is_busy_time_and_again_is_not_asked_for_ever(chat_server: ChatServer) -> None:
    chat_server.answers(lambda body: Status(503, headers=AT_ONCE) if "tools" in body else INSISTING(body))
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url), attempts=9)
    assert found.requests == len(chat_server.requests) <= MOST_REQUESTS
    assert found.state("tools") == "unknown"


async def test_a_reply_that_was_broken_off_is_counted(chat_server: ChatServer) -> None:
    broken = reply("rea", finish_reason="error", usage={"prompt_tokens": 1_000_000, "completion_tokens": 1})
    chat_server.plays(broken).answers(OPENAI_LIKE)
    found = await check_capabilities(OpenAIModel(name="m", endpoint=chat_server.url))
    assert found.usage.input_tokens is not None
    assert found.usage.input_tokens > 1_000_000
    assert found.capabilities.tools is True


@pytest.mark.parametrize("attempts", [0, -1])
async def test_no_attempt_at_all_is_no_check(attempts: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        await check_capabilities(OpenAIModel(name="m", endpoint="http://127.0.0.1:1/v1"), attempts=attempts)


@pytest.mark.parametrize(
    ("step", "there"),
    [
        (Raw(b"<html>"), "yes"),
        (Raw(b""), "yes"),
        (Status(307, headers={"location": "/v2"}), "yes"),
        (Status(413), "yes"),
        (reply("", finish_reason="tool_calls"), "yes"),
        (Drop(), "no"),
        (Hang(), "unknown"),
    ],
)
async def test_what_answers_is_reachable(chat_server: ChatServer, step: Step, there: str) -> None:
    chat_server.answers(lambda body: step)
    seconds = 0.3 if isinstance(step, Hang) else 30.0
    found = await check_capabilities(
        OpenAIModel(name="m", endpoint=chat_server.url, timeout_seconds=seconds), attempts=1
    )
    assert found.state("reachable") == there
    assert found.state("chat") == "unknown"
    assert found.capabilities == Capabilities()
