"""Files and batches of an endpoint: https://platform.openai.com/docs/api-reference/batch."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolablate.agents.endpoint.transport import Transport
from toolablate.agents.endpoint.wire import dicts_in, text_of
from toolablate.tools.text import one_line
from toolablate.traces.errors import ModelError

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""Of one file: 200 MB, less what else is sent with it."""

# A file of requests or replies may take long; the rest comes at once.
_FILE_SECONDS = 1800.0
_SECONDS = 120.0
_MOST_FILE_BYTES = 4_000_000_000
_MOST_PAGES = 50
_TOKEN_KEY = "toolablate"  # noqa: S105 - the name of a batch's metadata
_ENDED = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True, slots=True)
class Standing:
    """A batch as its endpoint tells it; `files` are those of replies and of errors."""

    id: str
    status: str
    done: int
    total: int
    files: tuple[str, ...]
    errors: tuple[tuple[str, str], ...]

    @property
    def has_ended(self) -> bool:
        return self.status in _ENDED


@dataclass(frozen=True, slots=True)
class CameInBatch:
    """What came for one request: the status and body of its reply."""

    status: int
    body: object


class BatchApi:
    """Every method raises ModelError as `Transport.post` does."""

    def __init__(self, transport: Transport, path: str) -> None:
        self._transport = transport
        # Whatever stands before it in the endpoint's address.
        self._url = f"/v1{path}"

    def line(self, name: str, body: bytes) -> bytes:
        """A request as its line of a file."""
        head = json.dumps({"custom_id": name, "method": "POST", "url": self._url}).encode()
        return head[:-1] + b', "body": ' + body + b"}\n"

    async def upload(self, token: str, lines: bytes) -> str:
        """The id of a file of such lines."""
        mark = f"toolablate-{token}"
        parts = (
            f'--{mark}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--{mark}\r\n'
            f'Content-Disposition: form-data; name="file"; filename="{mark}.jsonl"\r\n'
            "Content-Type: application/jsonl\r\n\r\n"
        )
        content = parts.encode() + lines + f"\r\n--{mark}--\r\n".encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={mark}"}
        raw = await self._transport.exchange("POST", "/files", content, seconds=_FILE_SECONDS, headers=headers)
        return _id_in(self._transport.object_in(raw))

    async def create(self, token: str, file: str) -> str:
        """The id of a new batch, which `find` finds by the token."""
        asked = {
            "input_file_id": file,
            "endpoint": self._url,
            "completion_window": "24h",
            "metadata": {_TOKEN_KEY: token},
        }
        content = json.dumps(asked).encode()
        raw = await self._transport.exchange("POST", "/batches", content, seconds=_SECONDS)
        return _id_in(self._transport.object_in(raw))

    async def find(self, token: str) -> str:
        """The id of the batch that was made with the token; "" where there is none."""
        after = ""
        for _ in range(_MOST_PAGES):
            page = await self._get(f"/batches?limit=100{f'&after={after}' if after else ''}")
            batches = dicts_in(page.get("data"))
            for batch in batches:
                metadata = batch.get("metadata")
                if isinstance(metadata, dict) and metadata.get(_TOKEN_KEY) == token:
                    return _id_in(batch)
            if not batches or page.get("has_more") is not True:
                break
            after = _id_in(batches[-1])
        return ""

    async def standing(self, identity: str) -> Standing:
        batch = await self._get(f"/batches/{identity}")
        counts, errors = batch.get("request_counts"), batch.get("errors")
        counts = counts if isinstance(counts, dict) else {}
        told = dicts_in(errors.get("data")) if isinstance(errors, dict) else []
        files = (text_of(batch.get(key)) for key in ("output_file_id", "error_file_id"))
        return Standing(
            id=identity,
            status=one_line(text_of(batch.get("status")), 40),
            done=_count(counts.get("completed")) + _count(counts.get("failed")),
            total=_count(counts.get("total")),
            files=tuple(file for file in files if file),
            errors=tuple((text_of(error.get("code")), one_line(text_of(error.get("message")), 300)) for error in told),
        )

    async def replies(self, standing: Standing) -> dict[str, CameInBatch]:
        """What came, by the names of the requests; where there are two for one, the reply."""
        found: dict[str, CameInBatch] = {}
        for file in standing.files:
            path = f"/files/{file}/content"
            raw = await self._transport.exchange("GET", path, seconds=_FILE_SECONDS, most_bytes=_MOST_FILE_BYTES)
            for name, came in _read(raw):
                found.setdefault(name, came)
        return found

    async def _get(self, path: str) -> dict[str, Any]:
        return self._transport.object_in(await self._transport.exchange("GET", path, seconds=_SECONDS))


def _read(raw: bytes) -> Iterator[tuple[str, CameInBatch]]:
    """A line that is broken, or only says that its batch ended first (`batch_expired`, `batch_cancelled`), is missed by
    who asked it."""
    for line in raw.split(b"\n"):
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(told, dict) and isinstance(told.get("custom_id"), str):
            response, error = told.get("response"), told.get("error")
            if isinstance(response, dict):
                status = response.get("status_code")
                yield told["custom_id"], CameInBatch(status if type(status) is int else 200, response.get("body"))
            elif not (isinstance(error, dict) and text_of(error.get("code")).startswith("batch_")):
                yield told["custom_id"], CameInBatch(500, {"error": error})


def _count(value: object) -> int:
    return value if type(value) is int else 0


def _id_in(body: Mapping[str, Any]) -> str:
    identity = text_of(body.get("id"))
    if not identity or not all(sign.isalnum() or sign in "-_." for sign in identity):
        raise ModelError("the endpoint's reply has no id of a file or batch", code="bad_reply")
    return identity
