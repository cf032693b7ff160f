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
_ASK_AGAIN_SECONDS = 1.0

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
    """Returns when the kernel has answered and our subscription to its output stands; raises `KernelUnavailable`."""
    deadline = time.monotonic() + limits.start_seconds
    answered = subscribed = False
    asked_at = 0.0
    ended = asyncio.ensure_future(process.wait())
    try:
        while not (answered and subscribed):
            now = time.monotonic()
            if now > deadline:
                raise KernelUnavailable(
                    f"the kernel gave no sign of life within {limits.start_seconds:g} s",
                    hint="the machine may be overloaded: lower the concurrency or raise start_seconds",
                    code="start_timeout",
                    retryable=True,
                )
            if ended.done():
                raise _start_failure(process)
            if not asked_at or (now - asked_at > _ASK_AGAIN_SECONDS and answered):
                client.kernel_info()
                asked_at = now
            channel = client.iopub_channel if answered else client.shell_channel
            arrival = asyncio.ensure_future(next_message(channel, min(_ASK_AGAIN_SECONDS, deadline - now)))
            await asyncio.wait({arrival, ended}, return_when=asyncio.FIRST_COMPLETED)
            if not arrival.done():
                arrival.cancel()
                continue
            if arrival.result() is not None:
                subscribed = answered
                answered = True
    except BadMessage as error:
        raise KernelUnavailable(f"the kernel does not speak the Jupyter protocol: {error}", code="protocol") from None
    finally:
        ended.cancel()


def _start_failure(process: KernelProcess) -> KernelUnavailable:
    ended = process.ended
    reason = ended.error.strip() if ended and ended.error else ""
    last = reason.splitlines()[-1] if reason else f"it ended ({ended.cause if ended else 'killed'})"
    hint = process.remedy(last) or (reason if "\n" in reason else "")
    if "No module named" in last:
        hint = "pip install ipykernel in the Python environment that kernels run on"
    return KernelUnavailable(f"the kernel did not start: {last}", hint=hint, code="start_failed")
