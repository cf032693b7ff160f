"""Messages and tools as OpenInference's attributes name them."""

import json
from collections.abc import Iterable, Iterator, Sequence

from openinference.semconv.trace import (
    MessageAttributes,
    MessageContentAttributes,
    SpanAttributes,
    ToolAttributes,
    ToolCallAttributes,
)

from toolablate.formats.exports.spans.span import Value, shown
from toolablate.traces.records import Message, ToolSpec

FIRST, LAST = 2, 98
"""Of the messages of a long request these are shown: what was asked, and what came last."""

Attributes = Iterator[tuple[str, Value]]


def input_messages(messages: Sequence[Message]) -> Attributes:
    """Those that are shown, and how many are not."""
    left_out = max(0, len(messages) - FIRST - LAST)
    kept = [*messages[:FIRST], *messages[-LAST:]] if left_out else messages
    for place, message in enumerate(kept):
        yield from _message(f"{SpanAttributes.LLM_INPUT_MESSAGES}.{place}", message)
    if left_out:
        yield "toolablate.messages_left_out", left_out


def output_message(message: Message) -> Attributes:
    yield from _message(f"{SpanAttributes.LLM_OUTPUT_MESSAGES}.0", message)


def offered(tools: Iterable[ToolSpec]) -> Attributes:
    for place, tool in enumerate(tools):
        schema = json.dumps({"type": "function", "function": tool.model_dump()}, ensure_ascii=False)
        yield f"{SpanAttributes.LLM_TOOLS}.{place}.{ToolAttributes.TOOL_JSON_SCHEMA}", shown(schema)


def _message(prefix: str, message: Message) -> Attributes:
    yield f"{prefix}.{MessageAttributes.MESSAGE_ROLE}", message.role
    if message.reasoning:
        parts = (("reasoning", message.reasoning), ("text", message.content))
        for place, (kind, text) in enumerate(part for part in parts if part[1]):
            part = f"{prefix}.{MessageAttributes.MESSAGE_CONTENTS}.{place}"
            yield f"{part}.{MessageContentAttributes.MESSAGE_CONTENT_TYPE}", kind
            yield f"{part}.{MessageContentAttributes.MESSAGE_CONTENT_TEXT}", shown(text)
    else:
        yield f"{prefix}.{MessageAttributes.MESSAGE_CONTENT}", shown(message.content)
    if message.tool_call_id:
        yield f"{prefix}.{MessageAttributes.MESSAGE_TOOL_CALL_ID}", shown(message.tool_call_id)
    for place, call in enumerate(message.tool_calls):
        part = f"{prefix}.{MessageAttributes.MESSAGE_TOOL_CALLS}.{place}"
        yield f"{part}.{ToolCallAttributes.TOOL_CALL_ID}", shown(call.id)
        yield f"{part}.{ToolCallAttributes.TOOL_CALL_FUNCTION_NAME}", shown(call.name)
        yield f"{part}.{ToolCallAttributes.TOOL_CALL_FUNCTION_ARGUMENTS_JSON}", shown(call.arguments)
