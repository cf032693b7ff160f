"""A Jupyter client that takes the kernel for hostile: sizes and queues are bounded, garbage is dropped."""

import asyncio
import time
from queue import Empty
from typing import TYPE_CHECKING, Any, cast

import zmq
import zmq.asyncio
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.connect import channel_socket_types

from toolablate.sandbox.kernel import KernelUnavailable, Limits
from toolablate.sandbox.process import KernelProcess
from toolablate.sandbox.sockets import Connection

if TYPE_CHECKING:
    from jupyter_client.connect import KernelConnectionInfo

MESSAGE_BYTES = 8_000_000
QUEUED_MESSAGES = 64
_PATIENCE_SECONDS = 1.0

Message = dict[str, Any]


class BoundedClient(AsyncKernelClient):
    """Drops what is larger than `MESSAGE_BYTES` (the connection with it) and what does not fit the queue."""

    def _create_connected_socket(self, channel: str, identity: bytes | None = None) -> Any:
        endpoint = self.context.socket(channel_socket_types[channel])
        endpoint.linger = 0
        endpoint.setsockopt(zmq.MAXMSGSIZE, MESSAGE_BYTES)
        endpoint.rcvhwm = QUEUED_MESSAGES
        if identity:
            endpoint.identity = identity
        endpoint.connect(self._make_url(channel))
        return endpoint


def connect(connection: Connection, context: zmq.asyncio.Context) -> BoundedClient:
    """Opens the shell and iopub channels; the others are not needed to run cells."""
    client = BoundedClient(context=context)
    client.load_connection_info(cast("KernelConnectionInfo", connection.as_dict()))
    client.start_channels(stdin=False, hb=False, control=False)
    return client


def reconnect(client: BoundedClient) -> None:
    """Opens both channels anew."""
    client.stop_channels()
    client._shell_channel = client._iopub_channel = None
    client.start_channels(stdin=False, hb=False, control=False)


async def next_message(channel: Any, seconds: float) -> Message | None:
    """The next message within `seconds`; raises `BadMessage` for what is none."""
    try:
        message = await channel.get_msg(timeout=max(0.0, seconds))
    except Empty:
        return None
    except asyncio.CancelledError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a hostile kernel can make the decoder raise
        raise BadMessage(str(error)[:200]) from None
    if not all(isinstance(message.get(part), dict) for part in ("header", "parent_header", "content")):
        raise BadMessage("a part is no object")
    return dict(message)


class BadMessage(Exception):
    """The kernel sent something that is no message of the protocol."""


def answers(message: Message, request_id: str) -> bool:
    return bool(message["parent_header"].get("msg_id") == request_id)


async def wait_until_ready(client: BoundedClient, process: KernelProcess, limits: Limits) -> None:
    """Returns when our subscription to the kernel's output stands: requests are queued until it reads them, but what it
    says before would be lost. Raises `KernelUnavailable`."""
    deadline = time.monotonic() + limits.start_seconds
    ended = asyncio.ensure_future(process.wait())
    try:
        while (now := time.monotonic()) < deadline:
            arrival = asyncio.ensure_future(next_message(client.iopub_channel, min(_PATIENCE_SECONDS, deadline - now)))
            await asyncio.wait({arrival, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not arrival.done():
                arrival.cancel()
                raise process.start_failure()
            if arrival.result() is not None:
                return
            client.kernel_info()  # a kernel that greets nobody says at least that it is busy
    except BadMessage as error:
        raise KernelUnavailable(f"the kernel does not speak the Jupyter protocol: {error}", code="protocol") from None
    finally:
        ended.cancel()
    raise KernelUnavailable(
        f"the kernel gave no sign of life within {limits.start_seconds:g} s",
        hint="the machine may be overloaded: lower the concurrency or raise start_seconds",
        code="start_timeout",
        retryable=True,
    )
