"""The checks of one archive by itself. Each yields None for what holds, or where the damage is and what it is."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolablate.tools.archive._blobs import BlobDamaged, decode_blob, digest_bytes
from toolablate.tools.archive._digests import entry_digest, exchange_row_digest
from toolablate.tools.archive._http import exchange_digest
from toolablate.tools.archive._layer import ExchangeRow, read_exchange
from toolablate.tools.archive._nearest import near_form
from toolablate.tools.archive._warc import RecordDamaged, decompress_member, parse_record
from toolablate.tools.archive._warcfile import OUR_NAME
from toolablate.tools.archive.entry import to_micros
from toolablate.tools.archive.manifest import WARC_FOLDER

Finding = tuple[str, str] | None
INFO_BYTES = 100_000

ENTRIES = """
SELECT kind, key, failed, captured_at, request, entries.digest, blobs.digest, encoding, body
FROM entries LEFT JOIN blobs ON blobs.id = blob
"""
EXCHANGES = """
SELECT key, near, failed, captured_at, url, status, location, content_type, payload, content, digest, name, position,
    response_bytes, request_bytes
FROM exchanges LEFT JOIN files ON files.id = file ORDER BY file, position
"""
EXTENTS = """
SELECT name, min(position), max(position + response_bytes + request_bytes), sum(response_bytes + request_bytes)
FROM exchanges JOIN files ON files.id = file GROUP BY file
"""
ORPHANS = "SELECT id, digest, encoding, body FROM blobs WHERE id NOT IN (SELECT blob FROM entries)"


def structure(connection: sqlite3.Connection) -> Iterator[Finding]:
    """SQLite's own view: pages, indexes, foreign keys."""
    for (line,) in connection.execute("PRAGMA integrity_check"):
        yield None if line == "ok" else ("index", str(line))
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table} row {row}", f"refers to a row of {parent} that is not there"


def entries(connection: sqlite3.Connection) -> Iterator[Finding]:
    for kind, key, failed, micros, request, digest, *blob in connection.execute(ENTRIES):
        where = f"{kind} {key}"
        try:
            _, content = decode_blob(*blob)
        except BlobDamaged as damage:
            yield where, str(damage)
            continue
        sound = entry_digest(kind, key, failed, micros, request, content) == digest
        yield None if sound else (where, "a column does not match its digest")


def unused(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Contents that nothing refers to, which no other check meets."""
    for row, *blob in connection.execute(ORPHANS):
        try:
            yield f"content {decode_blob(*blob)[1]}", "no entry refers to it"
        except BlobDamaged as damage:
            yield f"content {row}", str(damage)


def exchanges(connection: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    for key, near, *columns in connection.execute(EXCHANGES):
        row = ExchangeRow(*columns)
        damage = _exchange_damage(path, key, near, row)
        yield (f"exchange {key} ({row.url}, {row.file} at {row.position})", damage) if damage else None


def _exchange_damage(path: Path, key: str, near: str, row: ExchangeRow) -> str:
    try:
        exchange = read_exchange(path, row)
    except OSError as error:
        return f"its WARC record cannot be read ({error.strerror})"
    except (RecordDamaged, TypeError, ValueError, OverflowError) as damage:
        return f"its WARC record is damaged: {damage}"
    derived: tuple[Any, ...] = (
        to_micros(exchange.fetched_at),
        exchange.url,
        exchange.status,
        exchange.header("location"),
        exchange.header("content-type"),
        digest_bytes(exchange.body),
        exchange_digest(exchange),
    )
    if exchange_row_digest(key, row.failed, *derived) != row.digest:
        return "its WARC record is not the one that was kept"
    if (near_form(exchange.url), *derived) != (near, *row[1:8]):
        return "a column does not match its WARC record"
    return ""


def files(connection: sqlite3.Connection, path: Path) -> Iterator[Finding]:
    """WARC files have to begin with a `warcinfo` record and hold the indexed records without a gap."""
    for name, start, end, covered in connection.execute(EXTENTS):
        where = f"{WARC_FOLDER}/{name}"
        if end - start != covered:
            yield where, "its indexed records overlap, or leave gaps"
            continue
        try:
            with (path / where).open("rb") as file:
                head = file.read(min(start, INFO_BYTES))
            plain, used = decompress_member(head)
            record = parse_record(plain)
        except OSError as error:
            yield where, f"it cannot be read ({error.strerror})"
        except RecordDamaged as damage:
            yield where, f"its first record is damaged: {damage}"
        else:
            sound = record.type == "warcinfo" and not record.digest_problem and used == start
            yield None if sound else (where, "it does not begin with one sound warcinfo record")


def leftovers(connection: sqlite3.Connection, path: Path) -> Iterator[tuple[str, str, int]]:
    """What lies in the WARC folder and is not indexed: file, what it is, and the size that the file should have.

    A size of 0 is that of a file of ours without any indexed record, one of -1 that of a file of someone else's.
    """
    ends = {name: end for name, _, end, _ in connection.execute(EXTENTS)}
    folder = path / WARC_FOLDER
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not OUR_NAME.fullmatch(entry.name) or not entry.is_file():
            yield entry.name, "it is not a part of the archive", -1
            continue
        end, size = ends.get(entry.name, 0), entry.stat().st_size
        if size > end:
            yield entry.name, f"{size - end:,} bytes at its end were never indexed", end


def all_checks(connection: sqlite3.Connection, path: Path) -> tuple[tuple[str, Iterator[Finding]], ...]:
    return (
        ("structure", structure(connection)),
        ("entries", entries(connection)),
        ("contents", unused(connection)),
        ("exchanges", exchanges(connection, path)),
        ("files", files(connection, path)),
    )
