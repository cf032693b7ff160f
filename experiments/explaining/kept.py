"""What was read of traces, kept in a file, so that no trace has to be read twice.

It depends on the trace, its question and its condition alone. The digest of the trace's content tells these, since its
trial is among that: what is found by it is what reading the trace again would give."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self

import zstandard
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from toolablate.experiments.attributing import case
from toolablate.experiments.attributing.case import Case
from toolablate.traces.analysis.attribution import signals, steps
from toolablate.traces.analysis.attribution.signals import Signals

_MOST_BYTES = 100_000_000


@dataclass(frozen=True, slots=True)
class TraceReading:
    """What a trial's trace tells by itself."""

    signals: Signals
    case: Case


class KeptReadings:
    """Of one store, in a file of its own that may be deleted without loss: what cannot be read there is not known, and
    what cannot be written is forgotten. To be used by one process at a time. None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._connection = _opened(self._path)
            except (sqlite3.Error, OSError):
                self._give_up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()

    def of(self, traces: Iterable[str]) -> dict[str, TraceReading]:
        """Those that are known, by the digests of their traces."""
        wanted = json.dumps(list(traces))
        query = "SELECT trace, body FROM readings WHERE trace IN (SELECT value FROM json_each(?))"
        try:
            rows = [] if self._connection is None else self._connection.execute(query, (wanted,)).fetchall()
        except sqlite3.Error:
            self._give_up()
            rows = []
        return {trace: found for trace, body in rows if (found := _unpacked(body)) is not None}

    def put(self, found: Mapping[str, TraceReading]) -> None:
        if self._connection is None:
            return
        rows = [(trace, body) for trace, each in found.items() if (body := _packed(each)) is not None]
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO readings (trace, body) VALUES (?, ?)", rows)
        except sqlite3.Error:
            self._give_up()

    def _give_up(self) -> None:
        """The next to open it makes it anew."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()


@cache
def _adapter() -> TypeAdapter[TraceReading]:
    return TypeAdapter(TraceReading)


def _packed(found: TraceReading) -> bytes | None:
    """None where it would not come back as it is: models write halves of characters, which no UTF-8 has."""
    try:
        body = _adapter().dump_json(found)
        if _adapter().validate_json(body) != found:
            return None
    except (PydanticSerializationError, UnicodeEncodeError, ValidationError):
        return None
    return zstandard.ZstdCompressor().compress(body)


def _unpacked(body: bytes) -> TraceReading | None:
    try:
        if not 0 <= zstandard.frame_content_size(body) <= _MOST_BYTES:
            return None
        return _adapter().validate_json(zstandard.ZstdDecompressor().decompress(body))
    except (zstandard.ZstdError, ValidationError, TypeError):
        return None


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(path)
    try:
        (made_by,) = connection.execute("PRAGMA user_version").fetchone()
        if made_by != _reader():
            connection.executescript(
                "DROP TABLE IF EXISTS readings;"
                "CREATE TABLE readings (trace TEXT PRIMARY KEY, body BLOB NOT NULL) WITHOUT ROWID;"
                f"PRAGMA user_version = {_reader()};"
            )
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@cache
def _reader() -> int:
    """What reads traces: this version of toolablate, and of a checkout, whose version stays, its code. 31 bits."""
    sources = (*Path(signals.__file__).parent.glob("*.py"), Path(steps.__file__), Path(case.__file__))
    found = hashlib.sha256(version("toolablate").encode())
    for path in sorted(sources):
        with suppress(OSError):
            found.update(path.read_bytes())
    return int.from_bytes(found.digest()[:4]) >> 1
