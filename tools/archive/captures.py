"""What was captured, as one archive's index and WARC files have it: found by key, or the nearest."""

import heapq
import re
import sqlite3
import threading
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from math import log
from pathlib import Path
from typing import Any, Literal, NamedTuple

from toolablate.tools.archive.index import decode_blob, entry_digest, exchange_row_digest
from toolablate.tools.archive.manifest import WARC_FOLDER, broken, failed
from toolablate.tools.archive.warc import (
    MAX_RECORD_BYTES,
    OUR_NAME,
    RecordDamaged,
    exchange_digest,
    exchange_of,
    parse_member,
)
from toolablate.tools.web.exchange import Exchange
from toolablate.traces.database import ContentDamaged
from toolablate.traces.records import MissKind

EntryKind = Literal["search", "extraction", "mcp", "mcp_tools", "raw", "failure"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """One thing kept under a key. `request` describes what was asked; `failed` marks a reply that was a failure."""

    kind: str
    key: str
    request: str
    content: bytes
    captured_at: datetime
    failed: bool


@dataclass(frozen=True, slots=True)
class Missing:
    """Nothing under that key, or nothing as of that time.

    `nearest` describes the recorded request of the same kind that is most like the one asked for, empty if there is
    none.
    """

    kind: MissKind
    nearest: str = ""


@dataclass(frozen=True, slots=True)
class StoredExchange:
    """What the index knows of an exchange, which is enough for redirects and for pages whose text is kept.

    `location` and `content_type` are the reply's headers; `payload_digest` is that of the body as sent: the first 32
    hexadecimal digits of its SHA-256. `failed` marks a reply that was a failure.
    """

    key: str
    url: str
    status: int
    location: str
    content_type: str
    captured_at: datetime
    payload_digest: str
    failed: bool
    load: Callable[[], Exchange] = field(repr=False, compare=False)

    def read(self) -> Exchange:
        """The whole exchange, from its WARC record. Raises ToolError where that is damaged or gone."""
        return self.load()


def to_micros(moment: datetime) -> int:
    """Microseconds since 1970. Raises ValueError for a time without a zone, which each machine would read otherwise."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment} has no time zone")
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


# Reads one archive's index: the archive's own, or that of one that it lies over.


FOREVER = 2**63 - 1

ENTRY = """
SELECT failed, captured_at, request, entries.digest, blobs.digest, encoding, body
FROM entries JOIN blobs ON blobs.id = blob
WHERE kind = ? AND key = ? AND captured_at <= ? ORDER BY failed, captured_at DESC LIMIT 1
"""
EXCHANGE = """
SELECT failed, captured_at, url, status, location, content_type, payload, content, digest, name, position,
    response_bytes, request_bytes
FROM exchanges JOIN files ON files.id = file
WHERE key = ? AND captured_at <= ? ORDER BY failed, captured_at DESC LIMIT 1
"""
PAGES = """
SELECT exchanges.id, key, failed, captured_at, url, status, location, content_type, payload, content, digest, name,
    position, response_bytes, request_bytes
FROM exchanges JOIN files ON files.id = file
WHERE status = 200 AND NOT failed AND exchanges.id > ? ORDER BY exchanges.id LIMIT 1000
"""


class EntryRow(NamedTuple):
    failed: int
    captured_at: int
    request: str
    digest: bytes
    blob: bytes
    encoding: int
    body: bytes


class ExchangeRow(NamedTuple):
    failed: int
    captured_at: int
    url: str
    status: int
    location: str
    content_type: str
    payload: bytes
    content: bytes
    digest: bytes
    file: str
    position: int
    response_bytes: int
    request_bytes: int


class Layer:
    """One connection, shared by all threads. Every error is a ToolError that names the archive."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._lock = threading.Lock()

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[Any]:
        try:
            with self._lock:
                return self._connection.execute(query, parameters).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise failed(self.path, "read", error) from error

    def entry(self, kind: str, key: str, upto: int) -> EntryRow | None:
        found = self.rows(ENTRY, (kind, key, upto))
        return EntryRow(*found[0]) if found else None

    def exchange(self, key: str, upto: int) -> ExchangeRow | None:
        found = self.rows(EXCHANGE, (key, upto))
        return ExchangeRow(*found[0]) if found else None

    def pages(self) -> Iterator[StoredExchange]:
        """All captures of what was found, redirects and failures left out."""
        last = -1
        while found := self.rows(PAGES, (last,)):
            for _, key, *columns in found:
                with _undamaged(self.path, f"exchange {key}"):
                    stored = stored_exchange(self.path, key, ExchangeRow(*columns))
                yield stored
            last = found[-1][0]

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def best_entry(layers: Iterable[Layer], kind: str, key: str, upto: int) -> ArchiveEntry | None:
    """The capture that counts: a good one before a failed one, then the newest, then the topmost layer's."""
    rows = [(layer, row) for layer in layers if (row := layer.entry(kind, key, upto))]
    if not rows:
        return None
    with _undamaged(rows[0][0].path, f"{kind} {key}"):
        _, row = min(rows, key=lambda found: (found[1].failed, -found[1].captured_at))
        content, whole = decode_blob(row.blob, row.encoding, row.body)
        if entry_digest(kind, key, row.failed, row.captured_at, row.request, whole) != row.digest:
            raise ValueError("it does not match its digest")
        return ArchiveEntry(kind, key, row.request, content, from_micros(row.captured_at), bool(row.failed))


def best_exchange(layers: Iterable[Layer], key: str, upto: int) -> StoredExchange | None:
    """As `best_entry`."""
    rows = [(layer, row) for layer in layers if (row := layer.exchange(key, upto))]
    if not rows:
        return None
    with _undamaged(rows[0][0].path, f"exchange {key}"):
        layer, row = min(rows, key=lambda found: (found[1].failed, -found[1].captured_at))
        return stored_exchange(layer.path, key, row)


def stored_exchange(path: Path, key: str, row: ExchangeRow) -> StoredExchange:
    """Raises ValueError where the row is not what was kept."""
    if exchange_row_digest(key, *row[:8]) != row.digest:
        raise ValueError("it does not match its digest")
    return StoredExchange(
        key=key,
        url=row.url,
        status=row.status,
        location=row.location,
        content_type=row.content_type,
        captured_at=from_micros(row.captured_at),
        payload_digest=row.payload.hex(),
        failed=bool(row.failed),
        load=partial(_load, path, row),
    )


@contextmanager
def _undamaged(path: Path, what: str) -> Iterator[None]:
    """In a damaged index a number may be a text, and a time beyond all times."""
    try:
        yield
    except (ContentDamaged, RecordDamaged, AttributeError, TypeError, ValueError, OverflowError) as damage:
        raise broken(path, f"{what}: {damage}") from None


def _load(path: Path, row: ExchangeRow) -> Exchange:
    with _undamaged(path, f"the record of {row.url} in {row.file} at {row.position}"):
        try:
            exchange = read_exchange(path, row)
        except OSError as error:
            raise failed(path, "read", error) from error
        if exchange_digest(exchange) != row.content:
            raise RecordDamaged("it is not the one that the index means")
        return exchange


def read_exchange(path: Path, row: ExchangeRow) -> Exchange:
    """What the WARC records at a row's place say. Raises OSError and RecordDamaged."""
    size = row.response_bytes + row.request_bytes
    if not OUR_NAME.fullmatch(row.file) or row.position < 0 or not 0 < size < MAX_RECORD_BYTES:
        raise RecordDamaged("the index names no place where it could be")
    with (path / WARC_FOLDER / row.file).open("rb") as file:
        file.seek(row.position)
        data = file.read(size)
    if len(data) < size:
        raise RecordDamaged("it is cut off")
    return exchange_of(parse_member(data[: row.response_bytes]), parse_member(data[row.response_bytes :]))


# Which recorded request is most like one that was not recorded: for a person who reads the trace, not for a model.


MAX_CHARS = 300
MAX_REQUESTS = 10_000
COMPARED = 16
LOOKED_AT = 1_500
"""So many mentions of words are looked at for one request, those of the rarest words first."""
NEIGHBOURS = 4

_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+")
"""A word, or a letter of a script that puts no blanks between words."""
_START = 3
_ALIKE = 20


class Requests:
    """Recorded requests, to be found by the words that they share, the rarer the better, and then compared closely."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(set(texts))
        self._holders: dict[str, array[int]] = {}
        for number, text in enumerate(self._texts):
            for word in _words(text):
                holders = self._holders.get(word)
                if holders is None:
                    holders = self._holders[word] = array("I")
                holders.append(number)
        self._starts: dict[str, list[str]] = {}
        for word in sorted(self._holders):
            self._starts.setdefault(word[:_START], []).append(word)

    def nearest(self, request: str) -> str:
        """Empty where nothing shares a word, or the start of one. Of equals, the first in alphabetical order."""
        pieces = _pieces(request)
        likely = self._likely(request)
        best = max(likely, key=lambda number: (_similarity(pieces, self._texts[number]), -number), default=None)
        return "" if best is None else shortened(self._texts[best])

    def _likely(self, request: str) -> Sequence[int]:
        shared: dict[int, float] = {}
        room = LOOKED_AT
        words = {known for word in _words(request) for known in self._known(word)}
        for word in sorted(words, key=lambda word: (len(self._holders[word]), word)):
            holders = self._holders[word]
            weight = log(1 + len(self._texts) / len(holders))
            for number in holders[:room]:
                shared[number] = shared.get(number, 0.0) + weight
            room -= len(holders)
            if room <= 0:
                break
        return heapq.nsmallest(COMPARED, shared, key=lambda number: (-shared[number], number))

    def _known(self, word: str) -> Iterator[str]:
        """The word if it was recorded, else words that begin like it."""
        if word in self._holders:
            yield word
        else:
            yield from self._starts.get(word[:_START], ())[:_ALIKE]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text[:MAX_CHARS].casefold()))


def _pieces(text: str) -> frozenset[str]:
    # Two letters' worth of padding, so that a word of one Chinese character has pieces too.
    padded = f"  {text[:MAX_CHARS].casefold()} "
    return frozenset(padded[start : start + 3] for start in range(len(padded) - 2))


def _similarity(pieces: frozenset[str], other: str) -> float:
    """The share of pieces of three letters that both have (Dice's coefficient)."""
    others = _pieces(other)
    return 2 * len(pieces & others) / (len(pieces) + len(others))


def near_form(url: str) -> str:
    """A URL by which those of one host are neighbours, whether with `https` and `www` or without."""
    return url.partition("://")[2].removeprefix("www.")


def nearest_url(url: str, neighbours: Iterable[tuple[str, str]]) -> str:
    """Of (near form, URL), the one of the same host that begins most like `url`; empty where there is none."""
    near = near_form(url)
    host = near.partition("/")[0] + "/"
    likely = [(form, other) for form, other in neighbours if form.startswith(host)]
    best = min(likely, key=lambda found: (-_shared_beginning(near, found[0]), found[1]), default=None)
    return "" if best is None else shortened(best[1])


def _shared_beginning(one: str, other: str) -> int:
    differing = (number for number, (left, right) in enumerate(zip(one, other, strict=False)) if left != right)
    return next(differing, min(len(one), len(other)))


def shortened(text: str) -> str:
    return text if len(text) <= MAX_CHARS else text[: MAX_CHARS - 1] + "…"
