"""An endpoint or a tool that fails is recorded as that, retried where it may help, and never becomes an answer."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.agents.conftest import LocalTools, Play, condition, double
from tests.servers.chat_server import (
    ChatServer,
    Drop,
    Hang,
    Json,
    Raw,
    Slow,
    Status,
    Step,
    closed_port,
    reply,
)

from toolablate.agents import RetryPolicy, connect
from toolablate.agents.endpoint.transport import MAX_BODY_BYTES
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import InputError, SandboxError, ToolError
from toolablate.traces.records import OpenAIModel

HTML = Raw(b"<html><body>Bad gateway</body></html>", "text/html")
TOO_LONG = {"message": "This model's maximum context length is 8192 tokens.", "type": "invalid_request_error"}

RETRYABLE: dict[str, tuple[Step, str]] = {
    "429": (Status(429, headers={"retry-after-ms": "1"}), "rate_limited"),
    "500": (Status(500), "server_error"),
    "503 web page": (Status(503, body="<html>over capacity</html>"), "overloaded"),
    "529": (Status(529), "overloaded"),
    "408": (Status(408), "timeout"),
    "413 of a rate": (Status(413, {"message": "too large: 6000 tokens per minute (TPM)"}), "rate_limited"),
    "400 of a rate": (Status(400, {"message": "context length", "code": "rate_limit_exceeded"}), "rate_limited"),
    "html": (HTML, "bad_reply"),
    "truncated json": (Raw(b'{"id": "x", "choices": [{"mess'), "bad_reply"),
    "nothing": (Raw(b""), "bad_reply"),
    "not utf-8": (Raw(b"\xff\xfe\x00"), "bad_reply"),
    "nested too deep": (Raw(b"[" * 200_000), "bad_reply"),
    "a list": (Json([]), "bad_reply"),
    "no choices": (Json({"id": "x", "choices": []}), "bad_reply"),
    "null choice": (Json({"choices": [None]}), "bad_reply"),
    "choice without message": (Json({"choices": [{"finish_reason": "stop"}]}), "bad_reply"),
    "a call that is none": (reply("", tool_calls=[None]), "bad_reply"),
    "calls that are no list": (reply("Answer: B", tool_calls={"0": {}}), "bad_reply"),
    "calls that are lost": (reply("Answer: B", finish_reason="tool_calls"), "bad_reply"),
    "overload in 200": (Json({"error": {"message": "no room", "code": 503}}), "overloaded"),
    "error in 200": (Json({"error": {"message": "upstream is overloaded", "code": 502}}), "server_error"),
    "rate limit in 200": (Json({"error": {"message": "slow down", "code": "429"}}), "rate_limited"),
    "empty": (reply(""), "empty_reply"),
    "null": (reply(None), "empty_reply"),
    "blank": (reply(" \n"), "empty_reply"),
    "only reasoning": (reply(None, reasoning="hmm"), "empty_reply"),
    "broken off": (Drop(), "disconnected"),
}

FATAL: dict[str, tuple[Step, str]] = {
    "401": (Status(401), "unauthorized"),
    "403": (Status(403, {"message": "moderation"}), "forbidden"),
    "402": (Status(402), "insufficient_quota"),
    "quota": (Status(429, {"message": "pay", "code": "insufficient_quota"}), "insufficient_quota"),
    "404": (Status(404), "not_found"),
    "400": (Status(400), "bad_request"),
    "422": (Status(422, body="no JSON at all"), "bad_request"),
    "context by code": (Status(400, {"message": "no", "code": "context_length_exceeded"}), "context_length"),
    "context by words": (Status(400, TOO_LONG), "context_length"),
    "413": (Status(413, body="<html>Request Entity Too Large</html>"), "request_too_large"),
    "413 of tokens": (Status(413, {"message": "the prompt has 9000 tokens"}), "context_length"),
    "moved": (Status(307, headers={"location": "/v2"}), "redirected"),
    "filtered": (reply("half a", finish_reason="content_filter"), "content_filter"),
    "filtered prompt": (Status(400, {"message": "no", "code": "content_filter"}), "content_filter"),
}


@pytest.mark.parametrize("case", RETRYABLE)
async def test_what_may_pass_is_tried_again(chat_server: ChatServer, play: Play, case: str) -> None:
    step, code = RETRYABLE[case]
    chat_server.plays(step, reply("Answer: A"))
    played = await play()
    assert played.kinds == ["failure", "model_call", "answer"]
    failure = played.events[0]
    assert (failure.boundary, failure.code, failure.attempt, failure.retried) == ("model", code, 1, True)
    assert played.result.outcome == "answered"


@pytest.mark.parametrize("case", FATAL)
async def test_what_will_not_pass_ends_the_trial(chat_server: ChatServer, play: Play, case: str) -> None:
    step, code = FATAL[case]
    chat_server.plays(step)
    played = await play()
    assert played.kinds == ["failure"]
    failure = played.events[0]
    assert (failure.boundary, failure.code, failure.retried) == ("model", code, False)
    assert played.result.outcome == "failed"
    assert len(chat_server.requests) == 1


async def test_attempts_run_out(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(*[Status(500)] * 4)
    played = await play()
    assert [(event.attempt, event.retried) for event in played.events] == [(1, True), (2, True), (3, True), (4, False)]
    assert played.result.outcome == "failed"
    assert len(chat_server.requests) == 4


async def test_a_closed_port(play: Play) -> None:
    endpoint = f"http://127.0.0.1:{closed_port()}/v1"
    played = await play(model={"endpoint": endpoint})
    assert {event.code for event in played.events} == {"unreachable"}
    assert endpoint in played.events[0].message
    assert played.result.outcome == "failed"


@pytest.mark.parametrize("hang", [Hang(), Hang(after_headers=True), Slow(60, reply("late"))])
async def test_an_endpoint_that_hangs(chat_server: ChatServer, play: Play, hang: Step) -> None:
    chat_server.plays(hang, reply("Answer: A"))
    played = await play(model={"timeout_seconds": 0.2})
    assert played.kinds == ["failure", "model_call", "answer"]
    assert (played.events[0].code, played.events[0].retried) == ("timeout", True)


async def test_an_endpoint_that_is_only_slow(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(Slow(0.2, reply("Answer: A")))
    played = await play()
    assert played.kinds == ["model_call", "answer"]
    assert played.events[0].seconds >= 0.2


async def test_a_body_without_end_is_given_up(
    chat_server: ChatServer, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MAX_BODY_BYTES < 100_000_000
    monkeypatch.setattr("toolablate.agents.endpoint.transport.MAX_BODY_BYTES", 10_000)
    chat_server.plays(reply("x" * 20_000))
    played = await play()
    assert (played.kinds, played.events[0].code) == (["failure"], "bad_reply")


async def test_a_failure_in_the_middle_costs_nothing_that_was_done(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(reply("", ("double", {"x": 1})), Status(500), reply("2"))
    played = await play(LocalTools(double=double), condition(turns=2))
    assert played.kinds == ["model_call", "tool_call", "failure", "model_call", "answer"]
    assert chat_server.requests[1] == chat_server.requests[2]
    assert played.result.outcome == "answered"


@pytest.mark.parametrize("error", [ToolError("no search today", code="down"), SandboxError("no kernel", code="down")])
async def test_a_tool_whose_infrastructure_fails(
    chat_server: ChatServer, play: Play, error: ToolError | SandboxError
) -> None:
    error.retryable = True
    outcomes = [error, None]

    async def shaky() -> ToolResult:
        outcome = outcomes.pop(0)
        if outcome:
            raise outcome
        return ToolResult("fine")

    chat_server.plays(reply("", ("shaky", {})), reply("done"))
    played = await play(LocalTools(shaky=shaky))
    assert played.kinds == ["model_call", "failure", "tool_call", "model_call", "answer"]
    assert (played.events[1].boundary, played.events[1].retried) == (error.boundary, True)
    assert chat_server.messages[-1]["content"] == "fine"


@pytest.mark.parametrize(("retryable", "failures"), [(True, 3), (False, 1)])
async def test_a_tool_that_stays_down_fails_the_trial_and_the_model_never_hears(
    chat_server: ChatServer, play: Play, retryable: bool, failures: int
) -> None:
    async def down() -> ToolResult:
        raise SandboxError("no kernel could be started", retryable=retryable)

    chat_server.plays(reply("", ("down", {}), ("double", {"x": 3})))
    played = await play(LocalTools(down=down, double=double))
    assert played.result.outcome == "failed"
    assert len(played.of("failure")) == failures
    assert [event.output for event in played.of("tool_call")] == ["6"]
    assert len(chat_server.requests) == 1


@pytest.mark.parametrize(
    "endpoint",
    [
        "nonsense",
        "ftp://127.0.0.1/v1",
        "http://",
        "http://127.0.0.1:99999/v1",
        "http://[::1",
        "127.0.0.1:80",
        "http://a b/",
        "http://a\tb/",
        "http://a\n/",
    ],
)
def test_an_address_that_is_none(endpoint: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(endpoint))) as caught:
        connect(OpenAIModel(name="m", endpoint=endpoint))
    assert caught.value.code == "bad_endpoint"


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": format_datetime(datetime(2030, 1, 1, 0, 0, 40, tzinfo=UTC), usegmt=True)}, 40.0),
        ({"retry-after": format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)}, 0.0),
        ({"retry-after": "Tue, 01 Jan 2030 00:00:40"}, 40.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 +99999999999999999999"}, None),
        ({"retry-after": "Mon, 01 Jan 0001 00:00:00 +2359"}, 0.0),
        ({"retry-after": "9" * 5_000}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read(headers: dict[str, str], expected: float | None) -> None:
    from toolablate.agents.endpoint.refusals import refused

    error = refused(429, headers, None, key_variable="K", now=datetime(2030, 1, 1, tzinfo=UTC))
    assert error.retry_after == expected


async def test_retry_after_is_waited_for(chat_server: ChatServer, play: Play) -> None:
    chat_server.plays(Status(429, headers={"retry-after": "0.3"}), reply("Answer: A"))
    played = await play()
    assert played.events[1].at >= 0.3


def test_waits_grow_are_bounded_and_repeat_with_the_seed() -> None:
    import random

    from toolablate.traces.errors import ModelError

    policy = RetryPolicy(base_seconds=1, cap_seconds=8, retry_after_cap_seconds=20)
    plain = ModelError("x", retryable=True)
    waits = [policy.delay(attempt, plain, random.Random(1)) for attempt in range(1, 2000, 400)]
    assert waits == [policy.delay(attempt, plain, random.Random(1)) for attempt in range(1, 2000, 400)]
    assert all(0.5 <= wait <= 8 for wait in waits)
    assert policy.delay(3, plain, random.Random(1)) > policy.delay(1, plain, random.Random(1))
    patient = ModelError("x", retryable=True, retry_after=timedelta(days=1).total_seconds())
    assert 20 <= policy.delay(1, patient, random.Random(1)) <= 21
