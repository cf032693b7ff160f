"""Where a conversation stands before one of its events, so that it can be taken up there."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from toolablate.agents.plots import Shown, shown_of
from toolablate.agents.session import LEFT_OUT, NOT_EXECUTED
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Answer,
    Condition,
    Event,
    Limit,
    Message,
    ModelCall,
    ModelRequest,
    ToolCall,
    ToolRequest,
)

Node = Literal["ask", "act", "final", "end"]
"""What comes next: a request, the calls of the last reply, the last request, or nothing but the answer."""

FINAL_REQUEST = (
    "Give your final answer now, in the form that the question asks for, from what you have so far."
    " No tools can be called any more."
)


@dataclass(frozen=True, slots=True)
class Start:
    """A conversation to go on with.

    `results` are what was shown for calls of the last message, by their places in it, where `node` is `act`. `limit` is
    what had run out, `closing` what the last request says. `before` are the events that led here, which the budget is
    charged with.
    """

    messages: tuple[Message, ...]
    node: Node = "ask"
    results: Mapping[int, Shown] = field(default_factory=dict)
    limit: Limit | None = None
    closing: str = FINAL_REQUEST
    before: tuple[Event, ...] = ()

    @property
    def taken(self) -> ModelRequest | None:
        """The last request that the model took."""
        last = _last_call(self.before)
        return last.request if last else None


def given_back(message: Message, condition: Condition) -> Message:
    """A model's message as the next request holds it."""
    if condition.reasoning == "keep":
        return message
    return message.model_copy(update={"reasoning": "", "reasoning_key": "", "items": ()})


def start_before(conversation: Sequence[Event], event: int, condition: Condition) -> Start:
    """How it stood before this event, by its index. Raises InputError where there is no such event, or no request that
    was answered."""
    if not 0 <= event < len(conversation):
        there_are = f"they count from 0 to {len(conversation) - 1}" if conversation else "there are none"
        raise InputError(f"--from: there is no event {event}", hint=there_are, code="unknown_event")
    before, rest = tuple(conversation[:event]), conversation[event:]
    limit = next((each.limit for each in rest if isinstance(each, Answer)), None)
    if not _is_inside(conversation[event]):
        # What a tool asks by itself, within its call, is no part of the conversation that called it.
        last = _last_call([each for each in before if not _is_inside(each)])
        following = next((each for each in rest if isinstance(each, ModelCall) and not _is_inside(each)), None)
    else:
        last, following = _last_call(before), next((each for each in rest if isinstance(each, ModelCall)), None)
    if last is None:
        if following is None:
            raise InputError(
                "the model never answered a request in this trial: nothing to replay",
                hint="run the plan again: it repeats failed trials",
                code="nothing_recorded",
            )
        asked = following.request.messages
        if following.purpose == "final":
            return Start(asked[:-1], "final", limit=limit, closing=asked[-1].content, before=before)
        return Start(asked, before=before)
    reply = last.reply.message
    said = (*last.request.messages, given_back(reply, condition))
    if last.purpose == "final" or not (reply.tool_calls or following):
        return Start(said, "end", limit=limit, before=before)
    results = results_of(reply.tool_calls, before[_place(before, last) + 1 :], condition)
    upcoming = rest[: _place(rest, following)]
    calls_follow = any(isinstance(each, ToolCall) and not each.by_provider for each in upcoming)
    if len(results) < len(reply.tool_calls) and (calls_follow or following is None):
        return Start(said, "act", results, before=before)
    messages = (*said, *shown(reply.tool_calls, results))
    if following is None:
        return Start(messages, before=before)
    if following.purpose == "ask":
        return Start(following.request.messages, before=before)
    *sent, closing = following.request.messages
    whole = all(message.content != LEFT_OUT for message in sent)
    return Start(tuple(sent) if whole else messages, "final", limit=limit, closing=closing.content, before=before)


def results_of(calls: Sequence[ToolRequest], events: Iterable[Event], condition: Condition) -> dict[int, Shown]:
    """What was shown for these calls, by their places."""
    return {place: shown_of(event, condition) for place, event in answered(calls, events).items()}


def answered(calls: Sequence[ToolRequest], events: Iterable[Event]) -> dict[int, ToolCall]:
    """Which of the events answered these calls, by their places. An endpoint may give several calls one id."""
    found: dict[int, ToolCall] = {}
    for event in events:
        if isinstance(event, ToolCall):
            places = (place for place, call in enumerate(calls) if call == event.call and place not in found)
            if (place := next(places, None)) is not None:
                found[place] = event
    return found


def shown(calls: Sequence[ToolRequest], results: Mapping[int, Shown]) -> tuple[Message, ...]:
    """The results as messages, in the order of the calls; one that has none was not executed."""
    given = [results.get(place, Shown(NOT_EXECUTED)) for place in range(len(calls))]
    return tuple(
        Message(role="tool", content=result.text, images=result.images, tool_call_id=call.id)
        for call, result in zip(calls, given, strict=True)
    )


def _is_inside(event: Event) -> bool:
    return isinstance(event, ModelCall | ToolCall) and event.within != ""


def _last_call(events: Sequence[Event]) -> ModelCall | None:
    return next((event for event in reversed(events) if isinstance(event, ModelCall)), None)


def _place(events: Sequence[Event], wanted: ModelCall | None) -> int:
    """Its index among them, their number where it is none of them."""
    return next((place for place, event in enumerate(events) if event is wanted), len(events))
