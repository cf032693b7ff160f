"""Opens archives, and makes overlays of sealed ones."""

import contextlib
import errno
import os
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from toolablate.tools.archive import _opening
from toolablate.tools.archive._errors import cannot_open
from toolablate.tools.archive._layer import Layer
from toolablate.tools.archive._recorder import Recorder
from toolablate.tools.archive.archive import Archive
from toolablate.tools.archive.manifest import MANIFEST, Base, Manifest, read_manifest
from toolablate.traces.errors import InputError

MAX_LAYERS = 16


def open_archive(path: str | PathLike[str], *, write: bool = False) -> Archive:
    """An archive with all that it lies over; with `write`, made where there is none yet.

    Raises InputError where it is no archive, of a newer format or damaged, where what it lies over is gone or another
    than it was, and with `write` where it is sealed.
    """
    folder = Path(path)
    with contextlib.ExitStack() as opened:
        lock = -1
        if write or read_manifest(folder).sealed is None:
            lock = _hold(folder, write=write)
            opened.callback(os.close, lock)
        manifest = read_manifest(folder)
        if write:
            _refuse_sealed(folder, manifest)
        layers = [_layer(opened, folder, manifest)]
        layers += [_layer(opened, *below) for below in bases(folder, manifest)]
        recorder = None
        if write:
            recorder = Recorder(folder, _opening.open_growing(folder, write=True), layers[1:])
        opened.pop_all()
    return Archive(folder, manifest, layers, recorder, lock)


def check_growing(path: str | PathLike[str]) -> bool:
    """Whether there is an archive that can be recorded into; False where one would be made. Nothing is changed.

    Raises InputError where neither is so.
    """
    folder = Path(path)
    try:
        if not folder.exists() or _opening.is_free(folder):
            return False
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise cannot_open(folder, error) from error
    _refuse_sealed(folder, read_manifest(folder))
    return True


def _refuse_sealed(folder: Path, manifest: Manifest) -> None:
    if manifest.sealed:
        raise InputError(
            f"The archive {folder} is sealed, so nothing can be added to it",
            hint=f"Extend it by an overlay: toolablate web overlay NEW {folder}",
            code="sealed",
        )


def _hold(folder: Path, *, write: bool) -> int:
    if write:
        _opening.make_folder(folder)
    lock = _opening.lock(folder)
    try:
        if write and not (folder / MANIFEST).exists():
            _opening.create(folder)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _layer(opened: contextlib.ExitStack, folder: Path, manifest: Manifest) -> Layer:
    if manifest.sealed:
        connection = _opening.open_sealed(folder, manifest)
    else:
        connection = _opening.open_growing(folder, write=False)
    layer = Layer(folder, connection)
    opened.callback(layer.close)
    return layer


def bases(folder: Path, manifest: Manifest) -> Iterator[tuple[Path, Manifest]]:
    """What an archive lies over, from the top down. Raises InputError where one is gone or has become another."""
    for _ in range(MAX_LAYERS):
        if manifest.base is None:
            return
        below = base_folder(folder, manifest.base)
        folder, manifest = below, base_manifest(folder, below, manifest.base)
        yield folder, manifest
    raise InputError(f"The archive {folder} lies over more than {MAX_LAYERS} others", code="too_many_layers")


def base_folder(folder: Path, base: Base) -> Path:
    # Links are followed, since the path was made relative to the folder itself.
    return Path(os.path.normpath(folder.resolve() / base.path))


def base_manifest(folder: Path, below: Path, base: Base) -> Manifest:
    """Of what `folder` lies over. Raises InputError where it is gone or has become another."""
    try:
        manifest = read_manifest(below)
    except InputError as error:
        raise InputError(
            f"The archive {folder} lies over {below}, which cannot be opened: {error.message}",
            hint="Put its base back there, or edit `base.path` in archive.json, which is relative to the folder.",
            code="no_base",
        ) from error
    if manifest.sealed is None or manifest.sealed.root != base.root:
        raise InputError(
            f"The archive {folder} lies over {below}, which is not what it was: its root digest was {base.root}",
            hint="Put its base back there, or edit `base.path` in archive.json, which is relative to the folder.",
            code="base_changed",
        )
    return manifest


def create_overlay(path: str | PathLike[str], base: str | PathLike[str]) -> None:
    """Makes an empty archive that lies over a sealed one, which stays as it is.

    Raises InputError where the base is not sealed or cannot be opened, where there is something at `path`, and where
    that lies inside the base.
    """
    folder, below = Path(path), Path(base)
    with open_archive(below) as opened:
        if not opened.sealed:
            raise InputError(
                f"The archive {below} is not sealed, so nothing can be laid over it",
                hint=f"Seal it first: toolablate web seal {below}",
                code="not_sealed",
            )
        root = opened.root
    if folder.resolve().is_relative_to(below.resolve()):
        raise InputError(
            f"{folder} lies inside the archive {below}, to which nothing can be added",
            hint="Name a new folder beside it.",
            code="inside_base",
        )
    _opening.make_folder(folder)
    lock = _opening.lock(folder, exclusive=True)
    try:
        if (folder / MANIFEST).exists():
            raise InputError(f"There is an archive at {folder} already", hint="Name a new folder.", code="exists")
        relative = os.path.relpath(below.resolve(), folder.resolve())
        _opening.create(folder, Base(path=relative, root=root))
    except OSError as error:
        raise cannot_open(folder, error) from error
    finally:
        os.close(lock)
