"""What a replay has to give again, and what it cannot."""

from datetime import timedelta
from typing import Any

import pytest
from tests.traces.samples import ENVIRONMENT, WHEN, conversation, trials

from toolablate.traces.records import (
    Answer,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    ToolCall,
    ToolRequest,
    Trace,
    Usage,
)
from toolablate.traces.records.difference import NOTHING, first_difference
from toolablate.traces.store.digests import replay_digest

FIRST, SECOND = (ToolRequest(id=f"call_{name}", name="python", arguments="{}") for name in "ab")


def failure(code: str, *, retried: bool, at: float = 1.0) -> Failure:
    return Failure(at=at, boundary="model", code=code, message="planned", retried=retried)


def parallel() -> list[Event]:
    """Two calls in one reply, which end in another order than they began."""
    message = Message(role="assistant", tool_calls=(FIRST, SECOND))
    reply = ModelReply(message=message, finish_reason="tool_calls", usage=Usage(output_tokens=4))
    request = ModelRequest(messages=(Message(role="user", content="Why?"),))
    return [
        ModelCall(at=0.1, seconds=0.2, request=request, reply=reply),
        ToolCall(at=0.4, seconds=0.1, call=SECOND, output="2"),
        ToolCall(at=0.4, seconds=0.3, call=FIRST, output="1"),
        Answer(at=1.0, text="Answer: A"),
    ]


def trace(events: list[Event], **changes: Any) -> Trace:
    facts = {
        "trial": trials()[0],
        "outcome": "answered",
        "started_at": WHEN,
        "seconds": 12.5,
        "environment": ENVIRONMENT,
    }
    return Trace.model_validate({**facts, **changes, "events": tuple(events)})


@pytest.mark.parametrize(
    "changes",
    [
        {"started_at": WHEN + timedelta(days=1)},
        {"seconds": 0.5},
        {"attempt": 3},
        {"environment": {"sandbox": "none"}},
        {"usage": {"input_tokens": 1}},
    ],
)
def test_clocks_software_and_attempts_are_left_out(changes: dict[str, Any]) -> None:
    assert replay_digest(trace(conversation(), **changes)) == replay_digest(trace(conversation()))


def test_readings_of_a_clock_in_events_are_left_out() -> None:
    later = [event.model_copy(update={"at": event.at + 5, "seconds": 0.25}) for event in conversation()]
    assert replay_digest(trace(later)) == replay_digest(trace(conversation()))


def test_failures_that_were_retried_are_left_out_and_others_are_not() -> None:
    assert replay_digest(trace([failure("timeout", retried=True), *conversation()])) == replay_digest(
        trace(conversation())
    )
    ends = {replay_digest(trace([failure(code, retried=False)], outcome="failed")) for code in ("a", "b")}
    assert len(ends) == 2


def test_calls_of_one_reply_may_end_in_any_order() -> None:
    events = parallel()
    assert replay_digest(trace(events)) == replay_digest(trace([events[0], events[2], events[1], events[3]]))


@pytest.mark.parametrize(
    ("place", "changes"),
    [
        (0, {"cost_usd": 1.0}),
        (0, {"purpose": "final"}),
        (1, {"output": "3"}),
        (1, {"status": "error"}),
        (3, {"text": "Answer: B"}),
        (3, {"limit": "seconds"}),
    ],
)
def test_all_else_counts(place: int, changes: dict[str, Any]) -> None:
    events = parallel()
    events[place] = events[place].model_copy(update=changes)
    assert replay_digest(trace(events)) != replay_digest(trace(parallel()))


def test_trial_and_outcome_count() -> None:
    usual = replay_digest(trace(conversation()))
    assert replay_digest(trace(conversation(), outcome="budget")) != usual
    assert replay_digest(trace(conversation(), trial=trials()[1])) != usual


@pytest.mark.parametrize(
    ("left", "right", "path", "values"),
    [
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, "a[1].b", ("x", "y")),
        ({"a": 1}, {"a": 1, "b": 2}, "b", (NOTHING, 2)),
        ([1, 2], [1], "[1]", (2, NOTHING)),
        ({"a": 1}, {"a": True}, "a", (1, True)),
        ({"a": None}, {}, "a", (None, NOTHING)),
        ({"a": []}, {"a": {}}, "a", ([], {})),
    ],
)
def test_the_first_difference_is_found(left: Any, right: Any, path: str, values: tuple[Any, Any]) -> None:
    found = first_difference(left, right)
    assert found is not None
    assert (found.path, (found.left, found.right)) == (path, values)
    assert first_difference(left, left) is None


def test_of_long_texts_the_part_is_shown_where_they_part() -> None:
    found = first_difference("x" * 5_000 + "left" + "y" * 5_000, "x" * 5_000 + "right" + "y" * 5_000)
    assert found is not None
    left, right = found.shown()
    assert left.startswith(f'"…{"x" * 20}left')
    assert right.startswith(f'"…{"x" * 20}right')
    assert len(left) < 100
