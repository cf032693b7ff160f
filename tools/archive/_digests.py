"""What makes a capture, as one digest. These, sorted, make an archive's root digest."""

import hashlib
from collections.abc import Iterable

from toolablate.tools.archive.manifest import Manifest
from toolablate.traces.records import canonical_json


def entry_digest(kind: str, key: str, failed: int, micros: int, request: str, content: str) -> bytes:
    """`content` is the SHA-256 of what was kept, as 64 hexadecimal digits."""
    return _row_digest(kind, key, micros, [bool(failed), request, content])


def exchange_row_digest(
    key: str,
    failed: int,
    micros: int,
    url: str,
    status: int,
    location: str,
    content_type: str,
    payload: bytes,
    content: bytes,
) -> bytes:
    """Of what the index tells of an exchange; `content` is the digest of the exchange itself."""
    told = [bool(failed), url, status, location, content_type, payload.hex(), content.hex()]
    return _row_digest("exchange", key, micros, told)


def _row_digest(kind: str, key: str, micros: int, told: list[object]) -> bytes:
    return hashlib.sha256(canonical_json([kind, key, micros, told]).encode()).digest()


def root_digest(digests: Iterable[bytes], manifest: Manifest) -> str:
    """SHA-256 (64 hexadecimal digits) over the base's root digest, if any, and the captures' digests in order."""
    base = manifest.base.root if manifest.base else ""
    return hashlib.sha256(b"".join([b"toolablate-archive 1\n", base.encode(), b"\n", *sorted(digests)])).hexdigest()
