"""A JSONL file of records that is held by one process at a time, and to which each is added durably."""

import fcntl
import os
from collections.abc import Callable, Hashable
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from pydantic import ValidationError

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Record

R = TypeVar("R", bound=Record)


class RecordFile(Generic[R]):
    """`key` says what a record is of; of two with one key the first counts, with `latest` the last. A last line that a
    killed process left unfinished is taken off when the file is opened: `head` is what each line begins with, and what
    does not was not written here and is never cut off. `what` names a record in errors.

    Raises InputError where another process holds the file, it cannot be written, or a line is no such record; in the
    latter cases nothing was changed.
    """

    def __init__(
        self,
        path: Path,
        kind: type[R],
        key: Callable[[R], Hashable],
        *,
        head: bytes,
        what: str,
        in_use: str,
        latest: bool = False,
    ) -> None:
        self.path = path
        self._kind, self._key, self._head, self._what, self._latest = kind, key, head, what, latest
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", code="unwritable") from None
        try:
            self._lock(in_use)
            content = path.read_bytes()
            self.found: dict[Any, R] = {}
            sound = self._read(content)
            if sound < len(content):
                os.ftruncate(self._file, sound)
            elif content and not content.endswith(b"\n"):
                self._write(b"\n")
        except BaseException:
            os.close(self._file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)

    def append(self, record: R) -> None:
        """Durable when it returns. Raises StoreError where it cannot be written."""
        self._write(record.to_json().encode() + b"\n")
        self._keep(record)

    def _keep(self, record: R) -> None:
        if self._latest:
            self.found[self._key(record)] = record
        else:
            self.found.setdefault(self._key(record), record)

    def _lock(self, in_use: str) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{self.path} is being written by another process",
                hint=f"wait for its end, or {in_use}",
                code="file_in_use",
            ) from None

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}", code="unwritable") from None

    def _read(self, content: bytes) -> int:
        """How many bytes are sound; the records are kept."""
        sound = 0
        for number, line in enumerate(content.splitlines(keepends=True), start=1):
            try:
                record = self._kind.from_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                cut_off = not line.endswith(b"\n") and first["type"] == "json_invalid"
                if cut_off and (line.startswith(self._head) or self._head.startswith(line)):
                    return sound
                place = ".".join(map(str, first["loc"]))
                raise InputError(
                    f"{self.path}:{number}: no {self._what}: {place + ': ' if place else ''}{first['msg']}",
                    hint="fix or delete that line, or name another file",
                    code="damaged_file",
                ) from None
            self._keep(record)
            sound += len(line)
        return sound
