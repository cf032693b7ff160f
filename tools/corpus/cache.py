"""Built corpora are kept, since large ones take a while: one folder each, named by the digest of all it depends on."""

import os
import shutil
import tempfile
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from pydantic import ValidationError

from toolablate.tools.corpus.document import Skipped
from toolablate.traces.records import Record

MANIFEST = "manifest.json"
_BLOCK = 1 << 20
_ABANDONED_SECONDS = 86_400.0


class Built(Record):
    """What became of a source: how many documents it holds, and what of it could not be read."""

    documents: int
    skipped: tuple[Skipped, ...] = ()


class Manifest(Record):
    """Written last. `files` holds the CRC-32 of each file by its path in the folder, to tell what was damaged since."""

    built: Built
    files: dict[str, int]


@dataclass(frozen=True, slots=True)
class Kept:
    """A built corpus on disk. Where nothing could be kept, `temporary` is the folder that ends with the process."""

    folder: Path
    manifest: Manifest
    temporary: "tempfile.TemporaryDirectory[str] | None" = None


Fill = Callable[[Path], Built]
"""Builds into an empty folder."""


def default_cache() -> Path | None:
    """`$XDG_CACHE_HOME/toolablate/corpus`, by default below `~/.cache`; None for a user who has no home."""
    try:
        parent = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    except RuntimeError:
        return None
    return parent / "toolablate" / "corpus"


def kept(key: str, fill: Fill, cache: Path | None) -> Kept:
    """What was built under this key, or is built now. Several processes may ask at once; each builds if it must.

    Without a cache it is built for the moment.
    """
    if cache is None:
        return _unkept(fill)
    folder = cache / key
    manifest = _intact(folder)
    if manifest is not None:
        return Kept(folder, manifest)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache)
        building = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=cache))
    except OSError:
        return _unkept(fill)
    try:
        return Kept(folder, _published(building, folder, _filled(building, fill)))
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _sweep(cache: Path) -> None:
    """Removes what was being built when a process was killed."""
    for left in cache.glob(".*"):
        with suppress(FileNotFoundError):
            if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                shutil.rmtree(left, ignore_errors=True)


def _unkept(fill: Fill) -> Kept:
    temporary = tempfile.TemporaryDirectory(prefix="toolablate-corpus-")
    folder = Path(temporary.name)
    return Kept(folder, _filled(folder, fill), temporary)


def _filled(folder: Path, fill: Fill) -> Manifest:
    built = fill(folder)
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".lock")
    files = {path.relative_to(folder).as_posix(): _checksum(path) for path in paths}
    manifest = Manifest(built=built, files=files)
    (folder / MANIFEST).write_text(manifest.to_json(), encoding="utf-8")
    return manifest


def _published(building: Path, folder: Path, manifest: Manifest) -> Manifest:
    """Puts what was built in its place, and tells what is there then: where another process was faster, what that has
    built, since others may be opening it. What is damaged goes."""
    while True:
        try:
            building.rename(folder)
        except OSError:
            # Not empty: a folder can be renamed, not replaced, in one step.
            if (theirs := _intact(folder)) is not None:
                return theirs
            replaced = folder.with_name(f".{folder.name}.{token_hex(4)}.old")
            with suppress(FileNotFoundError):
                folder.rename(replaced)
            shutil.rmtree(replaced, ignore_errors=True)
        else:
            return manifest


def _intact(folder: Path) -> Manifest | None:
    try:
        manifest = Manifest.from_json((folder / MANIFEST).read_bytes())
        whole = all(_checksum(folder / name) == checksum for name, checksum in manifest.files.items())
    except (OSError, ValidationError):
        return None
    return manifest if whole else None


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            checksum = zlib.crc32(block, checksum)
    return checksum
