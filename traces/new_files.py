"""Files and folders that are there whole or not at all, also after a kill."""

import ctypes
import errno
import glob
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from toolablate.traces.errors import InputError


def require_file(path: Path) -> None:
    """Raises InputError where something else than a file is there: a folder, a device, a pipe."""
    if path.exists() and not path.is_file():
        raise InputError(f"-o: {path} is no file", hint='name a file, or "-" for standard output', code="unwritable")


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that takes the place of `path` when all is written. Whoever is killed before leaves `.NAME.RANDOM.part`
    beside it. Raises InputError where it cannot be written, or where something else than a file is there."""
    require_file(path)
    path = path.resolve()
    part = _beside(path, "part")
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


@contextmanager
def new_folder(path: Path, is_export: Callable[[Path], bool], named: str = "-o") -> Iterator[Path]:
    """A folder that takes the place of `path` when all is written. Who reads there finds the old or the new one, also
    after a kill or a power failure. On file systems that cannot exchange two folders (NFS) there is none for a moment;
    where a kill falls into it, the old one is `.NAME.RANDOM.old`, and the next call brings it back.

    What is there already is replaced where each file in it is one of an earlier export, as `is_export` says by what it
    holds. Raises InputError, which says what `named` it, where anything else is there, or it cannot be written.
    """
    path = path.resolve()
    with _writing(path, named):
        _bring_back(path)
    require_own_folder(path, is_export, named)
    part = _beside(path, "part")
    with _writing(path, named):
        part.mkdir(parents=True)
        try:
            yield part
            require_own_folder(path, is_export, named)
            for each in (*part.rglob("*"), part):
                _sync(each)
            if path.exists():
                shutil.copymode(path, part)
                _exchange(part, path)
                try:
                    # Others may have come since, from whoever had the folder open.
                    _require_own(part, path, is_export, named)
                except InputError:
                    _exchange(part, path)
                    raise
            else:
                part.rename(path)
            _sync(path.parent)
        finally:
            shutil.rmtree(part, ignore_errors=True)


_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # of <fcntl.h>, <linux/fs.h>


def _exchange(one: Path, other: Path) -> None:
    """In one step, so that there is no moment without either; where a file system cannot (NFS), in two."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return
    number = ctypes.get_errno()
    if number not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(number, os.strerror(number))
    old = _beside(other, "old")
    other.rename(old)
    try:
        one.rename(other)
    except OSError:
        old.rename(other)
        raise
    old.rename(one)


def _bring_back(path: Path) -> None:
    """What was at `path` when a process was killed between the two steps."""
    left = [*path.parent.glob(f".{glob.escape(path.name)}.*.old")]
    if left and not path.exists():
        max(left, key=lambda each: each.stat().st_mtime).rename(path)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def require_own_folder(path: Path, is_export: Callable[[Path], bool], named: str = "-o") -> None:
    """Raises InputError where a file is there, a mount point, or a folder with others than earlier exports."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{named}: {path} is a file", hint="name a folder", code="unwritable")
    # A folder cannot be renamed that something is mounted on.
    if os.path.ismount(path):
        raise InputError(
            f"{named}: {path} is a mount point, which cannot be replaced",
            hint="name a folder below it",
            code="unwritable",
        )
    if path.exists():
        _require_own(path, path, is_export, named)


def _require_own(folder: Path, path: Path, is_export: Callable[[Path], bool], named: str) -> None:
    """`folder` is what is, or was, at `path`."""
    with _writing(path, named):
        others = [each.name for each in folder.iterdir() if not is_export(each)]
    if others:
        raise InputError(
            f"{named}: {path} has other files, such as {min(others)!r}, and would be replaced",
            hint="name a folder that is empty or not there",
            code="unwritable",
        )


def _beside(path: Path, suffix: str) -> Path:
    """Of nobody else: on a volume that containers share, numbers of processes repeat."""
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{suffix}")


@contextmanager
def _writing(path: Path, named: str = "-o") -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"{named}: cannot write {path}: {error.strerror or error}", code="unwritable") from None
