"""Packed bodies, good, broken and malicious."""

import random
import subprocess
import sys
import time
import tracemalloc
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.servers.packing import packed
from tests.tools.web.sizes import size

from toolablate.tools.web import Exchange, FetchError, decoded_body

TEXT = b"A page of some length. " * 500
LIMIT = 300_000


def exchange(body: bytes, *encodings: str) -> Exchange:
    headers = tuple(("Content-Encoding", encoding) for encoding in encodings)
    return Exchange("http://a/", 200, "OK", headers, body, datetime.now(UTC))


def raw_deflate(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(body) + packer.flush()


NOISE = random.Random(0).randbytes(LIMIT)


@pytest.mark.parametrize(
    ("body", "encodings", "decoded"),
    [
        (TEXT, (), TEXT),
        (TEXT, ("identity",), TEXT),
        (TEXT, ("", "Identity"), TEXT),
        (packed(TEXT), ("gzip",), TEXT),
        (packed(TEXT), ("X-GZip",), TEXT),
        (packed(TEXT), ("identity, gzip",), TEXT),
        (packed(TEXT) + packed(b"more"), ("gzip",), TEXT + b"more"),
        (packed(b"") * 900 + packed(TEXT), ("gzip",), TEXT),
        (packed(TEXT) + b"\0" * 40_000, ("gzip",), TEXT),
        (packed(TEXT) + b"garbage", ("gzip",), TEXT),
        (packed(TEXT) + b"\0\0garbage", ("gzip",), TEXT),
        (packed(TEXT) + b"\x1f", ("gzip",), TEXT),
        (packed(TEXT) + b"garbage" + packed(TEXT), ("gzip",), TEXT),
        (packed(TEXT) + packed(b"more") + NOISE, ("gzip",), TEXT + b"more"),
        (zlib.compress(TEXT) + b"garbage", ("deflate",), TEXT),
        (raw_deflate(TEXT) + b"\r\n", ("deflate",), TEXT),
        (packed(NOISE), ("gzip",), NOISE),
        (zlib.compress(TEXT), ("deflate",), TEXT),
        (raw_deflate(TEXT), ("deflate",), TEXT),
        (raw_deflate(NOISE), ("deflate",), NOISE),
        (b"", ("gzip",), b""),
        (b"", ("br",), b""),
    ],
    ids=size,
)
def test_bodies(body: bytes, encodings: tuple[str, ...], decoded: bytes) -> None:
    assert decoded_body(exchange(body, *encodings), LIMIT) == decoded


@pytest.mark.parametrize(
    ("body", "encodings", "code"),
    [
        (TEXT, ("gzip",), "bad_encoding"),
        (TEXT, ("deflate",), "bad_encoding"),
        (TEXT, ("br",), "bad_encoding"),
        (TEXT, ("zstd",), "bad_encoding"),
        (TEXT, ("x\r\ny" * 100,), "bad_encoding"),
        (packed(packed(TEXT)), ("gzip, gzip",), "bad_encoding"),
        (packed(packed(TEXT)), ("gzip", "gzip"), "bad_encoding"),
        (packed(TEXT)[:-1], ("gzip",), "bad_encoding"),
        (packed(TEXT)[:9], ("gzip",), "bad_encoding"),
        (packed(TEXT)[:-8] + b"\0" * 8, ("gzip",), "bad_encoding"),
        (packed(TEXT) + packed(TEXT)[:-4], ("gzip",), "bad_encoding"),
        (packed(b"") * 2_000, ("gzip",), "bad_encoding"),
        (zlib.compress(TEXT)[:-4], ("deflate",), "bad_encoding"),
        (raw_deflate(TEXT)[:-4], ("deflate",), "bad_encoding"),
        (b"\x1f", ("gzip",), "bad_encoding"),
        (b"x" * (LIMIT + 1), (), "too_large"),
        (packed(b"x" * (LIMIT + 1)), ("gzip",), "too_large"),
        (packed(b"x" * LIMIT) + packed(b"x"), ("gzip",), "too_large"),
        (zlib.compress(b"x" * (LIMIT + 1)), ("deflate",), "too_large"),
        (raw_deflate(b"x" * (LIMIT + 1)), ("deflate",), "too_large"),
    ],
    ids=size,
)
def test_bodies_that_cannot_be_read(body: bytes, encodings: tuple[str, ...], code: str) -> None:
    with pytest.raises(FetchError) as failed:
        decoded_body(exchange(body, *encodings), LIMIT)
    assert failed.value.code == code
    assert failed.value.message.isprintable()
    assert len(failed.value.message) < 200


def test_members_are_found_wherever_the_pieces_end() -> None:
    for zeros in range(16_384 - 60, 16_384 + 3):
        body = packed(b"one") + b"\0" * zeros + packed(b"two")
        assert decoded_body(exchange(body, "gzip"), LIMIT) == b"onetwo"


def test_a_body_of_exactly_the_limit_is_read() -> None:
    for body in (exchange(b"x" * LIMIT), exchange(packed(b"x" * LIMIT), "gzip")):
        assert decoded_body(body, LIMIT) == b"x" * LIMIT


def test_a_body_of_many_parts_takes_no_long_time() -> None:
    body = exchange(packed(b"") * 150_000, "gzip")
    start = time.thread_time()
    with pytest.raises(FetchError):
        decoded_body(body, LIMIT)
    assert time.thread_time() - start < 1.0


def test_no_more_is_unpacked_than_the_limit_needs() -> None:
    bomb = exchange(packed(bytes(50_000_000)), "gzip")
    tracemalloc.start()
    try:
        with pytest.raises(FetchError):
            decoded_body(bomb, LIMIT)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * LIMIT


BOMB = """
import asyncio, gzip, resource, sys
from toolablate.tools.web import FetchError, LiveHttpClient, WebPolicy, follow

bomb = open(sys.argv[1], "rb").read()

async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    small = writer.get_extra_info("peername") and len(seen) == 0
    seen.append(1)
    body = gzip.compress(b"a small page") if small else bomb
    head = f"HTTP/1.1 200 OK\\r\\nContent-Encoding: gzip\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n"
    writer.write(head.encode() + body)
    await writer.drain()
    writer.close()

seen = []

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host = "127.0.0.1:%d" % server.sockets[0].getsockname()[1]
    policy = WebPolicy(allow=frozenset({host}), robots=False, delay_seconds=0.0)
    client = LiveHttpClient(policy)
    await follow(f"http://{host}/", client, policy)
    before = peak()
    try:
        await follow(f"http://{host}/", client, policy)
    except FetchError as error:
        print(error.code, peak() - before)
    server.close()
    await client.close()

asyncio.run(main())
"""


def test_a_bomb_of_a_megabyte_costs_at_most_30_mb(tmp_path: Path) -> None:
    """The whole way from the socket, with the policy's own limits: how far the process's peak rises."""
    packer = zlib.compressobj(9, wbits=31)
    head = packer.compress(b"") + packer.flush(zlib.Z_FULL_FLUSH)
    block = packer.compress(bytes(1_000_000)) + packer.flush(zlib.Z_FULL_FLUSH)
    bomb = head + block * (1_000_000 // len(block))
    assert zlib.decompressobj(wbits=31).decompress(bomb, 40_000_000) == bytes(40_000_000)
    path = tmp_path / "bomb.gz"
    path.write_bytes(bomb)
    done = subprocess.run([sys.executable, "-c", BOMB, path], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    code, kilobytes = done.stdout.split()
    assert code == "too_large"
    assert int(kilobytes) * 1024 < 30_000_000
