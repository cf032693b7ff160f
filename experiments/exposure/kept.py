"""The file that keeps what models went on with: JSON lines, each durable before the next request is counted as done."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Self

from pydantic import ValidationError

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Continuation

# What each line begins with; what does not was not written here, and is never cut off.
_HEAD = b'{"version":1,"model":"'


class ContinuationFile:
    """Held by one process at a time. A last line that a killed process left unfinished is taken off when it is opened.

    Raises InputError where another process holds it, it cannot be written, or a line is no continuation; in the latter
    cases nothing was changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", code="unwritable") from None
        try:
            self._lock()
            content = path.read_bytes()
            self.found, sound = _read(path, content)
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

    def append(self, continuation: Continuation) -> None:
        """Durable when it returns. Raises StoreError where it cannot be written."""
        self._write(continuation.to_json().encode() + b"\n")
        self.found.setdefault(continuation.asked, continuation)

    def _lock(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError(
                f"{self.path} is being written by another process",
                hint="wait for its end, or name another file in the plan",
                code="file_in_use",
            ) from None

    def _write(self, line: bytes) -> None:
        try:
            while line:
                line = line[os.write(self._file, line) :]
            os.fsync(self._file)
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}", code="unwritable") from None


def _read(path: Path, content: bytes) -> tuple[dict[tuple[object, ...], Continuation], int]:
    """The continuations by what was asked, of two the first, and how many bytes are sound."""
    found: dict[tuple[object, ...], Continuation] = {}
    sound = 0
    for number, line in enumerate(content.splitlines(keepends=True), start=1):
        try:
            continuation = Continuation.from_json(line)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            cut_off = not line.endswith(b"\n") and first["type"] == "json_invalid"
            if cut_off and (line.startswith(_HEAD) or _HEAD.startswith(line)):
                return found, sound
            place = ".".join(map(str, first["loc"]))
            raise InputError(
                f"{path}:{number}: no continuation of a prompt: {place + ': ' if place else ''}{first['msg']}",
                hint="mend or take out that line, whose question is then asked again, or name another file",
                code="damaged_file",
            ) from None
        found.setdefault(continuation.asked, continuation)
        sound += len(line)
    return found, sound
