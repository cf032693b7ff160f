"""A server of models on 127.0.0.1 that fails the way real ones do: OpenAI's Chat Completions, text completions and
Responses, Anthropic's Messages (`anthropic.py`), Gemini's generateContent (`gemini.py`).

It plays steps in the order of the requests. A step is what happens to one request: `reply(...)`, `Status(...)`,
`Raw(...)`, `Hang()`, `Slow(...)`, `Until(...)`, `Drop()`, `Endless(...)`. A request beyond the last step is answered 418, which no test can overlook.
"""

import asyncio
import json
import socket
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.servers.batches import LOST, Answer, BatchDesk


@dataclass(frozen=True)
class Status:
    """An HTTP status with a JSON error body, or with `body` as it is."""

    status: int
    error: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None


@dataclass(frozen=True)
class Raw:
    """Status 200 with these bytes."""

    body: bytes
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Json:
    """Status 200 with this value as JSON."""

    value: Any


@dataclass(frozen=True)
class Hang:
    """No answer until the server closes; with `after_headers`, the headers and a first byte come."""

    after_headers: bool = False


@dataclass(frozen=True)
class Slow:
    """The step that follows it, `seconds` later."""

    seconds: float
    then: "Step"


@dataclass(frozen=True)
class Until:
    """The step that follows it, when something has happened."""

    happened: Callable[[], object]
    then: "Step"


@dataclass(frozen=True)
class Drop:
    """The connection breaks in the middle of the body."""


@dataclass(frozen=True)
class Endless:
    """A body of blanks for as long as anyone reads it."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Echo:
    """A refusal that quotes the Authorization header, as careless gateways do, late in a long message."""

    status: int = 400


Step = Status | Raw | Json | Hang | Slow | Until | Drop | Endless | Echo


def reply(
    content: Any = None,
    *tool_calls: tuple[str, Any],
    finish_reason: str | None = None,
    usage: Mapping[str, Any] | None = None,
    **message: Any,
) -> Json:
    """A well-formed completion; a tool call is (name, arguments), and arguments that are no text are sent as JSON."""
    calls = [
        {
            "id": f"call_{name}_{position}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for position, (name, given) in enumerate(tool_calls)
    ]
    body = {"role": "assistant", "content": content, **({"tool_calls": calls} if calls else {}), **message}
    return Json(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "served-model",
            "choices": [
                {"index": 0, "message": body, "finish_reason": finish_reason or ("tool_calls" if calls else "stop")}
            ],
            "usage": dict(usage or {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}),
        }
    )


class ChatServer:
    """`url` is the endpoint for a model record; `requests` the bodies received, `headers`, `paths` and `clients` (address
    and port) what came with each."""

    def __init__(self, url: str, closing: threading.Event) -> None:
        self.url = url
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.clients: list[object] = []
        self._steps: deque[Step] = deque()
        self._decide: Callable[[dict[str, Any]], Step] | None = None
        self._closing = closing
        self.batches = BatchDesk(self._answer_in_batch)

    def plays(self, *steps: Step) -> "ChatServer":
        """Appends steps."""
        self._steps.extend(steps)
        return self

    def answers(self, decide: Callable[[dict[str, Any]], Step]) -> "ChatServer":
        """Answers each request by what it asks, where no step is left; for runs of many trials in any order."""
        self._decide = decide
        return self

    @property
    def address(self) -> str:
        """The address without the version of an API."""
        return self.url.removesuffix("/v1")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the last request, or its input items."""
        last = self.requests[-1]
        return list(last["messages"] if "messages" in last else last["input"])

    async def complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.paths.append(request.url.path.partition("/v1")[2])
        self.clients.append(request.client)
        if self._steps:
            return await self._play(self._steps.popleft(), request)
        if self._decide:
            return await self._play(self._decide(body), request)
        return JSONResponse({"error": {"message": "the server was told of no further step"}}, 418)

    def _answer_in_batch(self, body: dict[str, Any]) -> Answer:
        step = self._decide(body) if self._decide else Status(418)
        if isinstance(step, Status):
            return step.status, {"error": dict(step.error or {"message": f"planned {step.status}"})}
        return (200, step.value) if isinstance(step, Json) else LOST

    async def _play(self, step: Step, request: Request) -> Response:
        match step:
            case Status(status, error, headers, None):
                inner = dict(error) if error is not None else {"message": f"planned {status}"}
                return JSONResponse({"error": inner}, status, dict(headers))
            case Status(status, _, headers, body):
                return Response(body, status, dict(headers), "text/html")
            case Raw(body, content_type, headers):
                return Response(body, 200, dict(headers), content_type)
            case Json(value):
                # Escaped, so that a lone surrogate can be served as well.
                return Response(json.dumps(value), 200, media_type="application/json")
            case Slow(_, then) | Until(_, then):
                await self._wait(step)
                return await self._play(then, request)
            case Echo(status):
                said = f"no such thing for {request.headers.get('authorization')}"
                return JSONResponse({"error": {"message": "x" * 465 + said}}, status)
            case Drop():
                return Response(b'{"id": "chatcmpl', 200, {"content-length": "5000"})
            case Endless(status, headers):
                return StreamingResponse(self._blanks(), status, dict(headers))
            case Hang(after_headers):
                return await self._hang(after_headers)

    async def _wait(self, step: Slow | Until) -> None:
        if isinstance(step, Slow):
            await asyncio.sleep(step.seconds)
            return
        while not (step.happened() or self._closing.is_set()):  # noqa: ASYNC110 - nobody tells this loop
            await asyncio.sleep(0.02)

    async def _hang(self, after_headers: bool) -> Response:
        if after_headers:
            return StreamingResponse(self._one_byte(), 200, media_type="application/json")
        await self._until_closed()
        return Response(status_code=503)

    async def _until_closed(self) -> None:
        while not self._closing.is_set():  # noqa: ASYNC110 - it is set from another thread
            await asyncio.sleep(0.02)

    async def _blanks(self) -> Any:
        while not self._closing.is_set():
            yield b" " * 65_536
            await asyncio.sleep(0)

    async def _one_byte(self) -> Any:
        yield b"{"
        await self._until_closed()


_OF_BATCHES = (
    ("files", "POST", "upload"),
    ("files/{id}/content", "GET", "content"),
    ("batches", "POST", "create"),
    ("batches", "GET", "page"),
    ("batches/{id}", "GET", "standing"),
)


class ChatServers:
    """One listening socket for all tests, since starting and stopping a server takes longer than most of them; each
    test has an address, and so a server, of its own.

    It runs in a thread, so that synchronous tests and subprocesses can use it too.
    """

    def __init__(self) -> None:
        self._open: dict[str, ChatServer] = {}
        self._numbers = count()

    @contextmanager
    def running(self) -> Iterator["ChatServers"]:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            # Listening before anyone is told the address: a first request may wait, but is never refused.
            listening.listen(128)
            self._port = listening.getsockname()[1]
            paths = ("chat/completions", "completions", "responses", "pooling", "score", "predict", "messages")
            routes = [Route(f"/{{key}}/v1/{path}", self._complete, methods=["POST"]) for path in paths]
            for path, method, name in _OF_BATCHES:
                routes.append(Route(f"/{{key}}/v1/{path}", self._at_the_desk(name), methods=[method]))
            routes.append(Route("/{key}/{version}/models/{method:path}", self._complete, methods=["POST"]))
            app = Starlette(routes=routes)
            # A planned broken body makes uvicorn complain in its log; that is the point of it.
            config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1, ws="none")
            server = uvicorn.Server(config)
            thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
            thread.start()
            try:
                yield self
            finally:
                server.should_exit = True
                thread.join(10)

    @contextmanager
    def server(self) -> Iterator[ChatServer]:
        """A server for one test; requests that still hang when it ends are let go."""
        key, closing = f"test-{next(self._numbers)}", threading.Event()
        server = ChatServer(f"http://127.0.0.1:{self._port}/{key}/v1", closing)
        self._open[key] = server
        try:
            yield server
        finally:
            del self._open[key]
            closing.set()

    async def _complete(self, request: Request) -> Response:
        server = self._open.get(request.path_params["key"])
        return await server.complete(request) if server else Response(status_code=410)

    def _at_the_desk(self, name: str) -> Callable[[Request], Awaitable[Response]]:
        async def serve(request: Request) -> Response:
            server = self._open.get(request.path_params["key"])
            return await getattr(server.batches, name)(request) if server else Response(status_code=410)

        return serve


def closed_port() -> int:
    """A port of 127.0.0.1 on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
