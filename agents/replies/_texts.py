"""Texts, each kept once under its digest, compressed where that makes it smaller."""

import sqlite3

import zstandard

from toolablate.agents.replies.asked import Part, digest_bytes

COMPRESS_BYTES = 128
MAX_BYTES = 1_000_000_000
PLAIN, ZSTD = 0, 1


class TextDamaged(Exception):
    """A text that is not what was kept. Never leaves the library as it is."""


def put_text(connection: sqlite3.Connection, part: Part) -> int:
    """The id of a text, written if it is new. Raises sqlite3.Error."""
    known = find_text(connection, part.digest)
    if known is not None:
        return known
    raw = part.text.encode()
    encoding, body = PLAIN, raw
    if len(raw) >= COMPRESS_BYTES:
        packed = zstandard.ZstdCompressor(level=3, write_checksum=False).compress(raw)
        if len(packed) < len(raw):
            encoding, body = ZSTD, packed
    values = (part.digest, encoding, body)
    return int(connection.execute("INSERT INTO texts (digest, encoding, body) VALUES (?, ?, ?)", values).lastrowid or 0)


def find_text(connection: sqlite3.Connection, digest: bytes) -> int | None:
    row = connection.execute("SELECT id FROM texts WHERE digest = ?", (digest,)).fetchone()
    return None if row is None else int(row[0])


def read_text(connection: sqlite3.Connection, identity: int) -> Part:
    """Raises TextDamaged where it is missing or not what its digest says; sqlite3.Error."""
    row = connection.execute("SELECT digest, encoding, body FROM texts WHERE id = ?", (identity,)).fetchone()
    if row is None:
        raise TextDamaged(f"text {identity} is missing")
    return decode_text(identity, *row)


def decode_text(identity: int, digest: bytes, encoding: int, body: bytes) -> Part:
    """The text in a row, held to its digest. Raises TextDamaged."""
    try:
        if encoding == ZSTD:
            size = zstandard.frame_content_size(body)
            if not 0 <= size <= MAX_BYTES:
                raise TextDamaged(f"text {identity} claims {size} bytes")
            body = zstandard.ZstdDecompressor().decompress(body)
        if digest_bytes(body) != digest:
            raise TextDamaged(f"text {identity} does not match its digest")
        return Part(digest, body.decode())
    except (zstandard.ZstdError, AttributeError, TypeError, ValueError) as error:
        raise TextDamaged(f"text {identity} cannot be decoded ({error})") from None
