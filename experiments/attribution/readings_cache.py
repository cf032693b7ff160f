"""What was read of traces, kept in a file among the user's caches so that no trace has to be read twice."""

import hashlib
import json
import sqlite3
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import zstandard
from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

import toolablate
from toolablate.analysis.attribution.change_rates import ChangeRates, FittedRate, Group, Step
from toolablate.analysis.attribution.forced_answers import Forcing
from toolablate.analysis.attribution.sign_rates import SignRate
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.analysis.attribution.signals.signal_types import Signals
from toolablate.analysis.attribution.trace_rules import NoToolTrial
from toolablate.experiments.attribution.cases import Case, case_of
from toolablate.traces.kept import Stamp, file_for, kept_folder
from toolablate.traces.records import Mechanism, Score
from toolablate.traces.store import Store

T = TypeVar("T")

_MOST_BYTES = 100_000_000
_DIGEST_BYTES = 16
_WAIT_SECONDS = 10.0
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_ERROR)
"""What sqlite says of what is no database, or none of these: `SQLITE_ERROR` where a table or column is not there."""


@dataclass(frozen=True, slots=True)
class TraceReading:
    """What a trial's trace tells by itself."""

    signals: Signals
    case: Case


class KeptReadings:
    """Of one store, in a file of its own that may be deleted without loss: what cannot be read there is not known, and
    what cannot be written is forgotten. Several processes may use it at once, and be killed. None keeps nothing."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        if self._path is not None:
            try:
                self._connection = _opened(self._path)
            except (sqlite3.Error, OSError) as error:
                self._give_up(error)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._connection.close()

    def of(self, traces: Iterable[str]) -> dict[str, TraceReading]:
        """Those that are known, by the digests of their traces."""
        wanted = json.dumps(list(traces))
        query = "SELECT trace, body FROM readings WHERE reader = ? AND trace IN (SELECT value FROM json_each(?))"
        try:
            rows = [] if self._connection is None else self._connection.execute(query, (_reader(), wanted)).fetchall()
        except sqlite3.Error as error:
            self._give_up(error)
            rows = []
        return {trace: found for trace, body in rows if (found := _unpacked(trace, body, _adapter())) is not None}

    def put(self, found: Mapping[str, TraceReading]) -> None:
        if self._connection is None or not found:
            return
        reader = _reader()
        rows = [
            (trace, reader, body)
            for trace, each in found.items()
            if (body := _packed(trace, each, _adapter())) is not None
        ]
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO readings (trace, reader, body) VALUES (?, ?, ?)", rows
                )
        except sqlite3.Error as error:
            self._give_up(error)

    def rates(self, stamp: Stamp, asked: str) -> ChangeRates | None:
        """Those of the store as it is, of what is `asked` of it."""
        query = "SELECT body FROM rates WHERE reader = ? AND stamp = ? AND asked = ?"
        key = _stamp_key(stamp)
        try:
            rows = (
                [] if self._connection is None else self._connection.execute(query, (_reader(), key, asked)).fetchall()
            )
        except sqlite3.Error as error:
            self._give_up(error)
            rows = []
        kept = next((found for (body,) in rows if (found := _unpacked(f"{key} {asked}", body, _rates_adapter()))), None)
        return None if kept is None else kept.rates()

    def put_rates(self, stamp: Stamp, asked: str, rates: ChangeRates) -> None:
        """In place of those of the store as it was. Nothing of one that was written just now: a later write may look
        the same."""
        key = _stamp_key(stamp)
        body = _packed(f"{key} {asked}", _KeptRates.of(rates), _rates_adapter())
        if self._connection is None or body is None or not stamp.settled:
            return
        try:
            with self._connection:
                self._connection.execute("DELETE FROM rates WHERE stamp <> ?", (key,))
                self._connection.execute(
                    "INSERT OR REPLACE INTO rates (stamp, asked, reader, body) VALUES (?, ?, ?, ?)",
                    (key, asked, _reader(), body),
                )
        except sqlite3.Error as error:
            self._give_up(error)

    def _give_up(self, error: sqlite3.Error | OSError) -> None:
        """Where it is damaged the next to open it makes it anew. Others may be at one that is only busy, and take what
        they need from one on a full disk."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        if self._path is not None and _tells_of_damage(error):
            with suppress(OSError):
                self._path.unlink()


def _tells_of_damage(error: sqlite3.Error | OSError) -> bool:
    code = getattr(error, "sqlite_errorcode", None)
    return isinstance(error, sqlite3.Error) and (code is None or code & 0xFF in _DAMAGED)


@cache
def _adapter() -> TypeAdapter[TraceReading]:
    return TypeAdapter(TraceReading)


@dataclass(frozen=True, slots=True)
class _KeptRates:
    """As JSON has it, whose keys are texts."""

    store: tuple[FittedRate, ...]
    groups: tuple[tuple[Group, tuple[tuple[Step, float], ...]], ...]
    forcing: tuple[tuple[str, Forcing], ...]
    arms: tuple[tuple[Group, tuple[tuple[Step, float], ...]], ...]
    signs: tuple[tuple[Mechanism, SignRate], ...]

    @classmethod
    def of(cls, rates: ChangeRates) -> Self:
        groups, arms = (
            tuple((group, tuple(steps.items())) for group, steps in of.items()) for of in (rates.groups, rates.arms)
        )
        return cls(tuple(rates.store.values()), groups, tuple(rates.forcing.items()), arms, tuple(rates.signs.items()))

    def rates(self) -> ChangeRates:
        groups, arms = ({group: dict(steps) for group, steps in of} for of in (self.groups, self.arms))
        return ChangeRates({each.step: each for each in self.store}, groups, dict(self.forcing), arms, dict(self.signs))


@cache
def _rates_adapter() -> TypeAdapter[_KeptRates]:
    return TypeAdapter(_KeptRates)


def _stamp_key(stamp: Stamp) -> str:
    """Without an empty log: whoever only reads makes one, too."""
    return json.dumps([each for each in stamp.files if each and each[1]])


def _packed(key: str, found: T, adapter: TypeAdapter[T]) -> bytes | None:
    """None where it would not come back as it is: models write halves of characters, which no UTF-8 has."""
    try:
        body = adapter.dump_json(found)
        if adapter.validate_json(body) != found:
            return None
    except (PydanticSerializationError, UnicodeEncodeError, ValidationError):
        return None
    packed = zstandard.ZstdCompressor().compress(body)
    return _digest(key, packed) + packed


def _unpacked(key: str, body: bytes, adapter: TypeAdapter[T]) -> T | None:
    try:
        digest, packed = body[:_DIGEST_BYTES], body[_DIGEST_BYTES:]
        if digest != _digest(key, packed) or not 0 <= zstandard.frame_content_size(packed) <= _MOST_BYTES:
            return None
        return adapter.validate_json(zstandard.ZstdDecompressor().decompress(packed))
    except (zstandard.ZstdError, ValidationError, TypeError):
        return None


def _digest(key: str, packed: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + _reader() + packed, digest_size=_DIGEST_BYTES).digest()


def _opened(path: Path) -> sqlite3.Connection:
    path.touch(mode=0o600)
    connection = sqlite3.connect(path, timeout=_WAIT_SECONDS)
    try:
        # What the system loses where the power goes is made again.
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS readings (trace TEXT, reader BLOB, body BLOB NOT NULL,"
                " PRIMARY KEY (trace, reader)) WITHOUT ROWID"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS rates (stamp TEXT, asked TEXT, reader BLOB, body BLOB NOT NULL,"
                " PRIMARY KEY (stamp, asked)) WITHOUT ROWID"
            )
            for table in ("readings", "rates"):
                if connection.execute(f"SELECT 1 FROM {table} WHERE reader <> ? LIMIT 1", (_reader(),)).fetchone():  # noqa: S608
                    connection.execute(f"DELETE FROM {table} WHERE reader <> ?", (_reader(),))  # noqa: S608
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@cache
def _reader() -> bytes:
    """What reads traces: this version of toolablate, and of a checkout, whose version stays, all of its code, since
    there is hardly a module that no signal stands on; and Python, whose parser reads programs."""
    found = hashlib.sha256(f"{version('toolablate')} {sys.version}".encode())
    for root in map(Path, toolablate.__path__):
        for path in sorted(root.glob("*/**/*.py")):
            with suppress(OSError):
                found.update(f"{path.relative_to(root)}\n".encode() + path.read_bytes())
    return found.digest()[:_DIGEST_BYTES]


# Where that is kept.


def readings_of(store: Path) -> Path | None:
    """The file that keeps what was read of a store's traces, whatever of them was asked for. None where nothing can be
    kept."""
    folder = kept_folder("readings")
    return None if folder is None else folder / file_for(str(store.resolve()))


# What is known of planned trials by themselves: what their traces tell, and their scores.


_QUESTIONS = 1_000


class Known:
    """Of some hundred trials at a time, by their whole ids, so that what is held does not grow with the store:
    `turn_to` names them, and forgets the others. Raises StoreError."""

    def __init__(self, store: Store, scorers: Sequence[str], kept: KeptReadings) -> None:
        self._store, self._scorers, self._kept = store, scorers, kept
        self._question = lru_cache(maxsize=_QUESTIONS)(store.question)
        self._condition = lru_cache(maxsize=None)(store.condition)
        self._attempts: Mapping[str, tuple[int, str]] = {}
        self._scores: Mapping[str, tuple[Score, ...]] = {}
        self._readings: dict[str, TraceReading] = {}
        self._new: dict[str, TraceReading] = {}

    def turn_to(self, trials: Iterable[str]) -> None:
        named = tuple(trials)
        self._scores = self._store.scores_of(named)
        self._attempts = self._store.current_attempts(named)
        self._readings, self._new = {}, {}

    def keep(self) -> None:
        """What had to be read of those that it was turned to."""
        self._kept.put(self._new)

    def reading(self, trial: str) -> TraceReading:
        attempt, digest = self._attempts[trial]
        if digest not in self._readings:
            # One by one, as they are asked for: of most trials nothing is.
            self._readings |= self._kept.of((digest,))
        if digest not in self._readings:
            # Of this attempt, whatever is current by now: its digest tells what it says.
            self._readings[digest] = self._new[digest] = self._read(trial, attempt)
        return self._readings[digest]

    def score(self, trial: str) -> Score:
        of_them = [each for each in self._scores[trial] if each.scorer in self._scorers]
        return max(of_them, key=lambda each: each.scorer_version)

    def no_tools(self, trial: str) -> NoToolTrial:
        return NoToolTrial(self.reading(trial).signals, self.score(trial))

    def no_tools_unread(self, trial: str) -> NoToolTrial:
        """The same, whose trace is read when its signals are asked for: until another is turned to."""
        return _UnreadTrial(self, trial)

    def _read(self, trial: str, attempt: int) -> TraceReading:
        trace = self._store.trace(trial, attempt=attempt)
        condition = self._condition(trace.trial.condition)
        signals = signals_of(trace, self._question(trace.trial.question), condition)
        return TraceReading(signals, case_of(trace, condition, signals))


class _UnreadTrial(NoToolTrial):
    __slots__ = ("_known", "_trial")

    _known: Known
    _trial: str

    def __init__(self, known: Known, trial: str) -> None:
        object.__setattr__(self, "score", known.score(trial))
        object.__setattr__(self, "_known", known)
        object.__setattr__(self, "_trial", trial)

    @property
    def signals(self) -> Signals:
        return self._known.reading(self._trial).signals
