"""JSONL files that are held by one process at a time, and to which each line is added durably."""

import fcntl
import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from pydantic import ValidationError

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Record, clean_text

R = TypeVar("R", bound=Record)


class LineFile:
    """A last line that a killed process left unfinished is taken off when the file is opened: `head` is what each line
    begins with, and what does not was not written here and is never cut off. Where another process holds the file,
    `in_use` says what to do, or with `wait` its end is waited for. `mode` is of a new file.

    Raises InputError where another process holds the file, it cannot be written, or a line is none of its kind; in the
    latter cases nothing was changed.
    """

    def __init__(self, path: Path, *, head: bytes, in_use: str = "", wait: bool = False, mode: int = 0o666) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, mode)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", code="unwritable") from None
        try:
            self._lock(in_use, wait)
            content = path.read_bytes()
            lines = content.splitlines(keepends=True)
            torn = lines.pop() if lines and _is_torn(lines[-1], head) else b""
            self._read(lines)
            if torn:
                os.ftruncate(self._file, len(content) - len(torn))
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

    def _lock(self, in_use: str, wait: bool) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except OSError:
            raise InputError(
                f"{self.path} is being written by another process",
                hint=f"wait for its end, or {in_use}" if in_use else "wait for its end",
                code="file_in_use",
            ) from None

    def _read(self, lines: Sequence[bytes]) -> None:
        raise NotImplementedError

    def _damaged(self, number: int, why: str) -> InputError:
        return InputError(
            f"{self.path}:{number}: {why}",
            hint="fix or delete that line, or name another file",
            code="damaged_file",
        )

    def _write(self, line: bytes) -> None:
        """Durable when it returns; where it fails, as on a full disk, no part of the line stays."""
        before = os.fstat(self._file).st_size
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, before)
            raise StoreError(f"cannot write {self.path}: {error.strerror}", code="unwritable") from None


def _is_torn(line: bytes, head: bytes) -> bool:
    if line.endswith(b"\n") or not (line.startswith(head) or head.startswith(line)):
        return False
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return True
    return False


class RowFile(LineFile):
    """Of rows of any keys, which whoever reads them checks."""

    def append(self, row: Mapping[str, Any]) -> None:
        """Durable when it returns. Raises StoreError where it cannot be written."""
        self._write(f"{clean_text(json.dumps(row, ensure_ascii=False))}\n".encode())

    def _read(self, lines: Sequence[bytes]) -> None:
        if lines and not lines[-1].endswith(b"\n"):
            try:
                json.loads(lines[-1])
            except (ValueError, RecursionError):
                # What is added would become part of it.
                raise self._damaged(len(lines), "no JSON") from None


class RecordFile(LineFile, Generic[R]):
    """`key` says what a record is of; of two with one key the first counts, with `latest` the last. `what` names a
    record in errors."""

    def __init__(
        self,
        path: Path,
        kind: type[R],
        key: Callable[[R], Hashable],
        *,
        head: bytes,
        what: str,
        in_use: str = "",
        latest: bool = False,
        wait: bool = False,
        mode: int = 0o666,
    ) -> None:
        self._kind, self._key, self._what, self._latest = kind, key, what, latest
        self.found: dict[Any, R] = {}
        super().__init__(path, head=head, in_use=in_use, wait=wait, mode=mode)

    def append(self, record: R) -> None:
        """Durable when it returns. Raises StoreError where it cannot be written."""
        self._write(record.to_json().encode() + b"\n")
        self._keep(record)

    def _keep(self, record: R) -> None:
        if self._latest:
            self.found[self._key(record)] = record
        else:
            self.found.setdefault(self._key(record), record)

    def _read(self, lines: Sequence[bytes]) -> None:
        for number, line in enumerate(lines, start=1):
            try:
                self._keep(self._kind.from_json(line))
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join(map(str, first["loc"]))
                told = f"no {self._what}: {place + ': ' if place else ''}{first['msg']}"
                raise self._damaged(number, told) from None
