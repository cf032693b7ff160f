"""`archive.json`: what a folder must hold to be an archive; and what goes wrong with one, in sentences."""

import json
import os
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from toolablate.traces.database import known_failure
from toolablate.traces.errors import InputError, ToolError
from toolablate.traces.installing import to_upgrade
from toolablate.traces.records import Record, TaggedRecord

_HINTS = {"read_only": "Make its folder writable, or extend it by an overlay."}
_VERIFY = "`toolablate verify` lists all damage."


def failed(path: Path, doing: str, error: Exception) -> ToolError:
    """Infrastructure that failed while an open archive was used; `doing` is `read` or `written`."""
    if isinstance(error, OSError):
        return ToolError(
            f"The archive {path} cannot be {doing}: {error.strerror or error}", hint=_VERIFY, code="archive_failed"
        )
    known = known_failure(error, _HINTS)
    if known is not None:
        return ToolError(f"The archive {path} cannot be {doing}: {known.reason}", hint=known.hint, code=known.code)
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


MANIFEST = "archive.json"
INDEX = "index.sqlite"
WARC_FOLDER = "warc"
ASIDE = f".{MANIFEST}-"
"""How the name of one begins that is being written."""
VERSION = 1


class Base(Record):
    """The sealed archive under an overlay: its path, relative to the overlay's folder, and its root digest."""

    path: str
    root: str


class Seal(Record):
    """An archive's content as one digest, its captures by kind, and when it was sealed.

    The root digest is the SHA-256 (64 hexadecimal digits) of what is kept, whatever the machine, path or order.
    """

    root: str
    counts: dict[str, int] = Field(default_factory=dict)
    sealed_at: datetime


class ArchiveManifest(TaggedRecord):
    tags = ("format", "version")

    format: Literal["toolablate-archive"] = "toolablate-archive"
    version: Literal[1] = 1
    created_at: datetime
    base: Base | None = None
    sealed: Seal | None = None


def read_manifest(path: Path) -> ArchiveManifest:
    """Raises InputError where the folder is no archive, or one of a newer format."""
    try:
        text = (path / MANIFEST).read_bytes()
    except OSError as error:
        raise _not_an_archive(path, error) from error
    try:
        content = json.loads(text)
        found = content.get("format"), content.get("version")
    except (ValueError, AttributeError, RecursionError) as error:
        raise damaged(path, f"{MANIFEST} is not what toolablate writes ({error})") from None
    if found[0] == "toolablate-archive" and isinstance(found[1], int) and found[1] > VERSION:
        raise InputError(
            f"{path} was written by a newer toolablate: its format is {found[1]}, this one knows up to {VERSION}",
            hint=f"Upgrade toolablate ({to_upgrade()}); the archive was left as it was.",
            code="newer_version",
        )
    try:
        return ArchiveManifest.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise damaged(path, f"{MANIFEST} is not what toolablate writes ({where}: {first['msg']})") from None


def _not_an_archive(path: Path, error: OSError) -> InputError:
    if not path.exists():
        what = f"There is no archive at {path}"
    elif isinstance(error, FileNotFoundError | NotADirectoryError):
        what = f"{path} is not an archive: it has no {MANIFEST}"
    else:
        what = f"Cannot open the archive {path}: {error.strerror}"
    return InputError(what, hint="`toolablate web record` makes one.", code="not_an_archive")


def create_manifest(path: Path, manifest: ArchiveManifest) -> None:
    """Puts it there whole, unless there is one, whoever else tries at the same time. Raises OSError."""
    aside = _write_aside(path, manifest)
    try:
        os.link(aside, path / MANIFEST)
    except FileExistsError:
        pass
    finally:
        aside.unlink()
    sync_folder(path)


def replace_manifest(path: Path, manifest: ArchiveManifest) -> None:
    """Raises OSError."""
    _write_aside(path, manifest).replace(path / MANIFEST)
    sync_folder(path)


def _write_aside(path: Path, manifest: ArchiveManifest) -> Path:
    aside = path / f"{ASIDE}{os.getpid()}-{os.urandom(4).hex()}"
    text = json.dumps(manifest.model_dump(mode="json", exclude_defaults=True), indent=2, sort_keys=True)
    with aside.open("x", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    return aside


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable. Raises OSError."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
