"""Our messages as Inspect's."""

import json
from collections.abc import Iterable
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentReasoning,
    ContentText,
    ModelUsage,
)
from inspect_ai.tool import ToolCall as InspectCall

from toolablate.formats.exports.inspect.keys import KEY
from toolablate.traces.records import Message, Usage, digest_json


class Messages:
    """One message of Inspect for each of ours, so that a log holds what requests repeat once."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._known: dict[str, ChatMessage] = {}
        self._called: dict[str, str] = {}

    def of(self, message: Message) -> ChatMessage:
        key = digest_json(message.model_dump(mode="json", exclude_defaults=True))
        if key not in self._known:
            self._called |= {call.id: call.name for call in message.tool_calls}
            self._known[key] = self._made(message, key)
        return self._known[key]

    def all_of(self, messages: Iterable[Message]) -> list[ChatMessage]:
        return [self.of(message) for message in messages]

    def reply(self, message: Message) -> ChatMessageAssistant:
        made = self.of(message)
        assert isinstance(made, ChatMessageAssistant)
        return made

    def _made(self, message: Message, key: str) -> ChatMessage:
        said: dict[str, Any] = {"id": key, "content": _content(message), "metadata": _kept(message)}
        if message.role == "system":
            return ChatMessageSystem(**said)
        if message.role == "user":
            return ChatMessageUser(**said)
        if message.role == "tool":
            function = self._called.get(message.tool_call_id)
            return ChatMessageTool(**said, tool_call_id=message.tool_call_id, function=function)
        calls = [tool_call(call.id, call.name, call.arguments) for call in message.tool_calls]
        return ChatMessageAssistant(**said, tool_calls=calls or None, model=self._model, source="generate")


def _content(message: Message) -> str | list[Content]:
    if not message.reasoning:
        return message.content
    thought = ContentReasoning(reasoning=message.reasoning)
    return [thought, ContentText(text=message.content)] if message.content else [thought]


def _kept(message: Message) -> dict[str, Any] | None:
    kept: dict[str, Any] = message.model_dump(mode="json", include={"reasoning_key", "items"}, exclude_defaults=True)
    odd = {call.id: call.arguments for call in message.tool_calls if _read(call.arguments)[1] != call.arguments}
    if odd:
        kept["arguments"] = odd
    return {KEY: kept} if kept else None


def tool_call(identity: str, name: str, arguments: str) -> InspectCall:
    read, _ = _read(arguments)
    broken = None if read is not None else "the arguments are no JSON object"
    return InspectCall(id=identity, function=name, arguments=read or {}, parse_error=broken)


def arguments_of(arguments: str) -> tuple[dict[str, Any], bool]:
    """As an object, and whether that tells all of the text that the model wrote."""
    read, written = _read(arguments)
    return read or {}, written == arguments


def _read(arguments: str) -> tuple[dict[str, Any] | None, str]:
    """The object, None where the text holds none, and the text that an import makes of it."""
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return None, "{}"
    return (read, json.dumps(read, ensure_ascii=False)) if isinstance(read, dict) else (None, "{}")


def usage_of(usage: Usage) -> ModelUsage | None:
    """Inspect counts what came from a cache or went there apart; None where nothing is known."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return None
    cached, written = usage.cached_tokens or 0, usage.cache_write_tokens or 0
    read, output = usage.input_tokens or 0, usage.output_tokens or 0
    return ModelUsage(
        input_tokens=max(0, read - cached - written),
        output_tokens=output,
        total_tokens=read + output,
        input_tokens_cache_read=usage.cached_tokens,
        input_tokens_cache_write=usage.cache_write_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )
