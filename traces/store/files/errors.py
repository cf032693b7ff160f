"""What SQLite and the file system say, as one StoreError that says what to do."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from toolablate.traces.errors import StoreError

_MANY_FILES = "EMFILE"
NAME_A_STORE = "Name the store that `toolablate run` wrote."
_OUT_OF_FILES = (errno.EMFILE, errno.ENFILE)

_KNOWN: dict[str, tuple[str, str, str]] = {
    "SQLITE_FULL": ("disk_full", "the disk is full", "Free some space and run again: what was finished is kept."),
    "SQLITE_READONLY": ("read_only", "it is read-only", "Make the file and its folder writable, or copy the store."),
    "SQLITE_BUSY": ("locked", "another program holds it", "Wait until it is done, or stop it, and run again."),
    "SQLITE_LOCKED": ("locked", "another program holds it", "Wait until it is done, or stop it, and run again."),
    "SQLITE_NOTADB": ("not_a_store", "it is not a toolablate store", NAME_A_STORE),
    "SQLITE_CORRUPT": ("corrupt", "the file is damaged", "Run `toolablate verify` on it to see what is lost."),
    _MANY_FILES: (
        "too_many_files",
        "this process has too many files open",
        "Raise its limit (ulimit -n), or run less at once.",
    ),
    "SQLITE_CANTOPEN": ("cannot_open", "it cannot be opened", "Check the path and its permissions."),
    "SQLITE_IOERR": ("io_error", "the disk failed to read or write", "Check the disk and its free space."),
    "SQLITE_TOOBIG": ("too_big", "a text is larger than SQLite can hold (1 GB)", "Limit what a tool may return."),
}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turns what SQLite raises while a store is read into StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise explain(error, path, "read") from error
    except (UnicodeDecodeError, LookupError, TypeError) as error:
        # In a damaged file a name may be no text any more, a key lead nowhere, and a number be nothing.
        raise _of("SQLITE_CORRUPT", path, "read") from error


def explain(error: sqlite3.Error, path: Path, doing: str) -> StoreError:
    """An error of SQLite as a StoreError; `doing` is `read` or `write`."""
    name = getattr(error, "sqlite_errorname", "") or ""
    if name.startswith("SQLITE_CANTOPEN") and _no_file_can_be_opened():
        return _of(_MANY_FILES, path, doing)
    for prefix in _KNOWN:
        if name.startswith(prefix):
            return _of(prefix, path, doing)
    return StoreError(
        f"Cannot {doing} the store {path}: {error}",
        hint="Run `toolablate verify` on it to see whether it is damaged.",
        code="sqlite_error",
    )


def _no_file_can_be_opened() -> bool:
    """SQLite does not say why it could not open one."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno in _OUT_OF_FILES
    return False


def unwritable(store: Path, error: OSError | RuntimeError | ValueError) -> StoreError:
    if getattr(error, "errno", None) in _OUT_OF_FILES:
        return _of(_MANY_FILES, store, "write")
    reason = getattr(error, "strerror", None) or str(error)
    return StoreError(
        f"Cannot write the store {store}: {reason}",
        hint=f"Its folder {store.parent} has to exist, be writable and have space left.",
        code="cannot_write",
    )


def _of(name: str, path: Path, doing: str) -> StoreError:
    code, what, hint = _KNOWN[name]
    return StoreError(f"Cannot {doing} the store {path}: {what}", hint=hint, code=code)
