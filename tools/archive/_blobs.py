"""Contents, each kept once under its digest."""

import hashlib
import sqlite3
import threading

import zstandard

COMPRESS_BYTES = 128
MAX_BYTES = 1_000_000_000
PLAIN, ZSTD = 0, 1


class _Decompressing(threading.local):
    """To make a decompressor takes longer than most contents do; one must not be used by two threads at once."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_decompressing = _Decompressing()


class BlobDamaged(Exception):
    """A content that is not what was kept. Never leaves the archive as it is."""


DIGEST_BYTES = 16


def digest_bytes(content: bytes) -> bytes:
    """The first 128 bits of the SHA-256."""
    return hashlib.sha256(content).digest()[:DIGEST_BYTES]


def put_blob(connection: sqlite3.Connection, content: bytes) -> int:
    """The id of a content, written if it is new. Raises sqlite3.Error."""
    digest = digest_bytes(content)
    row = connection.execute("SELECT id FROM blobs WHERE digest = ?", (digest,)).fetchone()
    if row is not None:
        return int(row[0])
    encoding, body = PLAIN, content
    if len(content) >= COMPRESS_BYTES:
        packed = zstandard.ZstdCompressor(level=3, write_checksum=False).compress(content)
        if len(packed) < len(content):
            encoding, body = ZSTD, packed
    cursor = connection.execute("INSERT INTO blobs (digest, encoding, body) VALUES (?, ?, ?)", (digest, encoding, body))
    return int(cursor.lastrowid or 0)


def decode_blob(digest: bytes, encoding: int, body: bytes) -> tuple[bytes, str]:
    """The content in a row, and its whole SHA-256. Raises BlobDamaged where it is not what its digest says."""
    try:
        content = body
        if encoding == ZSTD:
            size = zstandard.frame_content_size(body)
            if not 0 <= size <= MAX_BYTES:
                raise BlobDamaged(f"content {digest.hex()} claims {size} bytes")
            content = _decompressing.decompressor.decompress(body)
        whole = hashlib.sha256(content)
        if whole.digest()[:DIGEST_BYTES] != digest:
            raise BlobDamaged(f"content {digest.hex()} does not match its digest")
    except (zstandard.ZstdError, AttributeError, TypeError, ValueError) as error:
        raise BlobDamaged(f"a content cannot be decoded ({error})") from None
    return content, whole.hexdigest()
