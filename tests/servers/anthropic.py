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


def server_tool_use(name: str, given: dict[str, Any], identity: str) -> dict[str, Any]:
    """A call that the API makes by itself."""
    return {"type": "server_tool_use", "id": identity, "name": name, "input": given}


def found(identity: str, *pages: tuple[str, str]) -> dict[str, Any]:
    """What a web search found: (title, address) of each page, whose text is encrypted."""
    results = [
        {"type": "web_search_result", "title": title, "url": url, "encrypted_content": "EqgfCioIARgB", "page_age": None}
        for title, url in pages
    ]
    return {"type": "web_search_tool_result", "tool_use_id": identity, "content": results}


def result(kind: str, identity: str, **content: Any) -> dict[str, Any]:
    """Of another tool, or of one that failed: `web_search_tool_result_error`, `bash_code_execution_result` ..."""
    block = kind.removesuffix("_error") if kind.endswith("_error") else kind.replace("_result", "_tool_result")
    return {"type": block, "tool_use_id": identity, "content": {"type": kind, **content}}


def cited(said: str, url: str, title: str, words: str) -> dict[str, Any]:
    """A text that cites a page of a search."""
    place = {"type": "web_search_result_location", "encrypted_index": "Eo8BCioIAhgB"}
    return text(said) | {"citations": [{**place, "url": url, "title": title, "cited_text": words}]}


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
