"""Reads one archive's index: the archive's own, or that of one that it lies over."""

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from toolablate.tools.archive._blobs import BlobDamaged, decode_blob
from toolablate.tools.archive._digests import entry_digest, exchange_row_digest
from toolablate.tools.archive._errors import broken, failed
from toolablate.tools.archive._http import exchange_digest
from toolablate.tools.archive._warc import MAX_RECORD_BYTES, RecordDamaged, exchange_of, parse_member
from toolablate.tools.archive._warcfile import OUR_NAME
from toolablate.tools.archive.entry import Entry, StoredExchange, from_micros
from toolablate.tools.archive.manifest import WARC_FOLDER
from toolablate.tools.web.exchange import Exchange

FOREVER = 2**63 - 1

ENTRY = """
SELECT failed, captured_at, request, entries.digest, blobs.digest, encoding, body
FROM entries JOIN blobs ON blobs.id = blob
WHERE kind = ? AND key = ? AND captured_at <= ? ORDER BY failed, captured_at DESC LIMIT 1
"""
EXCHANGE = """
SELECT failed, captured_at, url, status, location, content_type, payload, content, digest, name, position,
    response_bytes, request_bytes
FROM exchanges JOIN files ON files.id = file
WHERE key = ? AND captured_at <= ? ORDER BY failed, captured_at DESC LIMIT 1
"""
PAGES = """
SELECT exchanges.id, key, failed, captured_at, url, status, location, content_type, payload, content, digest, name,
    position, response_bytes, request_bytes
FROM exchanges JOIN files ON files.id = file
WHERE status = 200 AND NOT failed AND exchanges.id > ? ORDER BY exchanges.id LIMIT 1000
"""


class EntryRow(NamedTuple):
    failed: int
    captured_at: int
    request: str
    digest: bytes
    blob: bytes
    encoding: int
    body: bytes


class ExchangeRow(NamedTuple):
    failed: int
    captured_at: int
    url: str
    status: int
    location: str
    content_type: str
    payload: bytes
    content: bytes
    digest: bytes
    file: str
    position: int
    response_bytes: int
    request_bytes: int


class Layer:
    """One connection, shared by all threads. Every error is a ToolError that names the archive."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.Lock()

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(query, parameters).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise failed(self.path, "read", error) from error

    def entry(self, kind: str, key: str, upto: int) -> EntryRow | None:
        found = self.rows(ENTRY, (kind, key, upto))
        return EntryRow(*found[0]) if found else None

    def exchange(self, key: str, upto: int) -> ExchangeRow | None:
        found = self.rows(EXCHANGE, (key, upto))
        return ExchangeRow(*found[0]) if found else None

    def pages(self) -> Iterator[StoredExchange]:
        """All captures of what was found, redirects and failures left out."""
        last = -1
        while found := self.rows(PAGES, (last,)):
            for _, key, *columns in found:
                with _undamaged(self.path, f"exchange {key}"):
                    stored = stored_exchange(self.path, key, ExchangeRow(*columns))
                yield stored
            last = found[-1][0]

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def best_entry(layers: Iterable[Layer], kind: str, key: str, upto: int) -> Entry | None:
    """The capture that counts: a good one before a failed one, then the newest, then the topmost layer's."""
    rows = [(layer, row) for layer in layers if (row := layer.entry(kind, key, upto))]
    if not rows:
        return None
    with _undamaged(rows[0][0].path, f"{kind} {key}"):
        _, row = min(rows, key=lambda found: (found[1].failed, -found[1].captured_at))
        content, whole = decode_blob(row.blob, row.encoding, row.body)
        if entry_digest(kind, key, row.failed, row.captured_at, row.request, whole) != row.digest:
            raise ValueError("it does not match its digest")
        return Entry(kind, key, row.request, content, from_micros(row.captured_at), bool(row.failed))


def best_exchange(layers: Iterable[Layer], key: str, upto: int) -> StoredExchange | None:
    """As `best_entry`."""
    rows = [(layer, row) for layer in layers if (row := layer.exchange(key, upto))]
    if not rows:
        return None
    with _undamaged(rows[0][0].path, f"exchange {key}"):
        layer, row = min(rows, key=lambda found: (found[1].failed, -found[1].captured_at))
        return stored_exchange(layer.path, key, row)


def stored_exchange(path: Path, key: str, row: ExchangeRow) -> StoredExchange:
    """Raises ValueError where the row is not what was kept."""
    if exchange_row_digest(key, *row[:8]) != row.digest:
        raise ValueError("it does not match its digest")
    return StoredExchange(
        key=key,
        url=row.url,
        status=row.status,
        location=row.location,
        content_type=row.content_type,
        captured_at=from_micros(row.captured_at),
        payload_digest=row.payload.hex(),
        failed=bool(row.failed),
        load=partial(_load, path, row),
    )


@contextmanager
def _undamaged(path: Path, what: str) -> Iterator[None]:
    """In a damaged index a number may be a text, and a time beyond all times."""
    try:
        yield
    except (BlobDamaged, RecordDamaged, AttributeError, TypeError, ValueError, OverflowError) as damage:
        raise broken(path, f"{what}: {damage}") from None


def _load(path: Path, row: ExchangeRow) -> Exchange:
    with _undamaged(path, f"the record of {row.url} in {row.file} at {row.position}"):
        try:
            exchange = read_exchange(path, row)
        except OSError as error:
            raise failed(path, "read", error) from error
        if exchange_digest(exchange) != row.content:
            raise RecordDamaged("it is not the one that the index means")
        return exchange


def read_exchange(path: Path, row: ExchangeRow) -> Exchange:
    """What the WARC records at a row's place say. Raises OSError and RecordDamaged."""
    size = row.response_bytes + row.request_bytes
    if not OUR_NAME.fullmatch(row.file) or row.position < 0 or not 0 < size < MAX_RECORD_BYTES:
        raise RecordDamaged("the index names no place where it could be")
    with (path / WARC_FOLDER / row.file).open("rb") as file:
        file.seek(row.position)
        data = file.read(size)
    if len(data) < size:
        raise RecordDamaged("it is cut off")
    return exchange_of(parse_member(data[: row.response_bytes]), parse_member(data[row.response_bytes :]))
