"""A Jupyter client that takes the kernel for hostile: sizes are bounded before anything is kept or decoded, garbage is
dropped (https://jupyter-client.readthedocs.io/en/stable/messaging.html)."""

import asyncio
import hashlib
import hmac
import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import KernelProcess
from toolablate.sandbox.sockets import CHANNELS, Connection
from toolablate.sandbox.zmtp import ConnectionEnded, ZmtpConnection

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
class Message:
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

    async def next_reply(self, seconds: float | None = None) -> Message | None:
        """The next message of the shell channel, None if `seconds` pass; raises `BadMessage` for what is none and
        `ConnectionEnded`."""
        return await self._next(self._shell, seconds)

    async def next_output(self, seconds: float | None = None) -> Message | None:
        """As `next_reply`, of the iopub channel."""
        return await self._next(self._iopub, seconds)

    async def _next(self, channel: ZmtpConnection, seconds: float | None) -> Message | None:
        frames = await channel.receive(seconds)
        return None if frames is None else self._decode(frames)

    def _decode(self, frames: list[bytes]) -> Message:
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
        return Message(header.get("msg_type"), parent.get("msg_id"), _decode_object(content))

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
        f"the kernel gave no sign of life within {limits.start_seconds:g} s",
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
