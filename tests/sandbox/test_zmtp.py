"""ZMTP as libzmq speaks it, and as somebody would who means harm."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import zmq
import zmq.asyncio

from toolablate.sandbox.client import MESSAGE_BYTES, MESSAGE_FRAMES, ConnectionEnded, ZmtpConnection

GREETING = (b"\xff" + bytes(8) + b"\x7f\x03\x00NULL").ljust(64, b"\0")
READY = b"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB"
PING = b"\x04\x0a\x04PING\x00\x00abc"


@pytest.fixture
def libzmq() -> Iterator[zmq.asyncio.Context]:
    context = zmq.asyncio.Context()
    yield context
    context.destroy(linger=0)


@contextlib.asynccontextmanager
async def dealer(
    libzmq: zmq.asyncio.Context, path: Path, **options: int
) -> AsyncIterator[tuple[ZmtpConnection, zmq.asyncio.Socket]]:
    """Ours, and a router of libzmq that has heard from it."""
    with libzmq.socket(zmq.ROUTER) as router:
        for name, value in options.items():
            router.setsockopt(getattr(zmq, name), value)
        router.bind(f"ipc://{path}")
        ours = ZmtpConnection(str(path), "DEALER")
        await ours.opened()
        yield ours, router
        ours.close()


@pytest.mark.parametrize("size", [0, 1, 255, 256, 70_000, 1_000_000])
@pytest.mark.parametrize("count", [1, 3, MESSAGE_FRAMES])
async def test_frames_go_both_ways(libzmq: zmq.asyncio.Context, tmp_path: Path, size: int, count: int) -> None:
    frames = [bytes([n]) * (size if n == 0 else 5) for n in range(count)]
    async with dealer(libzmq, tmp_path / "s") as (ours, router):
        ours.send(frames)
        sender, *received = await router.recv_multipart()
        assert received == frames
        await router.send_multipart([sender, *frames])
        assert await ours.receive() == frames


async def test_subscriber_hears_what_is_published(libzmq: zmq.asyncio.Context, tmp_path: Path) -> None:
    with libzmq.socket(zmq.XPUB) as publisher:
        publisher.bind(f"ipc://{tmp_path / 's'}")
        ours = ZmtpConnection(str(tmp_path / "s"), "SUB")
        assert await publisher.recv() == b"\x01"
        await publisher.send_multipart([b"topic", b"text"])
        assert await ours.receive() == [b"topic", b"text"]
        ours.close()


async def test_answers_when_asked_for_life(libzmq: zmq.asyncio.Context, tmp_path: Path) -> None:
    async with dealer(libzmq, tmp_path / "s", HEARTBEAT_IVL=50, HEARTBEAT_TIMEOUT=300) as (ours, router):
        assert await ours.receive(1.0) is None
        ours.send([b"still here"])
        sender, _ = await router.recv_multipart()
        await router.send_multipart([sender, b"so am I"])
        assert await ours.receive() == [b"so am I"]


async def test_later_frames_are_dropped_and_the_next_message_is_whole(
    libzmq: zmq.asyncio.Context, tmp_path: Path
) -> None:
    frames = [b"%d" % n for n in range(10_000)]
    async with dealer(libzmq, tmp_path / "s") as (ours, router):
        ours.send([b"hello"])
        sender, _ = await router.recv_multipart()
        await router.send_multipart([sender, *frames])
        await router.send_multipart([sender, b"next"])
        assert await ours.receive() == frames[:MESSAGE_FRAMES]
        assert await ours.receive() == [b"next"]


class Peer:
    """Says what it is told to, on a connection that it has accepted."""

    def __init__(self, path: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen(1)
        self._listener.setblocking(False)
        self.ours = ZmtpConnection(str(path), "SUB")
        self._connection: socket.socket | None = None

    async def say(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        if self._connection is None:
            self._connection, _ = await loop.sock_accept(self._listener)
        await loop.sock_sendall(self._connection, data)

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def close(self) -> None:
        self.ours.close()
        self.hang_up()
        self._listener.close()


@pytest.fixture
async def peer(tmp_path: Path) -> AsyncIterator[Peer]:
    made = Peer(tmp_path / "s")
    yield made
    made.close()


@pytest.mark.parametrize(
    "said",
    [
        b"HTTP/1.1 200 OK\r\n\r\n".ljust(64),
        GREETING.replace(b"\x7f\x03", b"\x7f\x02"),
        GREETING.replace(b"NULL", b"PLAI"),
        GREETING[:40],
        GREETING,
        GREETING + b"\x00" + READY[1:],
        GREETING + b"\x04\x06\x05ERROR",
        GREETING + b"\x06" + (2**40).to_bytes(8),
        GREETING + READY[:9],
    ],
    ids=[
        "other protocol",
        "old version",
        "authentication",
        "half a greeting",
        "no handshake",
        "message",
        "refusal",
        "giant",
        "half",
    ],
)
async def test_bad_handshake_ends_the_connection(peer: Peer, said: bytes) -> None:
    await peer.say(said)
    peer.hang_up()
    with pytest.raises(ConnectionEnded):
        await peer.ours.opened()
    with pytest.raises(ConnectionEnded):
        await peer.ours.receive()


@pytest.mark.parametrize(
    "said",
    [
        b"\xff" * 4096,
        b"\x08\x00",
        b"\x02" + (MESSAGE_BYTES + 1).to_bytes(8),
        b"\x02" + (2**64 - 1).to_bytes(8),
        b"\x06" + (513).to_bytes(8),
        (b"\x03" + (1_000_000).to_bytes(8) + bytes(1_000_000)) * 8,
        b"\x01\x00" * 200_000,
        b"\x00\x05half",
        b"\x01\x04part",
    ],
    ids=[
        "garbage",
        "reserved",
        "large",
        "giant",
        "large command",
        "large in all",
        "frames",
        "half a frame",
        "half a message",
    ],
)
async def test_breach_ends_the_connection_for_good(peer: Peer, said: bytes) -> None:
    await peer.say(GREETING + READY + b"\x00\x02ok")
    assert await peer.ours.receive() == [b"ok"]
    telling = asyncio.ensure_future(peer.say(said))
    telling.add_done_callback(lambda _: peer.hang_up())
    for _ in range(2):
        with pytest.raises(ConnectionEnded):
            await peer.ours.receive()
    assert peer.ours.ended
    peer.ours.send([b"to nobody"])
    await asyncio.gather(telling, return_exceptions=True)


async def test_nothing_is_lost_when_a_wait_ends_early(peer: Peer) -> None:
    await peer.say(GREETING + READY + b"\x01\x02")
    assert await peer.ours.receive(0.05) is None
    cancelled = asyncio.ensure_future(peer.ours.receive())
    await asyncio.sleep(0.05)
    await peer.say(b"on")
    cancelled.cancel()
    await asyncio.gather(cancelled, return_exceptions=True)
    await peer.say(b"\x00\x03" + b"two" + b"\x00\x04next")
    assert await peer.ours.receive() == [b"on", b"two"]
    assert await peer.ours.receive() == [b"next"]


@pytest.mark.parametrize("said", [PING, b"\x00\x01x"], ids=["questions", "messages"])
async def test_what_is_not_read_stays_with_the_peer(peer: Peer, said: bytes) -> None:
    """One who asks and never reads the answers is not read any more, nor is one whom nobody wants to hear."""
    await peer.say(GREETING + READY)
    await peer.ours.opened()
    listening = asyncio.ensure_future(peer.ours.receive())
    flood = asyncio.ensure_future(peer.say(said * 3_000_000))
    await asyncio.wait({flood}, timeout=1.0)
    assert not flood.done()
    for task in (flood, listening):
        task.cancel()
    await asyncio.gather(flood, listening, return_exceptions=True)


async def test_nobody_there(tmp_path: Path) -> None:
    ours = ZmtpConnection(str(tmp_path / "missing"), "DEALER")
    with pytest.raises(ConnectionEnded):
        await ours.opened()
    ours.close()


@pytest.mark.parametrize("turns", [0, 1, 5])
async def test_closed_at_any_moment_leaves_no_task(peer: Peer, turns: int) -> None:
    before = asyncio.all_tasks()
    ours = peer.ours
    reading = asyncio.ensure_future(ours.receive(0.01))
    for _ in range(turns):
        await asyncio.sleep(0)
    ours.close()
    await asyncio.gather(reading, return_exceptions=True)
    while not asyncio.all_tasks() <= before:  # noqa: ASYNC110 - the test's own time limit ends this
        await asyncio.sleep(0)
