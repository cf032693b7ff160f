"""The files and batches of OpenAI's API, as the types of the package `openai` tell them; what a line is answered is the
chat server's."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from email.parser import BytesParser
from itertools import count
from typing import Any, Literal

from openai.types import Batch, FileObject
from openai.types.batch import Errors
from openai.types.batch_error import BatchError
from openai.types.batch_request_counts import BatchRequestCounts
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

Ending = Literal["completed", "expired", "failed", "cancelled"]
LOST = "lost"
"""What a line is answered that is to be in no file."""

Answer = tuple[int, Any] | Literal["lost"]


@dataclass
class BatchDesk:
    """`made` are the batches in their order, by their ids. While `held`, none of them ends; `endings` say how the next
    ones end, of which the expired and the cancelled have answered half of their lines. With `forgets`, the reply to the
    next creation of a batch does not arrive."""

    answer: Callable[[dict[str, Any]], Answer]
    offered: bool = True
    held: bool = False
    forgets: bool = False
    endings: list[Ending] = field(default_factory=list)
    made: dict[str, dict[str, Any]] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    polls: int = 0
    _numbers: Any = field(default_factory=count)

    async def upload(self, request: Request) -> Response:
        if not self.offered:
            return JSONResponse({"error": {"message": "Invalid URL (POST /v1/files)"}}, 404)
        head = f"Content-Type: {request.headers['content-type']}\r\n\r\n".encode()
        parts = BytesParser().parsebytes(head + await request.body()).get_payload()
        fields = {part.get_param("name", header="content-disposition"): part for part in parts}
        assert fields["purpose"].get_payload() == "batch"
        content = fields["file"].get_payload(decode=True)
        identity = self._keep(content)
        told = FileObject(
            id=identity,
            bytes=len(content),
            created_at=1,
            filename=fields["file"].get_filename(),
            object="file",
            purpose="batch",
            status="processed",
        )
        return JSONResponse(told.model_dump(mode="json"))

    async def create(self, request: Request) -> Response:
        asked = await request.json()
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines()]
        assert asked["completion_window"] == "24h"
        assert {line["url"] for line in lines} == {asked["endpoint"]}
        assert {line["method"] for line in lines} == {"POST"}
        assert len({line["custom_id"] for line in lines}) == len(lines)
        identity = f"batch_{next(self._numbers)}"
        ending = self.endings.pop(0) if self.endings else "completed"
        self.made[identity] = {"asked": asked, "lines": lines, "ending": ending}
        if self.forgets:
            self.forgets = False
            return JSONResponse({"error": {"message": "try again"}}, 500)
        return self._told(identity)

    async def page(self, request: Request) -> Response:
        """The newest first, one on each page."""
        after = request.query_params.get("after")
        newest = list(reversed(self.made))
        rest = newest[newest.index(after) + 1 :] if after else newest
        data = [self._batch(identity).model_dump(mode="json") for identity in rest[:1]]
        return JSONResponse({"object": "list", "data": data, "has_more": len(rest) > 1})

    async def standing(self, request: Request) -> Response:
        self.polls += 1
        identity = request.path_params["id"]
        if identity not in self.made:
            return JSONResponse({"error": {"message": f"No batch found with id {identity!r}."}}, 404)
        return self._told(identity)

    async def content(self, request: Request) -> Response:
        return Response(self.files[request.path_params["id"]], media_type="application/octet-stream")

    def _told(self, identity: str) -> Response:
        return JSONResponse(self._batch(identity).model_dump(mode="json"))

    def _batch(self, identity: str) -> Batch:
        kept = self.made[identity]
        lines, ending = kept["lines"], kept["ending"]
        if not self.held and "files" not in kept:
            kept["files"] = self._answered(lines, ending)
        output, errors = kept.get("files", (None, None))
        return Batch(
            id=identity,
            completion_window="24h",
            created_at=1,
            endpoint=kept["asked"]["endpoint"],
            input_file_id=kept["asked"]["input_file_id"],
            object="batch",
            status="in_progress" if self.held else ending,
            metadata=kept["asked"].get("metadata"),
            output_file_id=output,
            error_file_id=errors,
            errors=Errors(data=[BatchError(code="token_limit_exceeded", message="Enqueued token limit reached")])
            if ending == "failed" and not self.held
            else None,
            request_counts=BatchRequestCounts(completed=0, failed=0, total=len(lines)),
        )

    def _answered(self, lines: list[dict[str, Any]], ending: Ending) -> tuple[str | None, str | None]:
        """In another order than they were asked."""
        if ending == "failed":
            return None, None
        done = lines if ending == "completed" else lines[: len(lines) // 2]
        good, bad = [], []
        for line in reversed(done):
            answer = self.answer(line["body"])
            if answer == LOST:
                continue
            status, body = answer
            response = {"status_code": status, "request_id": "r", "body": body}
            told = {"id": "batch_req", "custom_id": line["custom_id"], "response": response, "error": None}
            (good if status == 200 else bad).append(told)
        for line in lines[len(done) :]:
            error = {"code": f"batch_{ending}", "message": "This request could not be executed in time."}
            bad.append({"id": "batch_req", "custom_id": line["custom_id"], "response": None, "error": error})
        return self._file(good), self._file(bad)

    def _file(self, lines: list[dict[str, Any]]) -> str | None:
        return self._keep("".join(f"{json.dumps(line)}\n" for line in lines).encode()) if lines else None

    def _keep(self, content: bytes) -> str:
        identity = f"file-{next(self._numbers)}"
        self.files[identity] = content
        return identity
