"""The WARC file of one writer. Every writer has its own, so that none waits for or tears another's."""

import os
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from toolablate.tools.archive._warc import info_member, new_id
from toolablate.tools.archive.manifest import sync_folder

FILE_BYTES = 1_000_000_000
"""A file that has grown to this is left for a new one, as the WARC guidelines advise."""
OUR_NAME = re.compile(r"\d{8}T\d{6}-[0-9a-f]{16}\.warc\.gz")


@dataclass(slots=True)
class _File:
    name: str
    info_id: str
    descriptor: int
    size: int


class WarcWriter:
    """Appends records durably. After an error the file is left as it is, and the next record begins a new one."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: _File | None = None

    def info_id(self) -> str:
        """The id of the `warcinfo` record that the next records belong to. Raises OSError."""
        if self._file is not None and self._file.size >= FILE_BYTES:
            self.leave()
        if self._file is None:
            self._file = self._create()
        return self._file.info_id

    def append(self, members: Sequence[bytes]) -> tuple[str, int]:
        """File name and offset of what was written, once it is on the disk. Raises OSError."""
        file = self._file
        if file is None:
            raise ValueError("a record belongs to a file that was begun by info_id()")
        offset = file.size
        self._write(file, b"".join(members))
        return file.name, offset

    def leave(self) -> None:
        """Ends the file. What was written to it and never indexed is not a part of the archive."""
        if self._file is not None:
            os.close(self._file.descriptor)
            self._file = None

    def _create(self) -> _File:
        self._folder.mkdir(exist_ok=True)
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(8)}.warc.gz"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        file = _File(name, new_id(), os.open(self._folder / name, flags, 0o666), 0)
        try:
            self._write(file, info_member(name, file.info_id))
            sync_folder(self._folder)
            sync_folder(self._folder.parent)
        except BaseException:
            os.close(file.descriptor)
            raise
        return file

    def _write(self, file: _File, data: bytes) -> None:
        remaining = memoryview(data)
        while remaining:
            remaining = remaining[os.write(file.descriptor, remaining) :]
        os.fsync(file.descriptor)
        file.size += len(data)
