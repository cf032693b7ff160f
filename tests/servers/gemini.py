"""Bodies of Gemini's generateContent: https://ai.google.dev/api/generate-content, errors by
https://cloud.google.com/apis/design/errors."""

import base64
import json
from typing import Any

from tests.servers.chat_server import Json, Status

SIGNATURE = base64.b64encode(b"a thought, encrypted").decode()

_STATUSES = {
    "INVALID_ARGUMENT": 400,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 429,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"text": said, **more}


def thought(said: str) -> dict[str, Any]:
    return {"text": said, "thought": True}


def call(name: str, arguments: dict[str, Any], signature: str = "") -> dict[str, Any]:
    signed = {"thoughtSignature": signature} if signature else {}
    return {"functionCall": {"name": name, "args": arguments}, **signed}


def ran(code: str, output: str, outcome: str = "OUTCOME_OK") -> tuple[dict[str, Any], dict[str, Any]]:
    """Code that the API ran by itself, and what it printed."""
    return (
        {"executableCode": {"language": "PYTHON", "code": code}},
        {"codeExecutionResult": {"outcome": outcome, "output": output}},
    )


def grounded(reply: Json, *queries: str, pages: tuple[tuple[str, str], ...] = ()) -> Json:
    """A reply that a search of Google's was made for, and the (title, address) of the pages that it cites."""
    chunks = [{"web": {"title": title, "uri": uri}} for title, uri in pages]
    segment = {"startIndex": 0, "endIndex": 6, "text": "Answer"}
    support = {"segment": segment, "groundingChunkIndices": [0], "confidenceScores": [0.9]}
    (candidate,) = reply.value["candidates"]
    candidate["groundingMetadata"] = {
        "webSearchQueries": list(queries),
        "groundingChunks": chunks,
        "groundingSupports": [support] if pages else [],
        "searchEntryPoint": {"renderedContent": "<div>long</div>"},
    }
    return reply


def content(*parts: dict[str, Any], finish_reason: str = "STOP", **usage: Any) -> Json:
    told = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15, **usage}
    candidate = {"content": {"parts": list(parts), "role": "model"}, "finishReason": finish_reason, "index": 0}
    return Json({"candidates": [candidate], "usageMetadata": told, "modelVersion": "gemini-served"})


def blocked(reason: str = "PROHIBITED_CONTENT") -> Json:
    """A prompt that was refused: no candidate, but why."""
    usage = {"promptTokenCount": 10, "totalTokenCount": 10}
    return Json({"promptFeedback": {"blockReason": reason}, "usageMetadata": usage, "modelVersion": "gemini-served"})


def error(kind: str, said: str, *, wait: int | None = None) -> Status:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{wait}s"}] if wait else []
    body = {"error": {"code": _STATUSES[kind], "message": said, "status": kind, "details": details}}
    return Status(_STATUSES[kind], headers={"content-type": "application/json"}, body=json.dumps(body))
