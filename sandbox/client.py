"""['sandbox.client', 'sandbox.zmtp']"""

import asyncio
import hashlib
import hmac
import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, TypeVar

from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import CHANNELS, Connection, KernelProcess

MESSAGE_BYTES = 8_000_000
"""What a message may have in all; each frame counts for `_FRAME_COST` more."""

MESSAGE_FRAMES = 16
"""What of a message is kept; later frames are read and dropped."""

_FRAME_COST = 64
_COMMAND_BYTES = 512
_BUFFER_BYTES = 65_536
_FRAMES_AT_A_TIME = 64

_MORE, _LONG, _COMMAND = 1, 2, 4
_SIGNATURE = b"\xff" + bytes(8) + b"\x7f"
_MECHANISM = b"NULL".ljust(20, b"\0")
_GREETING = (_SIGNATURE + b"\x03\x00" + _MECHANISM).ljust(64, b"\0")
_READY, _PING, _PONG = b"\x05READY", b"\x04PING", b"\x04PONG"
_SUBSCRIBE_TO_ALL = b"\x01"

_T = TypeVar("_T")


class ConnectionEnded(Exception):
    """The peer is gone, or broke the protocol or its bounds: nothing more comes from this connection."""


class ZmtpConnection:
    """One connection, opening from the moment it is made; the peer need not listen to it yet.

    Nothing is read ahead but the one message that was asked for, so that what the peer sends meanwhile stays with it.
    """

    def __init__(self, path: str, socket_type: Literal["DEALER", "SUB"]) -> None:
        self._path = path
        self._socket_type = socket_type
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter | None = None
        self._frames_read = 0
        self._reading: asyncio.Task[list[bytes]] | None = None
        self._opening = asyncio.ensure_future(self._or_end(self._open))

    async def opened(self) -> None:
        """Returns when the peer has shaken hands; raises `ConnectionEnded`."""
        await asyncio.shield(self._opening)

    @property
    def ended(self) -> bool:
        """Whether it is known to have ended; an end behind what was not read yet is not known."""
        return self._writer is not None and (self._writer.is_closing() or self._reader.at_eof())

    def send(self, frames: Sequence[bytes]) -> None:
        """Sends a message, once `opened`. To a peer that has gone it sends nothing: `receive` tells so."""
        assert self._writer is not None
        last = len(frames) - 1
        if not self._writer.is_closing():
            self._writer.write(b"".join(_frame(body, _MORE if n < last else 0) for n, body in enumerate(frames)))

    async def receive(self, seconds: float | None = None) -> list[bytes] | None:
        """The first `MESSAGE_FRAMES` frames of the next message, None if `seconds` pass; raises `ConnectionEnded`.

        Nothing is lost if it is cancelled.
        """
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._or_end(self._read_message))
        reading = self._reading
        await asyncio.wait({reading}, timeout=seconds)
        if not reading.done():
            return None
        if not reading.cancelled() and reading.exception() is None:
            self._reading = None  # an end stays and is told whoever asks again
        return reading.result()

    def close(self) -> None:
        """Drops the connection and what was not read of it."""
        for task in (self._opening, self._reading):
            if task is not None:
                task.cancel()
                task.add_done_callback(_forget)
        self._abort()

    def _abort(self) -> None:
        if self._writer is not None:
            self._writer.transport.abort()

    async def _or_end(self, work: Callable[[], Awaitable[_T]]) -> _T:
        """Whatever goes wrong ends the connection, for the peer as well."""
        try:
            return await work()
        except (OSError, EOFError, ConnectionEnded) as error:
            self._abort()
            raise ConnectionEnded(str(error) or type(error).__name__) from None

    async def _open(self) -> None:
        self._reader, self._writer = await asyncio.open_unix_connection(self._path, limit=_BUFFER_BYTES)
        properties = _property("Socket-Type", self._socket_type) + _property("Identity", "")
        self._writer.write(_GREETING + _frame(_READY + properties, _COMMAND))
        greeting = await self._reader.readexactly(len(_GREETING))
        if greeting[:1] + greeting[9:10] != b"\xff\x7f" or greeting[10] < 3 or greeting[12:32] != _MECHANISM:
            raise ConnectionEnded("the peer does not speak ZMTP 3 without authentication")
        flags, command = await self._read_frame(_COMMAND_BYTES)
        if flags != _COMMAND or not command.startswith(_READY):
            raise ConnectionEnded("the peer does not shake hands")
        if self._socket_type == "SUB":
            self.send([_SUBSCRIBE_TO_ALL])

    async def _read_message(self) -> list[bytes]:
        await self.opened()
        frames: list[bytes] = []
        room = MESSAGE_BYTES
        more = True
        while more:
            flags, body = await self._read_frame(room)
            if flags & _COMMAND:
                await self._obey(body)
                continue
            more = bool(flags & _MORE)
            room -= len(body) + _FRAME_COST
            if len(frames) < MESSAGE_FRAMES:
                frames.append(body)
        return frames

    async def _read_frame(self, room: int) -> tuple[int, bytes]:
        """Flags and body; refuses more than `room` bytes before it takes memory for them."""
        self._frames_read += 1
        if self._frames_read % _FRAMES_AT_A_TIME == 0:
            await asyncio.sleep(0)  # what is there already is read without a pause: others must come to their turn
        flags, size = await self._reader.readexactly(2)
        if flags & _LONG:
            size = int.from_bytes(bytes([size]) + await self._reader.readexactly(7))
        if flags & ~(_MORE | _LONG | _COMMAND):
            raise ConnectionEnded("the peer sent what is no frame")
        if size > (_COMMAND_BYTES if flags & _COMMAND else room):
            raise ConnectionEnded("the peer sent more than is taken")
        return flags & ~_LONG, await self._reader.readexactly(size)

    async def _obey(self, command: bytes) -> None:
        if command.startswith(_PING):
            assert self._writer is not None
            self._writer.write(_frame(_PONG + command[len(_PING) + 2 :], _COMMAND))
            await self._writer.drain()  # a peer that only asks and never reads is not read any more either


def _frame(body: bytes, flags: int) -> bytes:
    if len(body) > 255:
        return bytes([flags | _LONG]) + len(body).to_bytes(8) + body
    return bytes([flags, len(body)]) + body


def _property(name: str, value: str) -> bytes:
    return bytes([len(name)]) + name.encode() + len(value).to_bytes(4) + value.encode()


def _forget(task: "asyncio.Task[Any]") -> None:
    if not task.cancelled():
        task.exception()  # nobody asks for it any more


HEADER_BYTES = 64_000
"""What each of a message's headers may have."""

CONTENT_PARTS = 500_000
"""How many values a content may have, about: decoded, each can take thirty times its bytes."""

_DELIMITER = b"<IDS|MSG>"
_PROTOCOL = "5.3"
_PATIENCE_SECONDS = 1.0


class BadMessage(Exception):
    """The kernel sent something that is no message of the protocol."""


@dataclass(frozen=True, slots=True)
class KernelMessage:
    """What a kernel said. `kind` and `request_id`, the message that it answers, can be anything that JSON can hold."""

    kind: object
    request_id: object
    content: dict[str, Any]


class BoundedClient:
    """The shell and iopub channels of one kernel; the others are not needed to run cells."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._key = hmac.new(connection.key.encode(), digestmod=hashlib.sha256)
        self._session = uuid.uuid4().hex
        self.start_channels()

    def start_channels(self) -> None:
        """Returns at once; `opened` tells when they are."""
        self._shell = ZmtpConnection(self._path("shell"), "DEALER")
        self._iopub = ZmtpConnection(self._path("iopub"), "SUB")

    def stop_channels(self) -> None:
        self._shell.close()
        self._iopub.close()

    async def opened(self) -> None:
        """Returns when both channels stand; raises `ConnectionEnded`."""
        await self._shell.opened()
        await self._iopub.opened()

    @property
    def ended(self) -> bool:
        """Whether a channel is known to have ended, so that a cell would not be heard."""
        return self._shell.ended or self._iopub.ended

    def execute(self, code: str) -> str:
        """Sends the request and gives its id."""
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        return self._request("execute_request", {**content, "allow_stdin": False, "stop_on_error": True})

    def kernel_info(self) -> str:
        return self._request("kernel_info_request", {})

    async def next_reply(self, seconds: float | None = None) -> KernelMessage | None:
        """The next message of the shell channel, None if `seconds` pass; raises `BadMessage` for what is none and
        `ConnectionEnded`."""
        return await self._next(self._shell, seconds)

    async def next_output(self, seconds: float | None = None) -> KernelMessage | None:
        """As `next_reply`, of the iopub channel."""
        return await self._next(self._iopub, seconds)

    async def _next(self, channel: ZmtpConnection, seconds: float | None) -> KernelMessage | None:
        frames = await channel.receive(seconds)
        return None if frames is None else self._decode(frames)

    def _decode(self, frames: list[bytes]) -> KernelMessage:
        try:
            start = frames.index(_DELIMITER) + 1
            signature, *parts = frames[start : start + 5]
            *headers, content = parts
        except ValueError:
            raise BadMessage("it has not all parts") from None
        if len(headers) != 3 or max(map(len, headers)) > HEADER_BYTES:
            raise BadMessage("it has not all parts, or too large ones")
        if not hmac.compare_digest(signature, self._sign(parts)):
            raise BadMessage("its signature is wrong")
        if sum(map(content.count, (b"[", b"{", b","))) > CONTENT_PARTS:
            raise BadMessage("its content has too many parts")
        header, parent = _decode_object(headers[0]), _decode_object(headers[1])
        return KernelMessage(header.get("msg_type"), parent.get("msg_id"), _decode_object(content))

    def _request(self, kind: str, content: dict[str, Any]) -> str:
        request_id = uuid.uuid4().hex
        header = {
            "msg_id": request_id,
            "msg_type": kind,
            "session": self._session,
            "username": "toolablate",
            "date": datetime.now(UTC).isoformat(),
            "version": _PROTOCOL,
        }
        parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
        self._shell.send([_DELIMITER, self._sign(parts), *parts])
        return request_id

    def _sign(self, parts: list[bytes]) -> bytes:
        signature = self._key.copy()
        for part in parts:
            signature.update(part)
        return signature.hexdigest().encode()

    def _path(self, channel: str) -> str:
        return f"{self._connection.address}-{CHANNELS.index(channel) + 1}"


def connect(connection: Connection) -> BoundedClient:
    """Opens both channels, without waiting for the kernel."""
    return BoundedClient(connection)


def reconnect(client: BoundedClient) -> None:
    """Opens both channels anew."""
    client.stop_channels()
    client.start_channels()


def _decode_object(part: bytes) -> dict[str, Any]:
    try:
        value = json.loads(part)
    except (ValueError, RecursionError, MemoryError) as error:
        raise BadMessage(str(error)[:200]) from None
    if not isinstance(value, dict):
        raise BadMessage("a part is no object")
    return value


async def wait_until_ready(client: BoundedClient, process: KernelProcess, limits: Limits) -> None:
    """Returns when our subscription to the kernel's output stands: requests are queued until it reads them, but what it
    says before would be lost. Raises `KernelUnavailable`."""
    heard = asyncio.ensure_future(_hear(client))
    ended = asyncio.ensure_future(process.wait())
    try:
        await asyncio.wait({heard, ended}, timeout=limits.start_seconds, return_when=asyncio.FIRST_COMPLETED)
        if heard.done():
            return heard.result()
        if ended.done():
            raise process.start_failure()
    except BadMessage as error:
        raise KernelUnavailable(f"the kernel does not speak the Jupyter protocol: {error}", code="protocol") from None
    finally:
        heard.cancel()
        ended.cancel()
        await asyncio.wait({heard, ended})
    raise KernelUnavailable(
        f"the kernel did not respond within {limits.start_seconds:g} s",
        hint="the machine may be overloaded: lower the concurrency or raise start_seconds",
        code="start_timeout",
        retryable=True,
    )


async def _hear(client: BoundedClient) -> None:
    while True:
        try:
            await client.opened()
            while await client.next_output(_PATIENCE_SECONDS) is None:
                client.kernel_info()  # a kernel that greets nobody says at least that it is busy
            return
        except ConnectionEnded:  # if the kernel has ended, that is told soon; else it may take another
            await asyncio.sleep(_PATIENCE_SECONDS)
            reconnect(client)
