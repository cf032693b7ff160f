"""python -m bench.runner.server [HOST]: a Chat Completions server that costs next to nothing, on 127.0.0.1 by default.

Plain asyncio and the standard library. It prints its port, and serves until its standard input ends.

    POST /KEY/MS/v1/chat/completions    the reply of `work`, MS milliseconds after the request has come
    GET  /KEY/0/watch                   `Watch` of KEY as JSON
    GET  /KEY/N/answer                  of the requests of KEY only the first N are replied to, until more are; by
                                        default all are

KEY stands for one run of one harness; times are of CLOCK_MONOTONIC, which all processes share.
"""

import asyncio
import json
import math
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, cast

from bench.runner.work import message_for

_USAGE = {
    "prompt_tokens": 310,
    "completion_tokens": 84,
    "total_tokens": 394,
    "prompt_tokens_details": {"cached_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 0},
}


@dataclass(slots=True)
class Watch:
    """What came under one key: when each request came and when its reply left, in seconds; `refused` counts those that
    no reply was known to, `connections` those that a request came by."""

    came: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    refused: int = 0
    connections: int = 0


@dataclass(slots=True)
class _Holding:
    """Under one key, how many requests are replied to; `held` are the others in the order in which they came."""

    most: float = math.inf
    held: deque[tuple[int, Callable[[], None]]] = field(default_factory=deque)

    def reply_to(self, most: int) -> None:
        self.most = most
        while self.held and self.held[0][0] <= most:
            self.held.popleft()[1]()


_watches: defaultdict[str, Watch] = defaultdict(Watch)
_holdings: defaultdict[str, _Holding] = defaultdict(_Holding)


class Connection(asyncio.Protocol):
    """One connection; requests come one after the other."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._loop = asyncio.get_running_loop()
        self._key = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = bytes(self._buffer[:end])
            size = _content_length(head)
            if len(self._buffer) < end + 4 + size:
                return
            body = bytes(self._buffer[end + 4 : end + 4 + size])
            del self._buffer[: end + 4 + size]
            self._serve(head, body)

    def _serve(self, head: bytes, body: bytes) -> None:
        path = head.split(b" ", 2)[1].decode("ascii")
        _, key, milliseconds, rest = path.split("/", 3)
        watch, holding = _watches[key], _holdings[key]
        if rest == "answer":
            holding.reply_to(int(milliseconds))
        if rest in ("watch", "answer"):
            self._send(200, json.dumps(asdict(watch)).encode())
            return
        watch.came.append(time.monotonic())
        watch.connections += self._key != key
        self._key = key
        try:
            status, reply = 200, _completion(json.loads(body))
        except (ValueError, KeyError, TypeError) as error:
            watch.refused += 1
            status, reply = 400, json.dumps({"error": {"message": f"{rest}: {error}"}}).encode()
        if (number := len(watch.came)) > holding.most:
            holding.held.append((number, partial(self._answer, watch, status, reply)))
        elif milliseconds == "0":
            self._answer(watch, status, reply)
        else:
            self._loop.call_later(int(milliseconds) / 1000, self._answer, watch, status, reply)

    def _answer(self, watch: Watch, status: int, reply: bytes) -> None:
        watch.left.append(time.monotonic())
        self._send(status, reply)

    def _send(self, status: int, reply: bytes) -> None:
        if not self._transport.is_closing():
            head = f"HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {len(reply)}\r\n\r\n"
            self._transport.write(head.encode() + reply)


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line[15:])
    return 0


def _completion(request: dict[str, Any]) -> bytes:
    message = message_for(request)
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "served", "choices": [choice]}
    return json.dumps({**body, "usage": _USAGE}).encode()


async def _main() -> None:
    loop = asyncio.get_running_loop()
    host = sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1"
    server = await loop.create_server(Connection, host, 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
