"""The table of events."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from toolablate.formats.exports.exported import Exported
from toolablate.formats.exports.tables.table import OF_TRIAL, USAGE, Row, Table, columns, json_text
from toolablate.traces.records import Event, Failure, Message, ModelCall, Rebuilt, ToolCall

EVENTS = Table(
    "events",
    "one event of a trial",
    columns(
        OF_TRIAL,
        ("seq", "int", "its place among the trial's events, from 0; what attributions point to"),
        ("kind", "name", "`model_call`, `tool_call`, `failure`, `answer`; of replays also `rebuilt`"),
        ("at", "float", "seconds from the trial's beginning to the event's"),
        ("seconds", "float", "how long it took"),
        ("time", "time", "when it began"),
        ("text", "text", "what a model replied, what a tool's output was, what a failure said, the answer"),
        ("purpose", "name", "of a model call: `ask`, or `final` for the last request, which offers no tools"),
        ("served", "name", "the name that the endpoint gave for what answered"),
        ("finish_reason", "name", "why the reply ended: `stop`, `tool_calls`, `length` ..."),
        ("reasoning", "text", "what the model thought, as text"),
        ("messages_kept", "int", "how many messages of the trial's last request the request begins with"),
        ("messages", "json", "those that follow: role, content, reasoning, tool calls"),
        ("tools_offered", "names", "the tools that the model could call"),
        ("requested", "json", "the calls that the reply asks for: id, name, arguments as the model wrote them"),
        *USAGE,
        ("tool", "name", "of a tool call: its name, as the model wrote it"),
        ("call", "text", "its id, by which the model's next request refers to it"),
        ("arguments", "text", "as the model wrote them, JSON or not"),
        ("status", "name", "`ok`, `error` (the tool worked and the call went wrong) or `invalid` (no such call)"),
        ("error", "text", "what went wrong"),
        ("truncated", "bool", "`text` is less than there was"),
        ("artifacts", "artifacts", "images and other rich outputs"),
        ("lookup", "name", "what was asked of the web or its archive: `search`, `page` or `mcp`"),
        ("miss", "name", "why it was not there"),
        ("markers", "names", "what was noticed: `answer_leak`, `instruction_like`, `withheld`"),
        ("changes", "names", "the interventions that had a part in the result"),
        ("original", "text", "what the tool itself gave, where they changed it"),
        ("boundary", "name", "of a failure: what failed, such as `model` or `sandbox`"),
        ("code", "name", "a stable word for why"),
        ("retried", "bool", "the same was tried again"),
        ("limit", "name", "of an answer: what had run out"),
        ("calls", "int", "of `rebuilt`: how many calls of the record were made again"),
        ("mismatches", "json", "those that gave something else"),
    ),
)


def event_rows(exported: Exported) -> Iterator[Row]:
    """In their order."""
    before: Sequence[Message] = ()
    for seq, event in enumerate(exported.trace.events):
        row = {
            "trial": exported.trial,
            "seq": seq,
            "kind": event.kind,
            "at": event.at,
            "seconds": event.seconds,
            "time": _instant(exported.trace.started_at, event.at),
        }
        if event.kind == "model_call":
            yield row | _model_call(event, before)
            before = event.request.messages
        else:
            yield row | _other(event)


def _instant(began: datetime, at: float) -> datetime | None:
    """None where a store that others wrote says what no calendar has."""
    try:
        return began + timedelta(seconds=at)
    except OverflowError:
        return None


def _other(event: Event) -> Row:
    match event:
        case ToolCall():
            return _tool_call(event)
        case Failure():
            return _failure(event)
        case Rebuilt():
            return {"calls": event.calls, "mismatches": json_text([each.model_dump() for each in event.mismatches])}
        case _:
            return {"text": event.text, "limit": event.limit} if event.kind == "answer" else {}


def _model_call(event: ModelCall, before: Sequence[Message]) -> Row:
    request, reply = event.request, event.reply
    kept = _shared(before, request.messages)
    return {
        "text": reply.message.content,
        "purpose": event.purpose,
        "served": reply.model,
        "finish_reason": reply.finish_reason,
        "reasoning": reply.message.reasoning or None,
        "messages_kept": kept,
        "messages": json_text([_message(each) for each in request.messages[kept:]]),
        "tools_offered": [tool.name for tool in request.tools],
        "requested": json_text([each.model_dump() for each in reply.message.tool_calls]),
        **reply.usage.model_dump(),
        "cost_usd": event.cost_usd,
    }


def _shared(before: Sequence[Message], now: Sequence[Message]) -> int:
    pairs = zip(before, now, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(before), len(now)))


def _message(message: Message) -> Row:
    shown: Row = message.model_dump(exclude_defaults=True, exclude={"items", "reasoning_key"})
    return {"role": message.role, "content": message.content} | shown


def _tool_call(event: ToolCall) -> Row:
    return {
        "text": event.output,
        "tool": event.call.name,
        "call": event.call.id,
        "arguments": event.call.arguments,
        "status": event.status,
        "error": event.error or None,
        "truncated": event.truncated,
        "artifacts": [each.model_dump() for each in event.artifacts],
        "lookup": event.lookup and event.lookup.kind,
        "miss": event.lookup and event.lookup.miss,
        "markers": [each.kind for each in event.markers],
        "changes": [each.intervention for each in event.changes],
        "original": event.original and event.original.output,
    }


def _failure(event: Failure) -> Row:
    usage = {} if event.reply is None else event.reply.usage.model_dump()
    return {
        "text": event.message,
        "boundary": event.boundary,
        "code": event.code,
        "retried": event.retried,
        "cost_usd": event.cost_usd,
        **usage,
    }
