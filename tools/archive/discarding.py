"""Takes back an archive that was made for nothing."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from toolablate.tools.archive import _opening
from toolablate.tools.archive.manifest import INDEX, MANIFEST, WARC_FOLDER, read_manifest
from toolablate.tools.archive.sealing import trim
from toolablate.traces.errors import InputError

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
    lock = _opening.lock(folder, exclusive=True)
    try:
        if read_manifest(folder).sealed:
            return
        with contextlib.closing(_opening.open_growing(folder, write=True)) as connection:
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
