"""What a `Rerun` makes of a conversation and of its condition: several things may be changed at once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from toolablate.agents import Start
from toolablate.agents.resuming import answered
from toolablate.experiments.counterfactual.faults import at_fault
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    Condition,
    Event,
    InterventionUse,
    Message,
    ModelCall,
    Rerun,
    ShownResult,
    ToolCall,
    ToolRequest,
    ToolSpec,
)


def named(change: Rerun) -> str:
    """In the name of a condition."""
    parts = ["rerun"]
    if change.stand_in:
        parts.append(f"{change.stand_in} {','.join(change.tools)}")
    if change.shown:
        parts.append(f"shown {','.join(str(each.event) for each in change.shown)}")
    return " + ".join([*parts, *(["budget"] if change.budget else []), *(["sound"] if change.sound else [])])


def interventions_of(parent: Condition, change: Rerun, conversation: Sequence[Event]) -> tuple[InterventionUse, ...]:
    """Those of the parent that stay, behind the stand-in where there is one."""
    left_out = at_fault(conversation) if change.sound else frozenset[str]()
    kept = tuple(use for use in parent.interventions if use.name not in left_out)
    if change.stand_in is None:
        return kept
    return (InterventionUse(name=change.stand_in, options={"tools": list(change.tools)}), *kept)


def refuse_unfit(change: Rerun, specs: Sequence[ToolSpec]) -> None:
    """Raises InputError for a stand-in for no tool, and for tools that the trial does not have."""
    if bool(change.stand_in) != bool(change.tools):
        raise InputError(
            "rerun: `stand_in` says what is given, and `tools` in place of whose results; one of them is missing",
            hint="name both, or neither",
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
        if not isinstance(found, ToolCall) or each.event >= len(before):
            raise InputError(
                f"rerun: shown: event {each.event} is no tool call before event {len(before)}",
                hint="name tool calls whose results the model has seen by then",
                code="wrong_event",
            )
    texts = {id(before[each.event]): each.text for each in results}
    turns = list(_turns(before))
    if start.node == "act":
        _, made = turns.pop()
        waiting = {place: texts[id(event)] for place, event in made.items() if id(event) in texts}
        start = replace(start, results={**start.results, **waiting})
        texts = {key: text for key, text in texts.items() if key not in {id(event) for event in made.values()}}
    messages, left = _replaced(start.messages, turns, texts)
    if left:
        raise InputError(
            f"rerun: shown: {len(left)} of the results are no more in what the model reads",
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
                shown[at] = shown[at].model_copy(update={"content": texts[id(event)]})
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
