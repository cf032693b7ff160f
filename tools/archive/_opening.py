"""How the files of an archive are opened: locked while it can change, untouched once it is sealed."""

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from toolablate.tools.archive._digests import root_digest
from toolablate.tools.archive._errors import cannot_open, damaged
from toolablate.tools.archive._schema import create_schema, is_index
from toolablate.tools.archive.manifest import ASIDE, INDEX, MANIFEST, WARC_FOLDER, Base, Manifest, create_manifest
from toolablate.traces.database import BUSY_SECONDS, connect, patiently
from toolablate.traces.errors import InputError


def lock(path: Path, *, exclusive: bool = False) -> int:
    """A descriptor that holds the folder's lock until it is closed; all who use an archive that is not sealed share it.

    Raises InputError where it cannot be had.
    """
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_open(path, error) from error
    try:
        fcntl.flock(folder, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except OSError:
        os.close(folder)
        raise InputError(
            f"The archive {path} is {'being used' if exclusive else 'just being sealed'} by another process",
            hint="Wait until it is done, or stop it, and try again.",
            code="locked",
        ) from None
    return folder


FILE_SIZES = """
SELECT name, max(position + response_bytes + request_bytes) FROM exchanges JOIN files ON files.id = file GROUP BY name
"""


def open_sealed(path: Path, manifest: Manifest) -> sqlite3.Connection:
    """Reads the index without locks and without a trace, on a read-only disk too. Raises InputError.

    The root digest is derived again from those of the captures, and each capture is held to its own when it is found.
    """
    connection = _connect(path, "mode=ro&immutable=1")
    try:
        _check_seal(path, manifest, connection)
    except (sqlite3.Error, ValueError, TypeError) as error:
        connection.close()
        raise damaged(path, f"its {INDEX} cannot be read ({error})") from error
    except InputError:
        connection.close()
        raise
    return connection


def _check_seal(path: Path, manifest: Manifest, connection: sqlite3.Connection) -> None:
    facts = dict(connection.execute("SELECT name, value FROM facts"))
    if facts != sealed_facts(manifest):
        raise damaged(path, f"its {INDEX} is not the one that was sealed, or {MANIFEST} was edited")
    if root_digest(row_digests(connection), manifest) != facts["root"]:
        raise damaged(path, f"its {INDEX} does not have the root digest that it was sealed with")
    for name, size in connection.execute(FILE_SIZES):
        file = path / WARC_FOLDER / name
        if not file.is_file() or file.stat().st_size < size:
            raise damaged(path, f"its {WARC_FOLDER}/{name} is not there, or cut off")


def row_digests(connection: sqlite3.Connection) -> list[bytes]:
    """Those of all captures, as the index has them. Raises sqlite3.Error, and TypeError for what is none."""
    query = "SELECT digest FROM entries UNION ALL SELECT digest FROM exchanges"
    return [bytes(digest) for (digest,) in connection.execute(query)]


def sealed_facts(manifest: Manifest) -> dict[str, str]:
    """What the index repeats of `archive.json`, so that neither can be exchanged for another's."""
    facts = {"root": manifest.sealed.root} if manifest.sealed else {}
    return facts | ({"base": manifest.base.root} if manifest.base else {})


def open_growing(path: Path, *, write: bool) -> sqlite3.Connection:
    """The index of an archive that others may be recording into. Raises InputError."""
    connection = _connect(path, "mode=rw" if write else _reading(path))
    try:
        connection.execute("SELECT count(*) FROM files").fetchone()
        if write:
            patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            # Only a sealing that was cut short leaves any.
            connection.execute("DELETE FROM facts")
    except sqlite3.Error as error:
        connection.close()
        raise _unusable(path, error) from error
    return connection


def _reading(path: Path) -> str:
    """How to read what can grow. One who may write takes away the files beside it that SQLite makes for each reader;
    what a killed recorder left there is let alone.
    """
    beside = (path / f"{INDEX}-wal").exists() or not os.access(path, os.W_OK)
    return "mode=ro" if beside else "mode=rw"


def _unusable(path: Path, error: sqlite3.Error) -> InputError:
    if os.access(path, os.W_OK):
        return cannot_open(path, error)
    return InputError(
        f"The archive {path} cannot be used here: it is not sealed, and its folder is read-only",
        hint=f"Seal it where it can be written: toolablate web seal {path}",
        code="read_only",
    )


def _connect(path: Path, options: str) -> sqlite3.Connection:
    index = path / INDEX
    if not index.is_file():
        raise damaged(path, f"its {INDEX} is missing")
    try:
        connection = connect(index, options)
    except sqlite3.Error as error:
        raise cannot_open(path, error) from error
    try:
        known = is_index(connection)
    except sqlite3.Error as error:
        connection.close()
        if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            raise damaged(path, f"its {INDEX} is no index of ours ({error})") from error
        raise _unusable(path, error) from error
    if not known:
        connection.close()
        raise damaged(path, f"its {INDEX} is no index of ours")
    return connection


def make_folder(path: Path) -> None:
    """Raises InputError."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_open(path, error) from error


def create(path: Path, base: Base | None = None) -> None:
    """Makes an empty archive of a folder whose lock is held, whoever else does so too. Raises InputError."""
    try:
        if not is_free(path):
            return
        connection = sqlite3.connect(path / INDEX, isolation_level=None, timeout=BUSY_SECONDS)
        try:
            patiently(lambda: create_schema(connection))
        finally:
            connection.close()
        create_manifest(path, Manifest(created_at=datetime.now(UTC), base=base))
    except (OSError, sqlite3.Error) as error:
        raise cannot_open(path, error) from error


def is_free(path: Path) -> bool:
    """Whether a folder is one to make an archive of; one that is an archive is not.

    Raises InputError where it holds anything else, and OSError.
    """
    strange = sorted(entry.name for entry in path.iterdir() if not entry.name.startswith(_OWN_NAMES))
    if (path / MANIFEST).exists():
        return False
    if strange:
        raise InputError(
            f"{path} is not an archive, and not empty: it holds {strange[0]}",
            hint="Name a new folder, or an archive.",
            code="not_an_archive",
        )
    return True


# What another that is creating the same archive, or was killed while it did, may have put there.
_OWN_NAMES = (INDEX, ASIDE)


@contextmanager
def opened_for_checks(path: Path, manifest: Manifest) -> Iterator[sqlite3.Connection]:
    """The index however damaged, for who looks for damage. Raises InputError where it is no index at all."""
    with ExitStack() as opened:
        if not manifest.sealed:
            opened.callback(os.close, lock(path))
        connection = _connect(path, "mode=ro&immutable=1" if manifest.sealed else _reading(path))
        opened.callback(connection.close)
        yield connection
