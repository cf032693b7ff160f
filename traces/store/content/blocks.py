"""The events of a finished trace as one block, packed against an earlier one where it may resemble that.

Two trials of one question share the question, the instructions, the tools and the form of every event, and often much
of what a model says. So a block is compressed with an earlier block of the same question and model for a dictionary,
and the first of those with the first of the question. To read one, at most two others are read.
"""

import sqlite3
from collections import OrderedDict
from dataclasses import dataclass

import zstandard

from toolablate.traces.errors import StoreError
from toolablate.traces.store.content.texts import MAX_TEXT_BYTES, damaged

LEVEL = 6
PART_BYTES = 400
MAX_DEPTH = 2
MAX_BASE_BYTES = 128_000
REMEMBERED_BYTES = 32_000_000
ROW_PLAIN_BYTES = 256
"""A row shorter than this is not worth compressing while its trial runs."""

_OF_MODEL = """
SELECT blocks.trace, blocks.depth FROM trials JOIN blocks ON blocks.trace = trials.current
WHERE trials.question = ? AND trials.model = ? AND blocks.depth < ? AND blocks.size <= ?
ORDER BY blocks.depth, blocks.trace LIMIT 1
"""
_OF_QUESTION = """
SELECT blocks.trace, blocks.depth FROM trials JOIN blocks ON blocks.trace = trials.current
WHERE trials.question = ? AND blocks.depth = 0 AND blocks.size <= ?
ORDER BY blocks.trace LIMIT 1
"""
_ZSTD_BEGINS = b"\x28\xb5\x2f\xfd"


@dataclass(frozen=True, slots=True)
class _Base:
    trace: int
    depth: int
    plain: bytes


class Bases:
    """What the next block of a question and model is packed against. Belongs to the recorder's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: OrderedDict[tuple[int, int], _Base] = OrderedDict()
        self._bytes = 0

    def forget(self) -> None:
        """After a rollback: what was remembered may never have been written."""
        self._known.clear()
        self._bytes = 0

    def find(self, question: int, model: int) -> tuple[_Base | None, bool]:
        """The base, and whether it is of the same model. Raises sqlite3.Error."""
        found = self._known.get((question, model))
        if found is not None:
            self._known.move_to_end((question, model))
            return found, True
        found = self._read(_OF_MODEL, (question, model, MAX_DEPTH, MAX_BASE_BYTES))
        if found is not None:
            self.remember(question, model, found)
            return found, True
        return self._read(_OF_QUESTION, (question, MAX_BASE_BYTES)), False

    def _read(self, query: str, values: tuple[int, ...]) -> _Base | None:
        row = self._connection.execute(query, values).fetchone()
        if row is None:
            return None
        try:
            return _Base(row[0], row[1], read_block(self._connection, row[0]) or b"")
        except StoreError:
            return None  # a damaged block is no reason to lose another

    def remember(self, question: int, model: int, base: _Base) -> None:
        self._known[question, model] = base
        self._bytes += len(base.plain)
        while self._bytes > REMEMBERED_BYTES:
            _, dropped = self._known.popitem(last=False)
            self._bytes -= len(dropped.plain)


def seal(connection: sqlite3.Connection, bases: Bases, trace: int) -> None:
    """Turns the rows of a trace's events into its block. Raises StoreError, sqlite3.Error."""
    rows = connection.execute("SELECT body FROM events WHERE trace = ? ORDER BY seq", (trace,)).fetchall()
    plain = b"[" + b",".join(expand_row(body) for (body,) in rows) + b"]"
    find = "SELECT question, model FROM trials JOIN traces ON traces.trial = trials.key WHERE traces.key = ?"
    question, model = connection.execute(find, (trace,)).fetchone()
    base, of_model = bases.find(question, model)
    depth = base.depth + 1 if base else 0
    first, parts = _insert_parts(connection, _compress(plain, base))
    connection.execute(
        "INSERT INTO blocks (trace, base, depth, size, first, parts) VALUES (?, ?, ?, ?, ?, ?)",
        (trace, base.trace if base else None, depth, len(plain), first, parts),
    )
    connection.execute("DELETE FROM events WHERE trace = ?", (trace,))
    if not of_model and len(plain) <= MAX_BASE_BYTES:
        bases.remember(question, model, _Base(trace, depth, plain))


def read_block(connection: sqlite3.Connection, trace: int) -> bytes | None:
    """The array in a trace's block, None where it has none. Raises StoreError where it is damaged, sqlite3.Error."""
    row = connection.execute("SELECT base, depth, size, first, parts FROM blocks WHERE trace = ?", (trace,)).fetchone()
    if row is None:
        return None
    base, depth, size, first, parts = row
    find = "SELECT body FROM parts WHERE key >= ? AND key < ? ORDER BY key"
    body = b"".join(part for (part,) in connection.execute(find, (first, first + parts)))
    dictionary = b""
    if base is not None:
        found = connection.execute("SELECT depth FROM blocks WHERE trace = ?", (base,)).fetchone()
        if found is None or found[0] >= depth:
            raise damaged(f"the block of trace {trace} is packed against that of trace {base}, which cannot be")
        dictionary = read_block(connection, base) or b""
    return _decompress(f"the block of trace {trace}", body, size, dictionary)


def _insert_parts(connection: sqlite3.Connection, body: bytes) -> tuple[int, int]:
    """The key of the first and how many there are."""
    (first,) = connection.execute("SELECT coalesce(max(key), 0) + 1 FROM parts").fetchone()
    parts = [body[start : start + PART_BYTES] for start in range(0, len(body), PART_BYTES)]
    connection.executemany("INSERT INTO parts (key, body) VALUES (?, ?)", enumerate(parts, start=first))
    return int(first), len(parts)


def shrink_row(event: str) -> bytes:
    """The body of an event's row while its trial runs. One that SQL looks into is not compressed."""
    raw = event.encode()
    if len(raw) < ROW_PLAIN_BYTES or event.startswith('{"kind":"failure"'):
        return raw
    return zstandard.ZstdCompressor(level=1, write_checksum=False).compress(raw)


def expand_row(body: bytes) -> bytes:
    """Raises StoreError where it is damaged."""
    if not body.startswith(_ZSTD_BEGINS):
        return body
    return _decompress("an event", body, None, b"")


def _compress(plain: bytes, base: _Base | None) -> bytes:
    dictionary = _dictionary(base.plain) if base else None
    return zstandard.ZstdCompressor(level=LEVEL, write_checksum=False, dict_data=dictionary).compress(plain)


def _decompress(what: str, body: bytes, size: int | None, dictionary: bytes) -> bytes:
    try:
        claimed = zstandard.frame_content_size(body)
        if not 0 <= claimed <= MAX_TEXT_BYTES or (size is not None and claimed != size):
            raise damaged(f"{what} claims {claimed} bytes")
        return zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary) if dictionary else None).decompress(body)
    except (zstandard.ZstdError, TypeError) as error:
        raise damaged(f"{what} cannot be decoded ({error})") from None


def _dictionary(plain: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(plain, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
