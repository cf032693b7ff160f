"""What a change makes of a conversation and of its condition."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from pydantic import JsonValue

from toolablate.agents import Start, start_before
from toolablate.agents.plots import Shown
from toolablate.agents.resuming import FINAL_REQUEST, answered, shown
from toolablate.agents.session import NOT_ALLOWED, NOT_EXECUTED
from toolablate.experiments.replay.replayed_tools import REPLAY, SwappedCall
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    AnswerNow,
    Condition,
    Drop,
    Event,
    Extend,
    IgnoreTools,
    InterventionUse,
    Message,
    ModelCall,
    Repair,
    ReplayChange,
    Rerun,
    Resumption,
    Say,
    ShownResult,
    Swap,
    ToolCall,
    ToolRequest,
    ToolSpec,
)


def at_fault(events: Iterable[Event]) -> frozenset[str]:
    """The interventions that made calls fail. Where the tool was not called, that is the first that changed anything;
    where it worked, any of those that did."""
    return frozenset(
        change.intervention
        for event in events
        if isinstance(event, ToolCall) and was_made_to_fail(event)
        for change in (event.changes if event.original else event.changes[:1])
    )


def was_made_to_fail(event: ToolCall) -> bool:
    """By what stands between the model and the tool, which was not called, or had worked."""
    changed = any(change.intervention != REPLAY for change in event.changes)
    return event.status == "error" and changed and (event.original is None or event.original.status == "ok")


def is_faulty(event: ToolCall, coding: Collection[str]) -> bool:
    """Whether sound tools would have given something else; an exception of the model's own code they would not."""
    if event.status != "error":
        return False
    own = event.call.name in coding and event.error != "timeout" and event.error.partition(":")[0] != "died"
    return was_made_to_fail(event) or not own


# What a `Rerun` makes of a conversation and of its condition: several things may be changed at once.


def named(change: Rerun) -> str:
    """In the name of a condition."""
    parts = ["rerun"]
    if change.substitute:
        short = f" of {change.result_chars}" if change.result_chars else ""
        parts.append(f"{change.substitute}{short} {','.join(change.tools)}")
    if change.shown:
        parts.append(f"shown {','.join(str(each.event) for each in change.shown)}")
    return " + ".join([*parts, *(["budget"] if change.budget else []), *(["sound"] if change.sound else [])])


def interventions_of(parent: Condition, change: Rerun, conversation: Sequence[Event]) -> tuple[InterventionUse, ...]:
    """Those of the parent that stay, behind the substitute where there is one."""
    left_out = at_fault(conversation) if change.sound else frozenset[str]()
    kept = tuple(use for use in parent.interventions if use.name not in left_out)
    if change.substitute is None:
        return kept
    options: dict[str, JsonValue] = {"tools": list(change.tools)}
    if change.result_chars:
        options["chars"] = change.result_chars
    return (InterventionUse(name=change.substitute, options=options), *kept)


def refuse_unfit(change: Rerun, specs: Sequence[ToolSpec]) -> None:
    """Raises InputError for a substitute for no tool, and for tools that the trial does not have."""
    if bool(change.substitute) != bool(change.tools):
        raise InputError(
            "rerun: `substitute` and `tools`, whose results it replaces, go together; one of them is missing",
            hint="name both, or neither",
            code="bad_change",
        )
    if change.result_chars and change.substitute != "placebo":
        raise InputError(
            "rerun: `result_chars` is the length of placebos, and the change has none",
            hint='name `substitute = "placebo"`, or leave it out',
            code="bad_change",
        )
    there = [spec.name for spec in specs]
    absent = next((name for name in change.tools if name not in there), None)
    if absent is not None:
        raise InputError(
            f"rerun: tools: the trial has no tool {absent!r}",
            hint=f"its tools are {', '.join(there)}" if there else "it has no tools",
            code="unknown_tool",
        )


def with_shown(start: Start, conversation: Sequence[Event], results: Sequence[ShownResult]) -> Start:
    """With other texts in the place of results that the model has seen. Raises InputError for an event that is no call
    before the one at which the trial is taken up."""
    if not results:
        return start
    before = start.before
    for each in results:
        found = conversation[each.event] if each.event < len(conversation) else None
        if not isinstance(found, ToolCall) or found.by_provider or each.event >= len(before):
            raise InputError(
                f"rerun: shown: event {each.event} is no tool call before event {len(before)}",
                hint="name tool calls whose results the model has seen by then",
                code="wrong_event",
            )
    texts = {id(before[each.event]): each.text for each in results}
    turns = list(_turns(before))
    if start.node == "act":
        _, made = turns.pop()
        waiting = {place: Shown(texts[id(event)]) for place, event in made.items() if id(event) in texts}
        start = replace(start, results={**start.results, **waiting})
        texts = {key: text for key, text in texts.items() if key not in {id(event) for event in made.values()}}
    messages, left = _replaced(start.messages, turns, texts)
    if left:
        raise InputError(
            f"rerun: shown: {len(left)} of the results are no longer in the model's context",
            hint="name results that the conversation still has at this event",
            code="wrong_event",
        )
    return replace(start, messages=messages)


def _replaced(
    messages: Sequence[Message],
    turns: Iterable[tuple[Sequence[ToolRequest], Mapping[int, ToolCall]]],
    texts: dict[int, str],
) -> tuple[tuple[Message, ...], Collection[int]]:
    """The messages with these texts, by what tells their events apart, and those that had no place."""
    shown, left, following = list(messages), set(texts), iter(turns)
    for place, message in enumerate(messages):
        if not message.tool_calls:
            continue
        # A call that an earlier replay dropped is in the reply, and no more in the message.
        made = next((made for calls, made in following if _holds(calls, message.tool_calls)), {})
        events = answered(message.tool_calls, made.values())
        for number, event in events.items():
            if id(event) in texts:
                at = place + 1 + number
                shown[at] = shown[at].model_copy(update={"content": texts[id(event)], "images": ()})
                left.discard(id(event))
    return tuple(shown), left


def _holds(calls: Sequence[ToolRequest], some: Sequence[ToolRequest]) -> bool:
    left = list(calls)
    for call in some:
        if call not in left:
            return False
        left.remove(call)
    return True


def _turns(events: Sequence[Event]) -> Iterable[tuple[Sequence[ToolRequest], Mapping[int, ToolCall]]]:
    """The calls of each reply that makes any, with the events of those that were answered."""
    asked = [index for index, event in enumerate(events) if isinstance(event, ModelCall)]
    for index, end in pairwise([*asked, len(events)]):
        call = events[index]
        assert isinstance(call, ModelCall)
        if calls := call.reply.message.tool_calls:
            yield calls, answered(calls, events[index + 1 : end])


# What a change makes of a conversation and of its condition.


IGNORE_TOOLS = (
    "Put aside everything that the tools returned and everything that you derived from it. Judge by what you know"
    " yourself, and answer the question now, in the form that it asks for. No tools can be called any more."
)

_WORDS = {"answer_now": "answer now", "ignore_tools": "ignore tools"}


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
        case IgnoreTools():
            messages = _complete(start)
            return replace(start, messages=messages, node="final", results={}, limit=None, closing=IGNORE_TOOLS)
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
            f"--from: the tool call of event {event} was not executed: the condition bars its tools",
            hint="--say can tell the model what the tool would have",
            code="not_called",
        )
    if isinstance(change, Repair) and recorded.status == "ok":
        raise InputError(
            f"--from: the tool call of event {event} worked: nothing to repair",
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
            hint=f"its tool calls: event{'s' if len(calls) > 1 else ''} {', '.join(calls)}"
            if calls
            else "this trial has none",
            code="wrong_event",
        )
    if found.by_provider:
        raise InputError(
            f"{option}: event {event} is a call that the provider made within its reply: its result cannot be another",
            hint="leave the option out, which draws the whole reply anew, or take --answer-now; what the tool does is"
            " told by a condition without it",
            code="provider_tool",
        )
    return found


def _complete(start: Start) -> tuple[Message, ...]:
    """With a result for every call, as endpoints want it. Some models call tools in their last reply all the same."""
    return (*start.messages, *shown(start.messages[-1].tool_calls, start.results))


def _with_message(start: Start, text: str, event: int) -> Start:
    if start.node == "act":
        raise InputError(
            f"--say: at event {event} calls wait for their results; no message can come before these",
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
    results = {
        place: Shown(each.content, each.images) for place, each in enumerate(given) if each.content != NOT_EXECUTED
    }
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
