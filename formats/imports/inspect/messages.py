"""Messages of Inspect as ours."""

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from toolablate.formats.imports.inspect.ours import ours
from toolablate.traces.records import Artifact, Message, ToolRequest, Usage, clean_text

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, Content, ModelUsage

_DATA = "data:"
_BASE64 = ";base64,"
_ADDRESS_CHARS = 300
_SECRET = re.compile(r"key|secret|password|authorization|credential|(?:^|_)token$", re.IGNORECASE)


def message_of(message: "ChatMessage") -> Message:
    """What is no text is named in brackets: a message of ours holds none of it."""
    text, reasoning = _parts(message.content)
    if message.role == "tool" and message.error is not None:
        # What a model reads of a call that went wrong.
        text = text or clean_text(message.error.message)
    kept = ours(message.metadata)
    return Message(
        role=message.role,
        content=text,
        reasoning=reasoning,
        reasoning_key=str(kept.get("reasoning_key", "")),
        items=tuple(kept.get("items", ())),
        tool_calls=tuple(
            ToolRequest(
                id=clean_text(call.id),
                name=clean_text(call.function),
                arguments=_written(call.arguments, kept.get("arguments", {}).get(call.id)),
            )
            for call in (message.tool_calls or () if message.role == "assistant" else ())
        ),
        tool_call_id=clean_text(message.tool_call_id or "") if message.role == "tool" else "",
    )


def text_of(content: "str | Sequence[Content]") -> str:
    return _parts(content)[0]


def _parts(content: "str | Sequence[Content]") -> tuple[str, str]:
    """What is said, and what was thought."""
    if isinstance(content, str):
        return clean_text(content), ""
    said, thought = [], []
    for part in content:
        if part.type == "text":
            said.append(part.text)
        elif part.type == "reasoning":
            thought.append((part.summary or "") if part.redacted else part.reasoning)
        elif part.type == "tool_use":
            said.append(f"[{part.name} {part.arguments}: {part.error or part.result}]")
        else:
            said.append(f"[{part.type}{_address(part)}]")
    return clean_text("\n".join(said)), clean_text("\n".join(thought))


def _address(part: "Content") -> str:
    """Of what lies elsewhere: its content is not in the log, and nothing here fetches it."""
    held = getattr(part, part.type, "")
    return f" {held[:_ADDRESS_CHARS]}" if isinstance(held, str) and held and not held.startswith(_DATA) else ""


def artifacts_of(content: Any) -> tuple[Artifact, ...]:
    """The images among what a tool gave; those that are addresses stay away, since nothing here fetches them."""
    images = [part.image for part in content if getattr(part, "type", "") == "image"] if _is_parts(content) else []
    if getattr(content, "type", "") == "image":
        images = [content.image]
    return tuple(_artifact(image) for image in images if image.startswith(_DATA) and _BASE64 in image)


def result_of(result: Any) -> str:
    """What a tool gave, as text."""
    if isinstance(result, str):
        return clean_text(result)
    if _is_parts(result):
        return text_of(result)
    if hasattr(result, "type"):
        return text_of([result])
    return json.dumps(result) if isinstance(result, bool | int | float) else clean_text(str(result))


def _is_parts(content: Any) -> bool:
    return isinstance(content, Sequence) and not isinstance(content, str)


def _artifact(image: str) -> Artifact:
    mime, _, data = image.removeprefix(_DATA).partition(_BASE64)
    return Artifact(mime=mime, data=data)


def _written(arguments: dict[str, Any], text: object) -> str:
    return text if isinstance(text, str) else clean_text(json.dumps(arguments, ensure_ascii=False))


def usage_of(usage: "ModelUsage | None") -> Usage:
    """Inspect counts what came from a cache or went there apart from its `input_tokens`; ours has it among them."""
    if usage is None:
        return Usage()
    cached, written = usage.input_tokens_cache_read, usage.input_tokens_cache_write
    return Usage(
        input_tokens=usage.input_tokens + (cached or 0) + (written or 0),
        output_tokens=usage.output_tokens,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=usage.reasoning_tokens,
    )


def json_of(value: Any) -> JsonValue:
    """As JSON, without what may be a key."""
    if isinstance(value, dict):
        return {clean_text(str(key)): json_of(each) for key, each in value.items() if not _SECRET.search(str(key))}
    text = clean_text(json.dumps(value, default=str, ensure_ascii=False))
    plain: JsonValue = json.loads(text, parse_constant=lambda _: None)
    if isinstance(plain, dict):
        return json_of(plain)
    return [json_of(each) for each in plain] if isinstance(plain, list) else plain
