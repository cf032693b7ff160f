"""What a change makes of a conversation and of its condition."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from toolablate.agents import Start, start_before
from toolablate.agents.resuming import FINAL_REQUEST, shown
from toolablate.agents.session import NOT_ALLOWED, NOT_EXECUTED
from toolablate.experiments.counterfactual.faults import at_fault
from toolablate.experiments.counterfactual.rerunning import interventions_of, named, with_shown
from toolablate.experiments.counterfactual.tools import SwappedCall
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    AnswerNow,
    Condition,
    Drop,
    Event,
    Extend,
    Message,
    Repair,
    ReplayChange,
    Rerun,
    Resumption,
    Say,
    SetAside,
    Swap,
    ToolCall,
    ToolRequest,
)

SET_ASIDE = (
    "Put aside everything that the tools returned and everything that you derived from it. Judge by what you know"
    " yourself, and answer the question now, in the form that it asks for. No tools can be called any more."
)

_WORDS = {"answer_now": "answer now", "set_aside": "set aside"}


def changed_start(conversation: Sequence[Event], event: int, change: ReplayChange, condition: Condition) -> Start:
    """The conversation before the event, with what the change does to it. Raises InputError for an event that is not
    there, or that the change does not fit."""
    start = start_before(conversation, event, condition)
    swapped_call(conversation, event, change)
    match change:
        case Drop():
            return _without(start, _tool_call(conversation, event, "--drop"))
        case Say(text=text):
            return _with_message(start, text, event)
        case AnswerNow():
            messages = _complete(start)
            return replace(start, messages=messages, node="final", results={}, limit=None, closing=FINAL_REQUEST)
        case SetAside():
            messages = _complete(start)
            return replace(start, messages=messages, node="final", results={}, limit=None, closing=SET_ASIDE)
        case Extend():
            return _with_more(start, event)
        case Rerun():
            start = with_shown(start, conversation, change.shown)
            return _with_more(start, event) if change.budget else start
        case _:
            pass
    return start


def swapped_call(conversation: Sequence[Event], event: int, change: ReplayChange) -> SwappedCall | None:
    """The call whose result the change replaces, None where it replaces none. Raises InputError where the event is no
    such call."""
    if not isinstance(change, Swap | Repair):
        return None
    recorded = _tool_call(conversation, event, f"--{change.kind}")
    if recorded.output == NOT_ALLOWED:
        raise InputError(
            f"--from: the tool call of event {event} was not executed, since the condition bars its tools",
            hint="--say can tell the model what the tool would have",
            code="not_called",
        )
    if isinstance(change, Repair) and recorded.status == "ok":
        raise InputError(
            f"--from: the tool call of event {event} worked, so there is nothing to repair",
            hint="--swap shows another result",
            code="not_broken",
        )
    return SwappedCall(recorded, change.text)


def counterfactual(parent: Condition, resumption: Resumption, conversation: Sequence[Event]) -> Condition:
    """The condition of trials that go on so from a trial under `parent`."""
    change = resumption.change
    name = f"{parent.name} ~ {_worded(change)} @{resumption.event} of {resumption.trial[:8]}"
    update: dict[str, object] = {"name": name, "resumed": resumption}
    match change:
        case Extend(budget=budget):
            update["budget"] = budget
        case Repair(text=None):
            made = at_fault([conversation[resumption.event]])
            update["interventions"] = tuple(use for use in parent.interventions if use.name not in made)
        case Rerun():
            update["budget"] = change.budget or parent.budget
            update["interventions"] = interventions_of(parent, change, conversation)
        case _:
            pass
    return parent.model_copy(update=update)


def _worded(change: ReplayChange) -> str:
    match change:
        case Swap():
            return f"{change.kind} {change.content}"
        case Rerun():
            return named(change)
    return _WORDS.get(change.kind, change.kind)


def _tool_call(conversation: Sequence[Event], event: int, option: str) -> ToolCall:
    found = conversation[event]
    if not isinstance(found, ToolCall):
        calls = [str(place) for place, each in enumerate(conversation) if isinstance(each, ToolCall)]
        raise InputError(
            f"{option}: event {event} is no tool call but {found.kind!r}",
            hint=f"the tool calls of this trial are the events {', '.join(calls)}" if calls else "this trial has none",
            code="wrong_event",
        )
    return found


def _complete(start: Start) -> tuple[Message, ...]:
    """With a result for every call, as endpoints want it. Some models call tools in their last reply all the same."""
    return (*start.messages, *shown(start.messages[-1].tool_calls, start.results))


def _with_message(start: Start, text: str, event: int) -> Start:
    if start.node == "act":
        raise InputError(
            f"--say: at event {event} calls of the model wait for their results, and nothing can be said before these",
            hint="name the request that follows, or the one that made the calls",
            code="wrong_event",
        )
    node = start.node if start.node != "end" else "final" if start.limit else "ask"
    return replace(start, messages=(*_complete(start), Message(role="user", content=text)), node=node)


def _with_more(start: Start, event: int) -> Start:
    if start.node == "end":
        raise InputError(
            f"--extend: at event {event} the trial has answered",
            hint="name the last request, or an earlier event",
            code="wrong_event",
        )
    if start.node != "final" or start.limit in ("reply_length", "context_length"):
        return start
    return replace(_with_calls_to_make(start), limit=None)


def _with_calls_to_make(start: Start) -> Start:
    """What the budget kept from being called is called now."""
    spoken = [place for place, message in enumerate(start.messages) if message.role == "assistant"]
    given = start.messages[spoken[-1] + 1 :] if spoken else ()
    results = {place: each.content for place, each in enumerate(given) if each.content != NOT_EXECUTED}
    if len(results) == len(given):
        return replace(start, node="ask")
    return replace(start, messages=start.messages[: -len(given)], node="act", results=results)


def _without(start: Start, dropped: ToolCall) -> Start:
    message = start.messages[-1]
    place = next(
        place for place, call in enumerate(message.tool_calls) if call == dropped.call and place not in start.results
    )
    calls = tuple(call for number, call in enumerate(message.tool_calls) if number != place)
    if not calls:
        return replace(start, messages=start.messages[:-1], node="ask", results={})
    results = {number - (number > place): output for number, output in start.results.items()}
    items = tuple(item for item in message.items if not _is_call(item, dropped.call))
    kept = message.model_copy(update={"tool_calls": calls, "items": items})
    messages = (*start.messages[:-1], kept)
    if len(results) < len(calls):
        return replace(start, messages=messages, results=results)
    return replace(start, messages=(*messages, *shown(calls, results)), node="ask", results={})


def _is_call(item: Mapping[str, object], call: ToolRequest) -> bool:
    """Whether a part of a reply, as its API gave it, is this call."""
    return item.get("call_id") == call.id or (item.get("type") == "function" and item.get("id") == call.id)
