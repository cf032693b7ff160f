"""From a server's result to what a model is shown and a trace keeps."""

import json
from typing import TYPE_CHECKING, Any

from toolablate.tools.likeness import NO_OUTPUT
from toolablate.tools.plain import plain_text
from toolablate.traces.records import Artifact, ToolReply

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MAX_OUTPUT_CHARS = 20_000
MAX_ARTIFACTS_CHARS = 2_000_000
"""Of all artifacts of one result together, as base64."""


def reply_of(result: "CallToolResult") -> ToolReply:
    """Texts one after the other; images and sounds as artifacts, with a word of them in the text."""
    texts: list[str] = []
    artifacts: list[Artifact] = []
    room = MAX_ARTIFACTS_CHARS
    for block in result.content:
        text, artifact = _block(block)
        texts.append(text)
        if artifact is not None and len(artifact.data) <= room:
            artifacts.append(artifact)
            room -= len(artifact.data)
    if not any(texts) and result.structured_content is not None:
        texts = [json.dumps(result.structured_content, ensure_ascii=False, default=str)]
    output = plain_text("\n".join(texts))
    return ToolReply(
        output=output[:MAX_OUTPUT_CHARS] or NO_OUTPUT,
        status="error" if result.is_error else "ok",
        error="mcp_error" if result.is_error else "",
        truncated=len(output) > MAX_OUTPUT_CHARS,
        artifacts=tuple(artifacts),
    )


def _block(block: Any) -> tuple[str, Artifact | None]:
    match block.type:
        case "text":
            return block.text, None
        case "image" | "audio":
            return f"[{block.type}: {block.mime_type}]", Artifact(mime=block.mime_type, data=block.data)
        case "resource":
            held = block.resource
            if hasattr(held, "text"):
                return held.text, None
            mime = held.mime_type or "application/octet-stream"
            return f"[resource {held.uri}: {mime}]", Artifact(mime=mime, data=held.blob)
        case "resource_link":
            return f"[resource {block.uri}: {block.name}]", None
        case other:
            return f"[{other}]", None
