"""Frames over a unix socket as ZeroMQ exchanges them (ZMTP 3.0, https://rfc.zeromq.org/spec/23/), from a peer taken for
hostile: libzmq bounds a frame and a queue of whole messages, and keeps without bound what a message still lacks."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Literal, TypeVar

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
