"""The writing side of an archive: one transaction for each thing kept, one winner for each key."""

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolablate.tools.archive._blobs import digest_bytes, put_blob
from toolablate.tools.archive._digests import entry_digest, exchange_row_digest
from toolablate.tools.archive._errors import failed
from toolablate.tools.archive._http import exchange_digest
from toolablate.tools.archive._layer import FOREVER, Layer, best_entry, best_exchange
from toolablate.tools.archive._nearest import near_form
from toolablate.tools.archive._warc import exchange_members
from toolablate.tools.archive._warcfile import WarcWriter
from toolablate.tools.archive.entry import Entry, StoredExchange, to_micros
from toolablate.tools.archive.manifest import WARC_FOLDER
from toolablate.tools.web.exchange import Exchange
from toolablate.traces.errors import InternalError

INSERT_ENTRY = """
INSERT INTO entries (kind, key, failed, captured_at, request, blob, digest) VALUES (?, ?, ?, ?, ?, ?, ?)
"""
SAME_ENTRY = "SELECT 1 FROM entries WHERE kind = ? AND key = ? AND failed = ? AND captured_at = ?"
SAME_EXCHANGE = "SELECT 1 FROM exchanges WHERE key = ? AND failed = ? AND captured_at = ?"
INSERT_EXCHANGE = """
INSERT INTO exchanges (key, failed, captured_at, url, near, status, location, content_type, payload, file, position,
    response_bytes, request_bytes, content, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


class Recorder:
    """Belongs to one process; its threads take turns. `below` are the layers that its archive lies over."""

    def __init__(self, path: Path, connection: sqlite3.Connection, below: Sequence[Layer]) -> None:
        self._path = path
        self._connection = connection
        self._layers = (Layer(path, connection), *below)
        self._warc = WarcWriter(path / WARC_FOLDER)
        self._lock = threading.Lock()
        self._process = os.getpid()

    def keep(self, entry: Entry, *, refresh: bool) -> Entry:
        """What counts under that key from now on. Raises ToolError."""
        micros = to_micros(entry.captured_at)
        with self._transaction() as connection:
            found = best_entry(self._layers, entry.kind, entry.key, FOREVER)
            if found is not None and not found.failed and (entry.failed or not refresh):
                return found
            capture = (entry.kind, entry.key, int(entry.failed), micros)
            if not connection.execute(SAME_ENTRY, capture).fetchone():
                blob = put_blob(connection, entry.content)
                content = hashlib.sha256(entry.content).hexdigest()
                digest = entry_digest(*capture, entry.request, content)
                connection.execute(INSERT_ENTRY, (*capture, entry.request, blob, digest))
            return best_entry(self._layers, entry.kind, entry.key, FOREVER) or entry

    def keep_exchange(self, key: str, exchange: Exchange, *, failed: bool, refresh: bool) -> StoredExchange:
        """`exchange` is one that can be kept (`_http.as_kept`). Raises ToolError."""
        micros = to_micros(exchange.fetched_at)
        with self._transaction() as connection:
            found = best_exchange(self._layers, key, FOREVER)
            if found is not None and not found.failed and (failed or not refresh):
                return found
            capture = (key, int(failed), micros)
            if not connection.execute(SAME_EXCHANGE, capture).fetchone():
                self._add(connection, capture, exchange)
            kept = best_exchange(self._layers, key, FOREVER)
            if kept is None:
                raise InternalError(f"The archive {self._path} does not hold what was just put there")
            return kept

    def _add(self, connection: sqlite3.Connection, capture: tuple[str, int, int], exchange: Exchange) -> None:
        response, request = exchange_members(exchange, self._warc.info_id())
        name, position = self._warc.append((response, request))
        connection.execute("INSERT OR IGNORE INTO files (name) VALUES (?)", (name,))
        (file,) = connection.execute("SELECT id FROM files WHERE name = ?", (name,)).fetchone()
        told = (exchange.status, exchange.header("location"), exchange.header("content-type"))
        payload, content = digest_bytes(exchange.body), exchange_digest(exchange)
        row = (
            *capture,
            exchange.url,
            near_form(exchange.url),
            *told,
            payload,
            file,
            position,
            len(response),
            len(request),
            content,
            exchange_row_digest(*capture, exchange.url, *told, payload, content),
        )
        connection.execute(INSERT_EXCHANGE, row)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if os.getpid() != self._process:
            raise InternalError("An archive that is open for writing was used in a process forked from its own")
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    # Whether a commit that failed reached the disk is unknown, so what was written stays where it is.
                    self._warc.leave()
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            except (sqlite3.Error, OSError) as error:
                raise failed(self._path, "written", error) from error

    def close(self) -> None:
        with self._lock:
            self._warc.leave()
            self._connection.close()
