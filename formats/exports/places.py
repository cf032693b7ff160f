"""Files and folders that are there whole or not at all."""

import os
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
    """A file that takes the place of `path` when all is written. Whoever is killed before leaves `.NAME.PID.part`
    beside it. Raises InputError where it cannot be written, or where something else than a file is there."""
    require_file(path)
    path = path.resolve()
    part = _part(path)
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
def new_folder(path: Path, is_export: Callable[[Path], bool]) -> Iterator[Path]:
    """A folder that takes the place of `path` when all is written; likewise.

    What is there already is replaced where each file in it is one of an earlier export, as `is_export` says by what it
    holds. Raises InputError where anything else is there, or it cannot be written.
    """
    path = path.resolve()
    _refuse_others(path, is_export)
    part = _part(path)
    with _writing(path):
        part.mkdir(parents=True)
        try:
            yield part
            _refuse_others(path, is_export)
            if path.exists():
                old = _part(path, "old")
                path.rename(old)
                part.rename(path)
                shutil.rmtree(old)
            else:
                part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _refuse_others(path: Path, is_export: Callable[[Path], bool]) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"-o: {path} is a file", hint="name a folder", code="unwritable")
    others = [] if not path.exists() else [each.name for each in path.iterdir() if not is_export(each)]
    if others:
        raise InputError(
            f"-o: {path} holds other things, such as {min(others)!r}, and would be replaced",
            hint="name a folder that is empty or not there",
            code="unwritable",
        )


def _part(path: Path, suffix: str = "part") -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.{suffix}")


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"-o: cannot write {path}: {error.strerror or error}", code="unwritable") from None
