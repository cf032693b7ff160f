"""What SQLite, the disk and damage say, as one error that says what to do."""

import sqlite3
from pathlib import Path

from toolablate.traces.errors import InputError, ToolError

_KNOWN = {
    "SQLITE_FULL": ("disk_full", "the disk is full", "Free some space and run again: what was kept is kept."),
    "SQLITE_READONLY": ("read_only", "it is read-only", "Make its folder writable, or extend it by an overlay."),
    "SQLITE_BUSY": ("locked", "another program holds it", "Wait until it is done, or stop it."),
    "SQLITE_LOCKED": ("locked", "another program holds it", "Wait until it is done, or stop it."),
    "SQLITE_CANTOPEN": ("cannot_open", "it cannot be opened", "Check the path and its permissions."),
    "SQLITE_IOERR": ("io_error", "the disk failed to read or write", "Check the disk and its free space."),
    "SQLITE_TOOBIG": ("too_big", "a content is larger than SQLite can hold (1 GB)", ""),
}
_VERIFY = "`toolablate web verify` lists all damage."


def failed(path: Path, doing: str, error: Exception) -> ToolError:
    """Infrastructure that failed while an open archive was used; `doing` is `read` or `written`."""
    if isinstance(error, OSError):
        return ToolError(
            f"The archive {path} cannot be {doing}: {error.strerror or error}", hint=_VERIFY, code="archive_failed"
        )
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, (code, what, hint) in _KNOWN.items():
        if name.startswith(prefix):
            return ToolError(f"The archive {path} cannot be {doing}: {what}", hint=hint, code=code)
    return ToolError(f"The archive {path} cannot be {doing}: {error}", hint=_VERIFY, code="archive_damaged")


def broken(path: Path, what: str) -> ToolError:
    """Damage that was met while an open archive was used."""
    return ToolError(f"The archive {path} is damaged: {what}", hint=_VERIFY, code="archive_damaged")


def damaged(path: Path, what: str) -> InputError:
    """Damage that keeps an archive from being opened."""
    return InputError(f"The archive {path} is damaged: {what}", hint=_VERIFY, code="damaged")


def cannot_open(path: Path, error: sqlite3.Error | OSError) -> InputError:
    told = failed(path, "opened", error)
    return InputError(told.message, hint=told.hint, code=told.code)
