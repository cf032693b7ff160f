"""Sealing: from then on an archive is one digest, and never changes."""

import os
import sqlite3
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from toolablate.tools.archive import _opening
from toolablate.tools.archive._checks import leftovers
from toolablate.tools.archive._digests import root_digest
from toolablate.tools.archive._errors import cannot_open
from toolablate.tools.archive.manifest import ASIDE, INDEX, WARC_FOLDER, Manifest, Seal, read_manifest, replace_manifest
from toolablate.tools.archive.opening import bases
from toolablate.tools.archive.verification import Findings, check, count
from toolablate.traces.errors import InputError


def seal(path: str | PathLike[str]) -> Seal:
    """Trims what interrupted recordings left, checks everything, and fixes it. One that is sealed is left alone.

    Raises InputError where it is in use, read-only or damaged, or where its base is not what it was.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest.sealed:
        return manifest.sealed
    lock = _opening.lock(folder, exclusive=True)
    try:
        manifest = read_manifest(folder)
        if manifest.sealed:
            return manifest.sealed
        list(bases(folder, manifest))
        return _seal(folder, manifest)
    except (OSError, sqlite3.Error) as error:
        raise cannot_open(folder, error) from error
    finally:
        os.close(lock)


def _seal(folder: Path, manifest: Manifest) -> Seal:
    connection = _opening.open_growing(folder, write=True)
    try:
        trim(connection, folder)
        findings = Findings()
        check(connection, folder, manifest, findings)
        if findings.problems:
            first = findings.problems[0]
            raise InputError(
                f"The archive {folder} cannot be sealed, because it is damaged: {first.where}: {first.what}",
                hint="`toolablate web verify` lists all damage.",
                code="damaged",
            )
        root = root_digest(_opening.row_digests(connection), manifest)
        sealed = Seal(root=root, counts=count(connection), sealed_at=datetime.now(UTC))
        manifest = manifest.model_copy(update={"sealed": sealed})
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO facts VALUES (?, ?)", _opening.sealed_facts(manifest).items())
        connection.execute("COMMIT")
        # One plain file, which many can read from a read-only disk.
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    finally:
        connection.close()
    if (folder / f"{INDEX}-wal").exists():
        raise InputError(f"The archive {folder} is being used by another process", code="locked")
    replace_manifest(folder, manifest)
    return sealed


def trim(connection: sqlite3.Connection, folder: Path) -> None:
    """Cuts off what was written and never indexed. Only for who holds the archive alone. Raises OSError."""
    for aside in folder.glob(f"{ASIDE}*"):
        aside.unlink()
    for name, _, size in list(leftovers(connection, folder)):
        file = folder / WARC_FOLDER / name
        if size == 0:
            file.unlink()
        elif size > 0:
            with file.open("r+b") as tail:
                tail.truncate(size)
                os.fsync(tail.fileno())
