"""What a Responses endpoint answers with, and endpoints that insist on what their models thought."""

import json
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

from tests.servers.chat_server import Json, Status, Step

_numbers = count()


def response(*output: Mapping[str, Any], status: str = "completed", **body: Any) -> Json:
    """A well-formed response of these items."""
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    return Json(
        {
            "id": "resp_1",
            "object": "response",
            "created_at": 1,
            "model": "served-model",
            "status": status,
            "error": None,
            "incomplete_details": None,
            "output": [dict(item) for item in output],
            "usage": usage,
            **body,
        }
    )


def says(text: str, **part: Any) -> dict[str, Any]:
    content = {"type": "output_text", "text": text, "annotations": [], **part}
    return _message(content)


def declines(text: str) -> dict[str, Any]:
    return _message({"type": "refusal", "refusal": text})


def calls(name: str, arguments: Any, call_id: str = "") -> dict[str, Any]:
    number = next(_numbers)
    return {
        "id": f"fc_{number}",
        "type": "function_call",
        "status": "completed",
        "call_id": call_id or f"call_{number}",
        "name": name,
        "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
    }


def searched(*queries: str, sources: tuple[str, ...] = (), status: str = "completed") -> dict[str, Any]:
    """A web search of the endpoint's own; sources are there where `include` asks for them."""
    told = {"sources": [{"type": "url", "url": url} for url in sources]} if sources else {}
    action = {"type": "search", "query": queries[0], "queries": list(queries), **told}
    return {"id": f"ws_{next(_numbers)}", "type": "web_search_call", "status": status, "action": action}


def looked(kind: str, **action: str) -> dict[str, Any]:
    """`open_page` or `find_in_page` of the endpoint's web search."""
    action = {"type": kind, **action}
    return {"id": f"ws_{next(_numbers)}", "type": "web_search_call", "status": "completed", "action": action}


def ran(code: str, *outputs: dict[str, Any], container: str = "cntr_1", status: str = "completed") -> dict[str, Any]:
    """A call of the endpoint's code interpreter; outputs are there where `include` asks for them."""
    return {
        "id": f"ci_{next(_numbers)}",
        "type": "code_interpreter_call",
        "status": status,
        "code": code,
        "container_id": container,
        "outputs": list(outputs) or None,
    }


def cites(url: str, title: str) -> dict[str, Any]:
    """An annotation of a text that cites a page."""
    return {"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 6}


def thinks(summary: str = "", encrypted: str = "") -> dict[str, Any]:
    return {
        "id": f"rs_{next(_numbers)}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": summary}] if summary else [],
        **({"encrypted_content": encrypted} if encrypted else {}),
    }


def _message(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [dict(content)],
    }


def insisting_on(part: Callable[[dict[str, Any]], Any], *replies: Json) -> Callable[[dict[str, Any]], Step]:
    """A Chat Completions endpoint that answers 400 where a `part` of an assistant's message does not come back as it
    was given."""

    def decide(body: dict[str, Any]) -> Step:
        back = [message for message in body["messages"] if message["role"] == "assistant"]
        given = [reply.value["choices"][0]["message"] for reply in replies]
        if [part(message) for message in back] != [part(message) for message in given[: len(back)]]:
            said = "The reasoning_content in the thinking mode must be passed back to the API."
            return Status(400, {"message": said, "type": "invalid_request_error"})
        return replies[len(back)]

    return decide


def insisting_on_items(*replies: Json) -> Callable[[dict[str, Any]], Step]:
    """A Responses endpoint that keeps nothing, and answers 400 where an item that it gave does not come back."""

    def decide(body: dict[str, Any]) -> Step:
        if body["store"] is not False or "reasoning.encrypted_content" not in body["include"]:
            return Status(400, {"message": "Items are not persisted when `store` is set to false."})
        back = [item for item in body["input"] if "type" in item and item["type"] != "function_call_output"]
        given: list[Any] = []
        for reply in replies:
            if back == given:
                return reply
            given += reply.value["output"]
        return Status(400, {"message": "Item 'fc_1' was provided without its required 'reasoning' item."})

    return decide
