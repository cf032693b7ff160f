"""Pages, texts and references: what all else stands on."""

import sqlite3
from collections.abc import Iterator

from toolablate.traces.errors import StoreError
from toolablate.traces.records import digest_text
from toolablate.traces.store.checking.records import Finding
from toolablate.traces.store.content.texts import decode


def structure(connection: sqlite3.Connection) -> Iterator[Finding]:
    """SQLite's own view: pages, indexes, foreign keys."""
    for (line,) in connection.execute("PRAGMA integrity_check"):
        yield None if line == "ok" else ("database", str(line))
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table} row {row}", f"refers to a row of {parent} that is not there"


def texts(connection: sqlite3.Connection) -> Iterator[Finding]:
    for key, digest, encoding, body in connection.execute("SELECT key, digest, encoding, body FROM texts"):
        try:
            held = bytes.fromhex(digest_text(decode(key, encoding, body))) == digest
        except StoreError as error:
            yield f"text {key}", error.message
            continue
        yield None if held else (f"text {key}", "its content does not match its digest")


def claims(connection: sqlite3.Connection) -> Iterator[Finding]:
    """One whose recorder was killed is no damage: it counts for nothing."""
    rows = connection.execute(
        "SELECT claims.trial, traces.trial IS claims.trial AND traces.outcome IS NULL FROM claims"
        " LEFT JOIN traces ON traces.key = claims.trace"
    )
    for trial, holds in rows:
        yield None if holds else (f"claim of trial {trial}", "its attempt is another trial's, or has ended")


def orphans(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Rows whose owner is gone: without it the joins of the other checks do not meet them."""
    rows = connection.execute("SELECT DISTINCT trace FROM events WHERE trace NOT IN (SELECT key FROM traces)")
    yield from ((f"events of trace {key}", "their trace is missing") for (key,) in rows)
    rows = connection.execute("SELECT key FROM traces WHERE trial NOT IN (SELECT key FROM trials)")
    yield from ((f"trace {key}", "its trial is missing") for (key,) in rows)
    (held,) = connection.execute("SELECT count(*) FROM parts").fetchone()
    (wanted,) = connection.execute("SELECT coalesce(sum(parts), 0) FROM blocks").fetchone()
    if held != wanted:
        yield "parts", f"there are {held} where blocks have {wanted}"
