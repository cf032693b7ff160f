"""Conversations as LangChain's messages, and its replies as records.

A reply that is more than text and calls (thoughts with their signatures, redacted thoughts, what a class keeps beside
the content) is kept whole as the one item of its message, and goes back as it came.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic_core import to_jsonable_python

from toolablate.agents.chat import NoReplyError
from toolablate.agents.endpoint.completions import BROKEN_OFF, FINISH_REASONS
from toolablate.agents.endpoint.wire import (
    checked,
    count_in,
    dicts_in,
    pictures_of,
    read_calls,
    results_up_to,
    sendable_arguments,
    sendable_name,
    text_of,
)
from toolablate.agents.provider_tools import GROUNDING, LANGCHAIN
from toolablate.traces.records import (
    FinishReason,
    Message,
    ModelReply,
    ModelRequest,
    Picture,
    ToolRequest,
    Usage,
    clean_text,
)
from toolablate.traces.records.pictures import order_of, parts_of, picture_of_base64

_CALLS = frozenset({"tool_use", "tool_call", "function_call", "invalid_tool_call"})
# What the calls of the message say already.
_CALLS_AGAIN = frozenset({"tool_calls", "function_call"})
# What a class wants to know of a message that it gave.
_KEPT_METADATA = ("model_provider", "output_version")
# The names that providers have for why a reply ended, and for the reasons; compared in lower case.
_ENDED = ("finish_reason", "stop_reason", "stopReason", "done_reason")
_REASONS: dict[str, FinishReason] = {
    **FINISH_REASONS,
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "paused",
    "complete": "stop",
    "completed": "stop",
    "tool_use": "tool_calls",
    "tool_call": "tool_calls",
    "max_output_tokens": "length",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "blocklist": "content_filter",
    "prohibited_content": "content_filter",
    "spii": "content_filter",
    "image_safety": "content_filter",
}


# How tools that are shown and may not be called are written, for classes of packages that know a way.
BARRED: dict[str, Any] = {"langchain_anthropic": {"type": "none"}}
BARRED_BY_WORD = ("langchain_openai", "langchain_google_genai", "langchain_mistralai", "langchain_groq")


# What is asked.


def written(request: ModelRequest, *, in_results: bool = True) -> list[BaseMessage]:
    """The request's messages, in order. Images of tools stand `in_results`, or in a user's message behind them."""
    names = {call.id: call.name for message in request.messages for call in message.tool_calls}
    messages: list[BaseMessage] = []
    for place, message in enumerate(request.messages):
        results = () if in_results else results_up_to(request.messages, place)
        plain = message.role == "tool" and not in_results
        messages.append(_written(message.model_copy(update={"images": ()}) if plain else message, names))
        parts: list[str | dict[str, Any]] = [_block(part) for part in pictures_of(results)]
        if parts:
            messages.append(HumanMessage(parts))
    return messages


def written_message(message: Message) -> BaseMessage:
    """One of them, by itself."""
    return _written(message, {})


def _written(message: Message, names: Mapping[str, str]) -> BaseMessage:
    if message.role == "system":
        return SystemMessage(message.content)
    if message.role == "user":
        return HumanMessage(content=_content(message))
    if message.role == "tool":
        name = names.get(message.tool_call_id)
        return ToolMessage(_content(message), tool_call_id=message.tool_call_id, name=name and sendable_name(name))
    kept: Mapping[str, Any] = next((item for item in message.items if item.get("type") == LANGCHAIN), {})
    calls = [_written_call(call) for call in message.tool_calls]
    return AIMessage(
        content=_without_lost_calls(kept["content"], message) if kept else message.content,
        tool_calls=calls,
        additional_kwargs=dict(kept.get("additional_kwargs", {})),
        response_metadata=dict(kept.get("response_metadata", {})),
    )


def _content(message: Message) -> str | list[str | dict[str, Any]]:
    """With the standard blocks of LangChain, which its classes write as their APIs want them."""
    if not message.images:
        return message.content
    return [_block(part) for part in parts_of(message.content, message.images)]


def _block(part: str | Picture) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    return {"type": "image", "base64": part.data, "mime_type": part.mime}


def _written_call(call: ToolRequest) -> dict[str, Any]:
    arguments = json.loads(sendable_arguments(call.arguments))
    return {"name": sendable_name(call.name), "args": arguments, "id": call.id, "type": "tool_call"}


def _without_lost_calls(content: Any, message: Message) -> Any:
    """A replay may take a call out of its message."""
    if not isinstance(content, list):
        return content
    there = {call.id for call in message.tool_calls}
    return [block for block in content if not _is_call(block) or (block.get("call_id") or block.get("id")) in there]


def _is_call(block: object) -> bool:
    return isinstance(block, dict) and block.get("type") in _CALLS


def written_tools(request: ModelRequest) -> list[dict[str, Any]]:
    """In the form that every class of LangChain takes."""
    ours = ({"type": "function", "function": tool.model_dump(mode="json")} for tool in request.tools)
    return [*ours, *request.provider_tools]


# What is replied.


def read(message: BaseMessage, turn: int, blank: Callable[[str], str]) -> ModelReply:
    """The reply in a message of LangChain. `turn` counts the model's turns before this one; `blank` takes the key out
    of a text. Raises NoReplyError; ValidationError where it cannot be recorded."""
    if not isinstance(message, AIMessage):
        message = AIMessage(message.content)
    told = _told(message, blank)
    metadata = told["response_metadata"]
    said = _said(told, turn)
    calls = said.tool_calls
    finish_reason = _finish_reason(metadata, calls)
    reply = ModelReply(
        message=said,
        finish_reason=finish_reason,
        usage=_usage(told["usage"]),
        model=text_of(metadata.get("model_name")) or text_of(metadata.get("model")),
        response_id=text_of(metadata.get("id")) or _given_id(message),
        logprobs=metadata.get("logprobs") or None,
    )
    if _ended(metadata) in BROKEN_OFF:
        raise NoReplyError("the endpoint broke the reply off", reply, code="server_error", retryable=True)
    if finish_reason == "refusal" and not (reply.message.content.strip() or calls):
        raise NoReplyError("the provider stopped the reply as a refusal", reply, code="content_filter")
    return checked(reply)


def said_before(message: BaseMessage, turn: int, blank: Callable[[str], str]) -> Message:
    """A message of a conversation that somebody else holds, as a record; `turn` counts the model's before it."""
    if isinstance(message, AIMessage):
        return _said(_told(message, blank), turn)
    text, content = blank(clean_text(str(message.text))), _without_ids(_plain(message.content, blank))
    items = () if _is_text(content) else ({"type": LANGCHAIN, "content": content},)
    role = _ROLES.get(message.type) or _ROLES.get(getattr(message, "role", ""), "user")
    if role == "user" and (images := _pictures(content, text)):
        return Message(role=role, content=text, images=images)
    answers = str(getattr(message, "tool_call_id", ""))
    return Message(role=role, content=text, items=items, tool_call_id=answers)


def _without_ids(content: Any) -> Any:
    """Without the ids that LangChain draws at random for blocks that it makes (`lc_...`), as of what MCP tools give: a
    conversation is the same in every run."""
    if not isinstance(content, list):
        return content
    return [
        {name: value for name, value in block.items() if name != "id" or not str(value).startswith("lc_")}
        if isinstance(block, dict)
        else block
        for block in content
    ]


def _pictures(content: Any, text: str) -> tuple[Picture, ...]:
    """Those of a content that has nothing but texts and such images as requests of ours hold, as its marks number them;
    else none."""
    others = [block for block in dicts_in(content) if not _is_text([block])]
    found = [block.get("base64") for block in others if set(block) == {"type", "base64", "mime_type"}]
    try:
        pictures = [picture_of_base64(data) for data in found if isinstance(data, str)]
    except ValueError:
        return ()
    order = order_of(text, len(pictures))
    return tuple(pictures[order.index(number)] for number in sorted(order)) if len(pictures) == len(others) else ()


_ROLES: dict[str, Literal["system", "user", "assistant", "tool"]] = {
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "assistant": "assistant",
}


def _is_text(content: Any) -> bool:
    """Whether it has nothing but text, whole or in blocks."""
    blocks = content if isinstance(content, list) else []
    return all(isinstance(block, str) or (block.get("type") == "text" and len(block) == 2) for block in blocks)


def _told(message: AIMessage, blank: Callable[[str], str]) -> Any:
    return _plain(
        {
            "content": message.content,
            "text": str(message.text),
            "calls": [*message.tool_calls, *message.invalid_tool_calls],
            "additional_kwargs": message.additional_kwargs,
            "response_metadata": message.response_metadata,
            "usage": message.usage_metadata,
            "thoughts": list(filter(None, _thoughts(message))),
        },
        blank,
    )


def _said(told: Mapping[str, Any], turn: int) -> Message:
    return Message(
        role="assistant",
        content=told["text"],
        reasoning="\n\n".join(told["thoughts"]),
        items=_items(told),
        tool_calls=read_calls(((call["id"], call["name"], call["args"]) for call in told["calls"]), turn),
    )


def _plain(value: Any, blank: Callable[[str], str]) -> Any:
    """As JSON holds it: bytes in base64, no NaN, no lone surrogates, no key."""
    plain = to_jsonable_python(value, bytes_mode="base64", inf_nan_mode="null", fallback=str)
    text = blank(clean_text(json.dumps(plain, ensure_ascii=False)))
    return json.loads(text)


def _thoughts(message: AIMessage) -> Iterator[str]:
    """What the model thought, as far as it is told as text."""
    for block in dicts_in(message.content):
        if block.get("type") == "thinking":
            yield text_of(block.get("thinking"))
        elif block.get("type") in ("reasoning", "reasoning_content"):
            inner = block.get("reasoning_content")
            told = block.get("reasoning") or block.get("text") or (inner if isinstance(inner, str) else None)
            yield text_of(told) or text_of([inner]) or text_of(block.get("summary"))
    yield text_of(message.additional_kwargs.get("reasoning_content"))


def _items(told: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The message whole, where it is more than its text and its calls."""
    beside = {key: value for key, value in told["additional_kwargs"].items() if key not in _CALLS_AGAIN and value}
    grounding = told["response_metadata"].get("grounding_metadata")
    grounded = {key: grounding[key] for key in GROUNDING if grounding.get(key)} if isinstance(grounding, dict) else {}
    if isinstance(told["content"], str) and not (beside or grounded):
        return ()
    item = {"type": LANGCHAIN, "content": told["content"]}
    if beside:
        item["additional_kwargs"] = beside
    if grounded:
        item["grounding_metadata"] = grounded
    metadata = {key: told["response_metadata"][key] for key in _KEPT_METADATA if key in told["response_metadata"]}
    return (item | {"response_metadata": metadata} if metadata else item,)


def _ended(metadata: Mapping[str, Any]) -> str:
    """Why the reply ended, in the provider's own word."""
    word = next((str(metadata[key]) for key in _ENDED if metadata.get(key)), "").lower()
    details = metadata.get("incomplete_details")
    if isinstance(details, dict):
        word = word or str(details.get("reason", ""))
    feedback = metadata.get("prompt_feedback")
    if not word and isinstance(feedback, dict) and feedback.get("block_reason"):
        # Gemini refuses a prompt by a reply without candidates.
        return "prohibited_content"
    return word or (str(metadata["status"]) if isinstance(metadata.get("status"), str) else "")


def _finish_reason(metadata: Mapping[str, Any], calls: tuple[ToolRequest, ...]) -> FinishReason:
    word = _ended(metadata)
    reason = _REASONS.get(word, "other") if word else "stop"
    # Gemini and Ollama end a reply that calls tools by STOP.
    return "tool_calls" if calls and reason in ("stop", "paused", "other") else reason


def _usage(usage: object) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    details = usage.get("input_token_details")
    written = count_in(details, "cache_creation")
    # langchain-anthropic tells what was written by how long it is kept, and then 0 for all of it.
    kept = [count_in(details, f"ephemeral_{span}_input_tokens") for span in ("5m", "1h")]
    return Usage(
        input_tokens=count_in(usage, "input_tokens"),
        output_tokens=count_in(usage, "output_tokens"),
        cached_tokens=count_in(details, "cache_read"),
        cache_write_tokens=written or sum(each or 0 for each in kept) or written,
        reasoning_tokens=count_in(usage.get("output_token_details"), "reasoning"),
    )


def _given_id(message: AIMessage) -> str:
    """The provider's id; LangChain makes one up where there is none."""
    given = message.id or ""
    return "" if given.startswith(("run-", "lc_run-", "lc_")) else given
