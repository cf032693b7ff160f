"""Where a conversation stands before each of its events."""

import pytest

from toolablate.agents import Start, start_before
from toolablate.agents.plots import Shown
from toolablate.agents.resuming import FINAL_REQUEST
from toolablate.agents.session import NOT_EXECUTED
from toolablate.agents.spending import Spending, worked_seconds
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Answer,
    Budget,
    Condition,
    Event,
    Failure,
    Limit,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Price,
    ToolCall,
    ToolRequest,
    Usage,
)

CONDITION = Condition(name="python")
ASKED = Message(role="user", content="Why?")
ONE, TWO = (ToolRequest(id="same", name="python", arguments=f'{{"code": "{n}"}}') for n in (1, 2))
CALLING = Message(role="assistant", content="", tool_calls=(ONE, TWO))
SAID = Message(role="assistant", content="Answer: 3")


def model_call(messages: tuple[Message, ...], reply: Message, *, at: float = 0.0, final: bool = False) -> ModelCall:
    return ModelCall(
        at=at,
        seconds=1.0,
        purpose="final" if final else "ask",
        request=ModelRequest(messages=messages),
        reply=ModelReply(message=reply, finish_reason="stop", usage=Usage(input_tokens=10, output_tokens=5)),
    )


def result(call: ToolRequest, output: str, *, at: float = 1.0) -> ToolCall:
    return ToolCall(at=at, seconds=2.0, call=call, output=output)


def tool(content: str) -> Message:
    return Message(role="tool", content=content, tool_call_id="same")


# The second call ended before the first.
BOTH = (ASKED, CALLING, tool("one"), tool("two"))
WHOLE: tuple[Event, ...] = (
    model_call((ASKED,), CALLING),
    result(TWO, "two"),
    result(ONE, "one", at=1.5),
    Failure(at=3.5, seconds=4.0, boundary="model", code="timeout", message="", retried=True),
    model_call(BOTH, SAID, at=7.5),
    Answer(at=8.5, text="Answer: 3"),
)


def test_each_event_has_a_place() -> None:
    starts = [start_before(WHOLE, event, CONDITION) for event in range(len(WHOLE))]
    assert [start.node for start in starts] == ["ask", "act", "act", "ask", "ask", "end"]
    assert [start.results for start in starts[1:3]] == [{}, {1: Shown("two")}]
    assert starts[0].messages == (ASKED,)
    assert starts[2].messages == (ASKED, CALLING)
    assert starts[3].messages == starts[4].messages == BOTH
    assert starts[5].messages == (*BOTH, SAID)
    assert [len(start.before) for start in starts] == list(range(6))


@pytest.mark.parametrize("event", [-1, 6])
def test_an_event_that_is_not_there_is_refused(event: int) -> None:
    with pytest.raises(InputError, match="count from 0 to 5"):
        start_before(WHOLE, event, CONDITION)


def test_a_trial_whose_model_never_replied_cannot_be_taken_up() -> None:
    failure = Failure(at=0, boundary="model", code="timeout", message="", retried=False)
    with pytest.raises(InputError, match="never answered"):
        start_before((failure,), 0, CONDITION)


@pytest.mark.parametrize("limit", ["tool_calls", "seconds"])
def test_the_last_request_is_made_again_for_the_limit_that_led_to_it(limit: Limit) -> None:
    shown = (ASKED, CALLING, tool("one"), tool(NOT_EXECUTED))
    last = model_call((*shown, Message(role="user", content=FINAL_REQUEST)), SAID, final=True)
    events = (WHOLE[0], result(ONE, "one"), last, Answer(at=9, text="", limit=limit))
    start = start_before(events, 2, CONDITION)
    assert (start.node, start.limit, start.messages) == ("final", limit, shown)
    assert start_before(events, 1, CONDITION).node == "act"
    end = start_before(events, 3, CONDITION)
    assert (end.node, end.limit, end.messages[-1]) == ("end", limit, SAID)


def test_a_first_request_that_came_to_nothing_leaves_the_question_alone() -> None:
    asked = (ASKED, Message(role="user", content=FINAL_REQUEST))
    failure = Failure(at=0, boundary="model", code="timeout", message="", retried=False)
    events = (failure, model_call(asked, SAID, final=True), Answer(at=9, text="", limit="seconds"))
    assert start_before(events, 1, CONDITION) == Start((ASKED,), "final", limit="seconds", before=(failure,))


def test_reasoning_that_a_condition_drops_is_not_given_back() -> None:
    thinking = CALLING.model_copy(update={"reasoning": "Hm."})
    events = (model_call((ASKED,), thinking), *WHOLE[1:])
    kept = start_before(events, 1, CONDITION).messages[-1]
    dropped = start_before(events, 1, CONDITION.model_copy(update={"reasoning": "drop"})).messages[-1]
    assert (kept.reasoning, dropped.reasoning) == ("Hm.", "")


def test_what_came_before_is_charged_and_not_booked() -> None:
    budget = Budget(turns=3, tool_calls=5, tokens=31, cost_usd=1.0)
    spending = Spending(budget, Price(input=1.0, output=2.0))
    spending.charge_before(WHOLE)
    assert (spending.turns, spending.tool_calls) == (2, 2)
    assert (spending.usage, spending.cost_usd) == (Usage(), None)
    assert spending.reached_before_turn(0.0) is None
    spending.charge_before(WHOLE[:1])
    assert spending.reached(0.0) == "tokens"
    assert spending.reached_before_turn(0.0) == "turns"


def test_time_at_work_leaves_out_waits_and_what_failed() -> None:
    assert worked_seconds(WHOLE) == pytest.approx(1.0 + 2.5 + 1.0)
    assert worked_seconds(()) == 0.0
