"""Seals archives, and takes away one that nothing was recorded into."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from toolablate.tools.archive import index
from toolablate.tools.archive.archive import bases
from toolablate.tools.archive.archive_check import ArchiveFindings, check, count, leftovers
from toolablate.tools.archive.index import root_digest
from toolablate.tools.archive.manifest import (
    ASIDE,
    INDEX,
    MANIFEST,
    WARC_FOLDER,
    ArchiveManifest,
    Seal,
    cannot_open,
    read_manifest,
    replace_manifest,
)
from toolablate.traces.errors import InputError


def seal(path: str | PathLike[str]) -> Seal:
    """Trims what interrupted recordings left, checks everything, and fixes it. One that is sealed is left alone.

    Raises InputError where it is in use, read-only or damaged, or where its base is not what it was.
    """
    folder = Path(path)
    manifest = read_manifest(folder)
    if manifest.sealed:
        return manifest.sealed
    lock = index.lock(folder, exclusive=True)
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


def _seal(folder: Path, manifest: ArchiveManifest) -> Seal:
    connection = index.open_growing(folder, write=True)
    try:
        trim(connection, folder)
        findings = ArchiveFindings()
        check(connection, folder, manifest, findings)
        if findings.problems:
            first = findings.problems[0]
            raise InputError(
                f"The archive {folder} cannot be sealed, because it is damaged: {first.where}: {first.what}",
                hint="`toolablate verify` lists all damage.",
                code="damaged",
            )
        root = root_digest(index.row_digests(connection), manifest)
        sealed = Seal(root=root, counts=count(connection), sealed_at=datetime.now(UTC))
        manifest = manifest.model_copy(update={"sealed": sealed})
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO facts VALUES (?, ?)", index.sealed_facts(manifest).items())
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


# Takes back an archive that was made for nothing.


USED = "SELECT EXISTS (SELECT * FROM entries WHERE kind <> 'mcp_tools') OR EXISTS (SELECT * FROM exchanges)"


@contextlib.contextmanager
def unmade_if_unused(path: str | PathLike[str]) -> Iterator[None]:
    """What is opened here for writing, and closed before the end, leaves no archive where an error ends it before
    anything was kept.

    One that was there before stays, and so does one that holds more than what servers of tools list, or that somebody
    else is using.
    """
    folder = Path(path)
    folder_was_there, was_there = folder.exists(), (folder / MANIFEST).exists()
    try:
        yield
    except BaseException:
        if not was_there and (folder / MANIFEST).exists():
            # The error that ended it is the one to tell.
            with contextlib.suppress(InputError, OSError, sqlite3.Error):
                _discard(folder)
                if not folder_was_there:
                    # It is empty where the archive is gone.
                    folder.rmdir()
        raise


def _discard(folder: Path) -> None:
    lock = index.lock(folder, exclusive=True)
    try:
        if read_manifest(folder).sealed:
            return
        with contextlib.closing(index.open_growing(folder, write=True)) as connection:
            ((used,),) = connection.execute(USED)
            if used:
                return
            trim(connection, folder)
        for name in MANIFEST, INDEX:
            (folder / name).unlink()
        if (folder / WARC_FOLDER).exists():
            (folder / WARC_FOLDER).rmdir()
    finally:
        os.close(lock)
