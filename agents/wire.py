"""Chat Completions JSON: what a request looks like on the wire and how a reply is read.

https://platform.openai.com/docs/api-reference/chat. Servers that call themselves compatible differ in small ways; what
is known of them is taken in here, so that the records are the same whoever answered.
"""

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from toolablate.traces.errors import ModelError
from toolablate.traces.records import (
    FinishReason,
    Message,
    ModelReply,
    ModelRequest,
    OpenAIModel,
    ToolRequest,
    Usage,
    clean_text,
)

REASONING_KEYS = ("reasoning_content", "reasoning")
_FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "content_filter",
}
# JSON numbers are exact up to here, and no request ever used as many tokens; sums of such counts still fit the store.
_COUNTS_BELOW = 2**53
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")


def is_address(endpoint: str) -> bool:
    """Whether an endpoint is something that can be connected to at all."""
    printable = endpoint.isprintable() and " " not in endpoint
    try:
        parts = urlsplit(endpoint)
        # Reading the port is what checks it.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and printable
    except ValueError:
        return False


def write_request(model: OpenAIModel, request: ModelRequest, reasoning_key: str) -> dict[str, Any]:
    """Arguments for `chat.completions.create`. `reasoning_key` is where this endpoint keeps a model's reasoning."""
    body: dict[str, Any] = {
        "model": model.wire_name,
        "messages": [_write_message(message, reasoning_key) for message in request.messages],
    }
    if request.tools:
        body["tools"] = [{"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools]
        body["tool_choice"] = request.tool_choice
    sampling = model.sampling
    # OpenAI's reasoning models refuse the old name, most other servers know no other.
    max_tokens = "max_completion_tokens" if model.is_openai else "max_tokens"
    chosen = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        max_tokens: sampling.max_tokens,
        "seed": sampling.seed,
        "reasoning_effort": sampling.reasoning_effort,
    }
    body |= {key: value for key, value in chosen.items() if value is not None}
    if sampling.extra:
        body["extra_body"] = dict(sampling.extra)
    return body


def _write_message(message: Message, reasoning_key: str) -> dict[str, Any]:
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    if not message.tool_calls:
        return {"role": message.role, "content": message.content}
    written: dict[str, Any] = {
        "role": message.role,
        "content": message.content or None,
        "tool_calls": [_write_call(call) for call in message.tool_calls],
    }
    if message.reasoning:
        # Models that think between tool calls need their thoughts back, and some endpoints insist on it.
        written[reasoning_key] = message.reasoning
    return written


def _write_call(call: ToolRequest) -> dict[str, Any]:
    name = _NOT_IN_A_NAME.sub("_", call.name)[:64] or "unnamed"
    return {"id": call.id, "type": "function", "function": {"name": name, "arguments": _sendable(call.arguments)}}


def _sendable(arguments: str) -> str:
    """Servers that parse a history's arguments answer 400 to what the model itself once wrote; so it is wrapped."""
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    return json.dumps({"invalid_arguments": arguments}, ensure_ascii=False)


def read_reply(body: Mapping[str, Any], turn: int) -> tuple[ModelReply, str | None]:
    """The reply in a body, and the key under which reasoning was found, if any. Raises ModelError.

    `turn` counts the model's turns before this one; it tells apart calls that came without an id of their own.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    wire = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(wire, dict):
        raise ModelError("the endpoint's reply has no choices", code="bad_reply", retryable=True)
    key = next((key for key in REASONING_KEYS if _text(wire.get(key))), None)
    message = Message(
        role="assistant",
        content=_text(wire.get("content")) or _text(wire.get("refusal")),
        reasoning=_text(wire.get(key)) if key else "",
        tool_calls=_read_calls(wire.get("tool_calls"), turn),
    )
    reply = ModelReply(
        message=message,
        finish_reason=_FINISH_REASONS.get(str(choice.get("finish_reason")), "other"),
        usage=_read_usage(body.get("usage")),
        model=_text(body.get("model")),
        response_id=_text(body.get("id")),
    )
    return _checked(reply), key


def _checked(reply: ModelReply) -> ModelReply:
    if reply.finish_reason == "content_filter":
        raise ModelError("the endpoint's content filter stopped the reply", code="content_filter")
    # A reply cut before its first visible word (all went into reasoning) is a fact about the model, not a failure.
    if not reply.message.content.strip() and not reply.message.tool_calls and reply.finish_reason != "length":
        raise ModelError("the reply is empty: no text, no tool call, no refusal", code="empty_reply", retryable=True)
    return reply


def _text(value: object) -> str:
    """The text of a string, or of a list of content parts; anything else is no text."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return ""


def _read_calls(value: object, turn: int) -> tuple[ToolRequest, ...]:
    calls: list[ToolRequest] = []
    seen: set[str] = set()
    for position, item in enumerate(value if isinstance(value, list) else []):
        function = item.get("function") if isinstance(item, dict) else None
        if not isinstance(item, dict) or not isinstance(function, dict):
            raise ModelError("a tool call in the reply names no function", code="bad_reply", retryable=True)
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
        call_id = _text(item.get("id"))
        if not call_id or call_id in seen:
            call_id = f"call_{turn}_{position}"
            while call_id in seen:
                call_id += "_"
        seen.add(call_id)
        calls.append(ToolRequest(id=call_id, name=_text(function.get("name")), arguments=clean_text(arguments)))
    return tuple(calls)


def _read_usage(value: object) -> Usage:
    def count(holder: object, key: str) -> int | None:
        number = holder.get(key) if isinstance(holder, dict) else None
        return number if type(number) is int and 0 <= number < _COUNTS_BELOW else None

    if not isinstance(value, dict):
        return Usage()
    return Usage(
        input_tokens=count(value, "prompt_tokens"),
        output_tokens=count(value, "completion_tokens"),
        cached_tokens=count(value.get("prompt_tokens_details"), "cached_tokens"),
        reasoning_tokens=count(value.get("completion_tokens_details"), "reasoning_tokens"),
    )
