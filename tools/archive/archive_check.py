"""What is in an archive, and whether every digest follows from what is kept."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from toolablate.tools.archive import index
from toolablate.tools.archive.archive import MAX_LAYERS, base_folder, base_manifest
from toolablate.tools.archive.captures import ExchangeRow, Layer, from_micros, near_form, read_exchange, to_micros
from toolablate.tools.archive.index import (
    decode_blob,
    entry_digest,
    exchange_row_digest,
    opened_for_checks,
    root_digest,
)
from toolablate.tools.archive.manifest import INDEX, MANIFEST, WARC_FOLDER, ArchiveManifest, Base, Seal, read_manifest
from toolablate.tools.archive.warc import OUR_NAME, RecordDamaged, decompress_member, exchange_digest, parse_record
from toolablate.traces.database import MAX_PROBLEMS, ContentDamaged, Problem, digest_bytes, structure_problems
from toolablate.traces.errors import InputError

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


def entries(connection: sqlite3.Connection) -> Iterator[Finding]:
    for kind, key, failed, micros, request, digest, *blob in connection.execute(ENTRIES):
        where = f"{kind} {key}"
        try:
            _, content = decode_blob(*blob)
        except ContentDamaged as damage:
            yield where, str(damage)
            continue
        sound = entry_digest(kind, key, failed, micros, request, content) == digest
        yield None if sound else (where, "a column does not match its digest")


def unused(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Contents that nothing refers to, which no other check meets."""
    for row, *blob in connection.execute(ORPHANS):
        try:
            yield f"content {decode_blob(*blob)[1]}", "no entry refers to it"
        except ContentDamaged as damage:
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
        ("structure", structure_problems(connection, "index")),
        ("entries", entries(connection)),
        ("contents", unused(connection)),
        ("exchanges", exchanges(connection, path)),
        ("files", files(connection, path)),
    )


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found; `checked` counts what was looked at, the bases included.

    `notes` are no damage: what an interrupted recording left at the end of a file, which sealing trims. `root` is the
    root digest, empty where the archive is not sealed.
    """

    path: str
    root: str
    checked: dict[str, int]
    problems: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class ArchiveFindings:
    """What is being found. `prefix` names the archive among those that lie over each other."""

    checked: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    prefix: str = ""

    def problem(self, where: str, what: str) -> None:
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(self.prefix + where, what))
        elif len(self.problems) == MAX_PROBLEMS:
            self.problems.append(Problem("archive", f"and more: only the first {MAX_PROBLEMS} problems are listed"))


def verify(path: str | PathLike[str]) -> Verification:
    """Reads all of an archive and of what it lies over, and changes nothing. Damage is listed, never raised.

    Raises InputError where there is no archive at that path, or none where its base should be, and where it is just
    being sealed.
    """
    folder = Path(path)
    if not _is_there(folder):
        read_manifest(folder)
    findings, below, expected, root = ArchiveFindings(), folder, "", ""
    for number in range(MAX_LAYERS):
        manifest = _verify_layer(below, expected, findings)
        if manifest is None:
            break
        if number == 0 and manifest.sealed:
            root = manifest.sealed.root
        if manifest.base is None:
            break
        above, below, expected = below, base_folder(below, manifest.base), manifest.base.root
        if not _is_there(below):
            base_manifest(above, below, manifest.base)
        findings.prefix = f"base {manifest.base.path}: "
    return Verification(str(folder), root, findings.checked, tuple(findings.problems), tuple(findings.notes))


def _is_there(folder: Path) -> bool:
    """Whether anything of an archive is left there."""
    return any((folder / name).exists() for name in (MANIFEST, INDEX))


def _verify_layer(folder: Path, expected: str, findings: ArchiveFindings) -> ArchiveManifest | None:
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        findings.problem(MANIFEST, error.message)
        return None
    if expected and (manifest.sealed is None or manifest.sealed.root != expected):
        findings.problem("archive", f"it is not the one that was laid under: its root digest was {expected}")
        return None
    try:
        with index.opened_for_checks(folder, manifest) as connection:
            check(connection, folder, manifest, findings)
    except InputError as error:
        if error.code in ("locked", "read_only"):
            raise
        findings.problem("archive", error.message)
    return manifest


def check(connection: sqlite3.Connection, folder: Path, manifest: ArchiveManifest, findings: ArchiveFindings) -> None:
    """One archive by itself. Nothing that a damaged file could hold makes this raise."""
    try:
        # One moment of the archive, whatever is recorded meanwhile.
        connection.execute("BEGIN")
        _check(connection, folder, manifest, findings)
        connection.execute("ROLLBACK")
    except (sqlite3.Error, OSError, TypeError, ValueError) as error:
        findings.problem("archive", f"cannot be read to the end: {error}")


def _check(connection: sqlite3.Connection, folder: Path, manifest: ArchiveManifest, findings: ArchiveFindings) -> None:
    for name, found in all_checks(connection, folder):
        counted = 0
        try:
            for finding in found:
                counted += finding is None
                if finding is not None:
                    findings.problem(*finding)
        except Exception as error:  # noqa: BLE001 - a damaged file holds anything anywhere, and this is what finds it
            findings.problem(name, f"cannot be read to the end: {error}")
        findings.checked[name] = findings.checked.get(name, 0) + counted
    _check_leftovers(connection, folder, manifest, findings)
    _check_seal(connection, manifest, findings)


def _check_leftovers(
    connection: sqlite3.Connection, folder: Path, manifest: ArchiveManifest, findings: ArchiveFindings
) -> None:
    for name, what, size in leftovers(connection, folder):
        where = f"{WARC_FOLDER}/{name}"
        if manifest.sealed or size < 0:
            findings.problem(where, what)
        else:
            findings.notes.append(Problem(findings.prefix + where, what))


def _check_seal(connection: sqlite3.Connection, manifest: ArchiveManifest, findings: ArchiveFindings) -> None:
    seal = manifest.sealed
    if seal is None:
        return
    if dict(connection.execute("SELECT name, value FROM facts")) != index.sealed_facts(manifest):
        findings.problem("index", f"it is not the one that was sealed, or {MANIFEST} was edited")
    if root_digest(index.row_digests(connection), manifest) != seal.root:
        findings.problem("archive", f"its content does not have the root digest {seal.root} that it was sealed with")
    if count(connection) != seal.counts:
        findings.problem(MANIFEST, "its counts are not those of the index")


def count(connection: sqlite3.Connection) -> dict[str, int]:
    """Captures by kind, `exchange` among them."""
    found = dict(connection.execute("SELECT kind, count(*) FROM entries GROUP BY kind ORDER BY kind"))
    (number,) = connection.execute("SELECT count(*) FROM exchanges").fetchone()
    return {**found, "exchange": number} if number else found


# What is in an archive, at a glance.


SPAN = """
SELECT min(captured_at), max(captured_at) FROM
(SELECT captured_at FROM entries WHERE kind <> 'raw' UNION ALL SELECT captured_at FROM exchanges)
"""
FAILURES = """
SELECT kind, count(*) FROM
(SELECT kind FROM entries WHERE failed OR kind = 'failure' UNION ALL SELECT 'exchange' FROM exchanges WHERE failed)
GROUP BY kind ORDER BY kind
"""


@dataclass(frozen=True, slots=True)
class Info:
    """One archive, without what it lies over.

    `counts` are captures by kind, `exchange` among them; `hosts` exchanges by host, the most frequent first;
    `failures` those captures by kind that are of something that failed. `size` is in bytes on the disk. `first` and
    `last` are None where nothing is kept.
    """

    path: str
    created_at: datetime
    base: Base | None
    sealed: Seal | None
    counts: dict[str, int]
    hosts: dict[str, int]
    failures: dict[str, int]
    first: datetime | None
    last: datetime | None
    size: int


def info(path: str | PathLike[str]) -> Info:
    """Reads the index alone. Raises InputError where there is no archive, ToolError where its index is damaged."""
    folder = Path(path)
    manifest = read_manifest(folder)
    with opened_for_checks(folder, manifest) as connection:
        layer = Layer(folder, connection)
        hosts = Counter(_host(url) for (url,) in layer.rows("SELECT url FROM exchanges"))
        ((first, last),) = layer.rows(SPAN)
        failures = dict(layer.rows(FAILURES))
        counts = count(connection)
    return Info(
        path=str(folder),
        created_at=manifest.created_at,
        base=manifest.base,
        sealed=manifest.sealed,
        counts=counts,
        hosts=dict(sorted(hosts.items(), key=lambda host: (-host[1], host[0]))),
        failures=failures,
        first=None if first is None else from_micros(first),
        last=None if last is None else from_micros(last),
        size=sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
    )


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]
