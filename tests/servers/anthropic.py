"""Bodies of Anthropic's Messages API: https://docs.anthropic.com/en/api/messages, errors by
https://docs.anthropic.com/en/api/errors."""

import json
from typing import Any

from tests.servers.chat_server import Json, Status

SIGNATURE = "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"

_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "overloaded_error": 529,
}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def thinking(thought: str, signature: str = SIGNATURE) -> dict[str, Any]:
    return {"type": "thinking", "thinking": thought, "signature": signature}


def redacted(data: str = "EmwKAhgBEgy3va3pzix") -> dict[str, Any]:
    return {"type": "redacted_thinking", "data": data}


def tool_use(name: str, given: dict[str, Any], identity: str = "toolu_01A") -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": given}


def message(*content: dict[str, Any], stop_reason: str | None = None, **usage: Any) -> Json:
    """A reply; what is not told of its usage is what an API without a cache tells."""
    calls = any(block["type"] == "tool_use" for block in content)
    told = {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 5}
    return Json(
        {
            "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
            "type": "message",
            "role": "assistant",
            "model": "claude-served",
            "content": list(content),
            "stop_reason": stop_reason or ("tool_use" if calls else "end_turn"),
            "stop_sequence": None,
            "usage": {**told, "service_tier": "standard", **usage},
        }
    )


def error(kind: str, said: str, **headers: str) -> Status:
    body = {"type": "error", "error": {"type": kind, "message": said}, "request_id": "req_011"}
    return Status(_STATUSES[kind], headers={"content-type": "application/json", **headers}, body=json.dumps(body))
