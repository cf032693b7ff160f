"""What SQLite, the disk and damage say, as one error that says what to do."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from toolablate.agents.replies._texts import TextDamaged
from toolablate.traces.errors import InputError, StoreError

_KNOWN = {
    "SQLITE_FULL": ("disk_full", "the disk is full", "Free some space and run again: what was kept is kept."),
    "SQLITE_READONLY": ("read_only", "it is read-only", "Make the file and its folder writable, or copy it."),
    "SQLITE_BUSY": ("locked", "another program holds it", "Wait until it is done, or stop it."),
    "SQLITE_LOCKED": ("locked", "another program holds it", "Wait until it is done, or stop it."),
    "SQLITE_CANTOPEN": ("cannot_open", "it cannot be opened", "Check the path and its permissions."),
    "SQLITE_IOERR": ("io_error", "the disk failed to read or write", "Check the disk and its free space."),
    "SQLITE_TOOBIG": ("too_big", "a text is larger than SQLite can hold (1 GB)", ""),
}

# What reading a row runs into that holds something else than was kept.
DAMAGE = (TextDamaged, ValidationError, ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)


@contextmanager
def using(path: Path, doing: str) -> Iterator[None]:
    """Turns what goes wrong while an open library is used into StoreError, which ends a run: what is not kept must
    not happen, and what is damaged must not be taken for a model's words. `doing` is `read` or `write`.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise failed(path, doing, error) from error
    except DAMAGE as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StoreError(
            f"The recorded replies in {path} are damaged: {said}",
            hint=f"toolablate replies verify {path} lists all damage",
            code="replies_damaged",
        ) from None


def failed(path: Path, doing: str, error: sqlite3.Error) -> StoreError:
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefix, (code, what, hint) in _KNOWN.items():
        if name.startswith(prefix):
            return StoreError(f"Cannot {doing} the recorded replies {path}: {what}", hint=hint, code=code)
    hint = f"toolablate replies verify {path} says whether it is damaged"
    return StoreError(f"Cannot {doing} the recorded replies {path}: {error}", hint=hint, code="replies_damaged")


def cannot_open(path: Path, error: sqlite3.Error | OSError, *, new: bool = False) -> InputError:
    """`new` says that a file which is not there yet would do."""
    if isinstance(error, sqlite3.Error):
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_NOTADB"):
            return not_a_library(path, new=new)
        told = failed(path, "open", error)
        return InputError(told.message, hint=told.hint, code=told.code)
    reason = error.strerror or str(error)
    return InputError(f"Cannot open the recorded replies {path}: {reason}", code="cannot_open")


def not_a_library(path: Path, *, new: bool = False) -> InputError:
    """`new` as in `cannot_open`."""
    return InputError(
        f"{path} does not hold recorded replies",
        hint='Name a file that a run with replies.mode = "record" wrote' + (", or a new one." if new else "."),
        code="not_replies",
    )
