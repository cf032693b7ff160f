"""The texts of an event by the names that pages call them by."""

import json
from collections.abc import Iterator

from toolablate.traces.records import (
    Answer,
    Event,
    Failure,
    Message,
    ModelCall,
    ModelRequest,
    Rebuilt,
    ToolCall,
    ToolReply,
)


def part_text(event: Event, part: str) -> str | None:
    """The whole of one text; None where the event has none of that name."""
    return next((text for name, text in _parts(event) if name == part), None)


def offered_text(request: ModelRequest) -> str:
    """The tools that a model is told of, as JSON."""
    return json.dumps([tool.model_dump() for tool in request.tools], ensure_ascii=False, indent=2)


def _parts(event: Event) -> Iterator[tuple[str, str]]:
    match event:
        case ModelCall():
            yield from _said(event)
        case ToolCall():
            yield "call", event.call.arguments
            yield from _given(event, "output")
            if event.original is not None:
                yield from _given(event.original, "original")
        case Failure():
            yield "failure", event.message
            if event.reply is not None:
                yield from _message(event.reply.message, "reply")
        case Answer():
            yield "answer", event.text
        case Rebuilt():
            for mismatch in event.mismatches:
                yield f"recorded-{mismatch.event}", mismatch.recorded
                yield f"now-{mismatch.event}", mismatch.now


def _said(event: ModelCall) -> Iterator[tuple[str, str]]:
    for place, message in enumerate(event.request.messages):
        yield from _message(message, f"message-{place}")
    yield from _message(event.reply.message, "reply")
    for place, message in enumerate(event.reply.alternatives):
        yield from _message(message, f"alternative-{place}")
    yield "tools", offered_text(event.request)


def _message(message: Message, name: str) -> Iterator[tuple[str, str]]:
    yield name, message.content
    yield f"{name}-reasoning", message.reasoning
    for place, call in enumerate(message.tool_calls):
        yield f"{name}-call-{place}", call.arguments
    yield f"{name}-calls", "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)


def _given(given: ToolCall | ToolReply, name: str) -> Iterator[tuple[str, str]]:
    yield name, given.output
    yield f"{name}-error", given.error
    for place, artifact in enumerate(given.artifacts):
        yield f"{name}-artifact-{place}", artifact.data
