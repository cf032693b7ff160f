"""Chat Completions JSON: https://platform.openai.com/docs/api-reference/chat, and what other servers make of it.

What a model thought goes back with the message that it came with, under the key that it came by:
`reasoning_content`  https://api-docs.deepseek.com/guides/thinking_mode (an empty one too: it is asked for by its key),
                     https://platform.kimi.ai/docs/guide/use-kimi-k2-thinking-model,
                     https://docs.z.ai/guides/capabilities/thinking-mode
`reasoning_details`  https://openrouter.ai/docs/use-cases/reasoning-tokens, in place of the text, unmodified
`content`            its parts, where thoughts stand among them: https://docs.mistral.ai/capabilities/reasoning
`extra_content`      of a tool call, where Gemini keeps the signature of its thoughts; the whole call is given back
"""

from collections.abc import Mapping, Sequence
from typing import Any

from toolablate.agents.chat import NoReplyError
from toolablate.agents.endpoint.requirements import wants_logprobs
from toolablate.agents.endpoint.wire import (
    bad_reply,
    charged_usd,
    checked,
    chosen,
    completions_usage,
    dicts_in,
    merged,
    pictures_of,
    read_calls,
    sendable_arguments,
    sendable_name,
    strict,
    text_of,
)
from toolablate.traces.records import FinishReason, Message, ModelReply, ModelRequest, OpenAIModel, Picture, ToolRequest
from toolablate.traces.records.pictures import parts_of

_REASONING_KEYS = ("reasoning_content", "reasoning")
_AMONG_THE_CONTENT = "content"
FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "sensitive": "content_filter",
    "refusal": "refusal",
}
# The endpoint, not the model, broke the reply off: OpenRouter, DeepSeek, GLM, vLLM.
BROKEN_OFF = frozenset({"error", "insufficient_system_resource", "network_error", "abort"})
_PLAIN_CALL = frozenset({"id", "type", "function", "index"})


class Completions:
    path = "/chat/completions"
    conversation_key = "messages"

    def settings(self, model: OpenAIModel) -> dict[str, Any]:
        sampling = model.sampling
        ours = chosen(
            model=model.wire_name,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            seed=sampling.seed,
            reasoning_effort=sampling.reasoning_effort,
            logprobs=wants_logprobs(model) or None,
            top_logprobs=sampling.top_logprobs,
        )
        if sampling.max_tokens is not None:
            ours[max_tokens_key(model)] = sampling.max_tokens
        return merged(ours, sampling.extra)

    def write_message(self, message: Message) -> list[dict[str, Any]]:
        if message.role == "tool":
            return [{"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}]
        written: dict[str, Any] = {"role": message.role, "content": _content(message)}
        if message.tool_calls:
            whole = {item.get("id"): item for item in message.items if item.get("type") == "function"}
            written["content"] = message.content or None
            written["tool_calls"] = [_write_call(call, whole.get(call.id, {})) for call in message.tool_calls]
        thoughts = [item for item in message.items if item.get("type") != "function"]
        if thoughts:
            among = message.reasoning_key == _AMONG_THE_CONTENT
            written["content" if among else "reasoning_details"] = thoughts
        elif message.reasoning_key in _REASONING_KEYS:
            written[message.reasoning_key] = message.reasoning
        return [written]

    def write_pictures(self, results: Sequence[Message]) -> list[dict[str, Any]]:
        """A result of a tool is a text here, so that a user's message behind the results shows their pictures."""
        parts = [_part(part) for part in pictures_of(results)]
        return [{"role": "user", "content": parts}] if parts else []

    def write_tools(self, request: ModelRequest) -> dict[str, Any]:
        form = response_format(request)
        if not request.tools:
            return form
        choice: object = request.tool_choice
        if choice not in ("auto", "none", "required"):
            choice = {"type": "function", "function": {"name": choice}}
        return chosen(
            tools=[{"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools],
            tool_choice=choice,
            parallel_tool_calls=request.parallel_tool_calls,
            **form,
        )

    def read(self, body: Mapping[str, Any], turn: int) -> ModelReply:
        choices = body.get("choices")
        if not isinstance(choices, list) or not choices:
            raise bad_reply("the endpoint's reply has no choices")
        choices = sorted(choices, key=_index)
        messages = [_read_message(choice, turn) for choice in choices]
        message, finish_reason = messages[0]
        reply = ModelReply(
            message=message,
            finish_reason=finish_reason,
            usage=completions_usage(body.get("usage")),
            charged_usd=charged_usd(body.get("usage")),
            model=text_of(body.get("model")),
            response_id=text_of(body.get("id")),
            alternatives=tuple(other for other, _ in messages[1:]),
            logprobs=choices[0].get("logprobs"),
        )
        ended = choices[0].get("finish_reason")
        if isinstance(ended, str) and ended in BROKEN_OFF:
            raise NoReplyError(f"the endpoint broke the reply off: {ended}", reply, code="server_error", retryable=True)
        return checked(reply)


def response_format(request: ModelRequest) -> dict[str, Any]:
    """The form of an answer, https://platform.openai.com/docs/guides/structured-outputs; {} where none is asked for."""
    schema = request.answer_schema
    if not schema:
        return {}
    named = {"name": "answer", "schema": schema, "strict": strict(schema)}
    return {"response_format": {"type": "json_schema", "json_schema": named}}


def max_tokens_key(model: OpenAIModel) -> str:
    """The name of the limit of a reply: OpenAI's reasoning models refuse the old one, most servers know no other."""
    return model.capabilities.max_tokens_key or ("max_completion_tokens" if model.is_openai else "max_tokens")


def _content(message: Message) -> str | list[dict[str, Any]]:
    """https://platform.openai.com/docs/guides/images-vision"""
    if not message.images:
        return message.content
    return [_part(part) for part in parts_of(message.content, message.images)]


def _part(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image_url", "image_url": {"url": part.url}}


def _write_call(call: ToolRequest, whole: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": sendable_name(call.name), "arguments": sendable_arguments(call.arguments)}
    return {**whole, "id": call.id, "type": "function", "function": function}


def _read_message(choice: object, turn: int) -> tuple[Message, FinishReason]:
    wire = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(wire, dict):
        raise bad_reply("the endpoint's reply has a choice without a message")
    raw = _calls_in(wire)
    calls = read_calls(
        ((call.get("id"), call["function"].get("name"), call["function"].get("arguments")) for call in raw), turn
    )
    key, told, thoughts = _thoughts_in(wire)
    refusal = text_of(wire.get("refusal"))
    message = Message(
        role="assistant",
        content=text_of(wire.get("content")) or refusal,
        reasoning=told,
        reasoning_key=key,
        items=(*thoughts, *_more_than_plain(raw, calls)),
        tool_calls=calls,
    )
    return message, "refusal" if refusal else FINISH_REASONS.get(str(choice.get("finish_reason")), "other")


def _index(choice: object) -> int:
    """A choice's place among the choices; the order in which they came says nothing."""
    number = choice.get("index") if isinstance(choice, dict) else None
    return number if type(number) is int else 0


def _calls_in(wire: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The calls of a message, or its one `function_call`, as older servers write it; beside a text, one without a name
    is none.

    Raises ModelError where they cannot be read: what was said beside a call that is lost is no answer.
    """
    old = wire.get("function_call")
    if isinstance(old, dict) and old.get("name") in ("", None) and text_of(wire.get("content")):
        old = None
    written = wire.get("tool_calls") or ([{"function": old}] if old else [])
    if not isinstance(written, list):
        raise bad_reply("the tool calls in the reply are no list")
    if not all(isinstance(call, dict) and isinstance(call.get("function"), dict) for call in written):
        raise bad_reply("a tool call in the reply names no function")
    return written


def _thoughts_in(wire: Mapping[str, Any]) -> tuple[str, str, list[dict[str, Any]]]:
    """What the model thought: the key that it came by, as text, and the parts that have to go back as they are."""
    key = _reasoning_key(wire)
    told = text_of(wire.get(key))
    details = dicts_in(wire.get("reasoning_details"))
    if details:
        return key, told or _told_in(details), details
    parts = dicts_in(wire.get("content"))
    among = [text_of(part.get("thinking")) for part in parts if part.get("type") == "thinking"]
    return (_AMONG_THE_CONTENT, "\n\n".join(among), parts) if among and not told else (key, told, [])


def _reasoning_key(wire: Mapping[str, Any]) -> str:
    """The key under which reasoning came; one that holds an empty text counts where no other holds more."""
    there = [key for key in _REASONING_KEYS if isinstance(wire.get(key), str | list)]
    return next((key for key in there if text_of(wire[key])), there[0] if there else "")


def _told_in(details: list[dict[str, Any]]) -> str:
    return "\n\n".join(told for item in details if (told := text_of(item.get("text")) or text_of(item.get("summary"))))


def _more_than_plain(raw: list[dict[str, Any]], calls: tuple[ToolRequest, ...]) -> list[dict[str, Any]]:
    """The calls that hold more than a function, under the ids that the records give them."""
    return [
        {**item, "type": "function", "id": call.id}
        for item, call in zip(raw, calls, strict=True)
        if item.keys() - _PLAIN_CALL
    ]
