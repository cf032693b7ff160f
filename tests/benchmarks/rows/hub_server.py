"""As much of the Hugging Face hub as it takes to download a dataset, on 127.0.0.1."""

import hashlib
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Files = Mapping[str, bytes]


def git_digest(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class HubServer:
    """`datasets` maps a repository to its revisions, and these to files; `gated` ones ask for consent, and while `down`
    all is answered 503. The paths that were asked for are kept in `asked`."""

    port: int = 0
    datasets: dict[str, dict[str, Files]] = field(default_factory=dict)
    gated: set[str] = field(default_factory=set)
    down: bool = False
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def info(self, request: Request) -> Response:
        repository, revision, files = self._found(request)
        if repository in self.gated:
            return refusal(403, "GatedRepo")
        if files is None:
            return refusal(404, "RevisionNotFound" if repository in self.datasets else "RepoNotFound")
        siblings = [{"rfilename": name} for name in files]
        return JSONResponse({"id": repository, "sha": commit(repository, revision), "siblings": siblings})

    async def tree(self, request: Request) -> Response:
        _, _, files = self._found(request)
        return JSONResponse(
            [
                {"type": "file", "path": name, "size": len(content), "oid": git_digest(content)}
                for name, content in (files or {}).items()
            ]
        )

    async def file(self, request: Request) -> Response:
        repository, revision, files = self._found(request)
        content = (files or {}).get(request.path_params["file"])
        if content is None:
            return refusal(404, "EntryNotFound")
        headers = {"X-Repo-Commit": commit(repository, revision), "ETag": f'"{git_digest(content)}"'}
        return Response(content, headers=headers)

    def _found(self, request: Request) -> tuple[str, str, Files | None]:
        """The repository, its revision by name, and what that holds."""
        self.asked.append(request.url.path)
        repository = f"{request.path_params['owner']}/{request.path_params['name']}"
        revisions = self.datasets.get(repository, {})
        named = {commit(repository, name): name for name in revisions}
        revision = named.get(request.path_params["revision"], request.path_params["revision"])
        return repository, revision, revisions.get(revision)

    @contextmanager
    def running(self) -> Iterator["HubServer"]:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(32)
            self.port = listening.getsockname()[1]
            one, resolved = "{owner}/{name}", "/datasets/{owner}/{name}/resolve/{revision}/{file:path}"
            routes = [
                Route(f"/api/datasets/{one}/revision/{{revision}}", self.info),
                Route(f"/api/datasets/{one}/tree/{{revision}}", self.tree),
                Route(resolved, self.file, methods=["GET", "HEAD"]),
            ]
            config = uvicorn.Config(self._up(Starlette(routes=routes)), log_level="critical", lifespan="off", ws="none")
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                server.should_exit = True
                thread.join(10)

    def _up(self, app: Starlette) -> object:
        async def answer(scope: object, receive: object, send: object) -> None:
            await (Response(status_code=503) if self.down else app)(scope, receive, send)  # type: ignore[arg-type]

        return answer


def commit(repository: str, revision: str) -> str:
    return hashlib.sha1(f"{repository}@{revision}".encode()).hexdigest()


def refusal(status: int, code: str) -> Response:
    return JSONResponse({"error": code}, status, headers={"X-Error-Code": code})
