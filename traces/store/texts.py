"""How records lie in rows: texts kept once, events packed and compressed into blocks."""

import hashlib
import json
import sqlite3
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

import zstandard

from toolablate.traces.database import MAX_CONTENT_BYTES, ContentDamaged, compressing, decoded, encoded
from toolablate.traces.errors import StoreError
from toolablate.traces.records import digest_text

# JSON in which each distinct long string, and each object that recurs in lists, is kept once.


MARK = "~"
INLINE_CHARS = 64
INLINE_OBJECT_CHARS = 24
REMEMBERED = 50_000

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)


def to_json(value: Any) -> str:
    return _JSON.encode(value)


class TextWriter:
    """Puts texts into a store, each once. Belongs to the recorder's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._met: OrderedDict[bytes, None] = OrderedDict()

    def forget(self) -> None:
        """After a rollback: what was remembered may never have been written."""
        self._known.clear()

    def pack(self, value: Any) -> bytes:
        """A record's content as a body; its root stays an object, whatever its size."""
        return to_json(self._pack(value)).encode()

    def put(self, text: str) -> int:
        """The key of a text, written if it is new."""
        digest = bytes.fromhex(digest_text(text))
        key = self._known.get(digest)
        if key is not None:
            self._known.move_to_end(digest)
            return key
        key = self._find_or_insert(digest, text.encode())
        self._known[digest] = key
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return key

    def put_again(self, text: str) -> int | None:
        """The key of a text that is here or is met for the second time; None for the first time."""
        digest = bytes.fromhex(digest_text(text))
        if digest in self._known or digest in self._met or self._find(digest) is not None:
            return self.put(text)
        self._met[digest] = None
        if len(self._met) > REMEMBERED:
            self._met.popitem(last=False)
        return None

    def put_json(self, value: Any) -> int:
        """The key of a JSON value."""
        return self.put(to_json(self._pack(value)))

    def _find(self, digest: bytes) -> int | None:
        row = self._connection.execute("SELECT key FROM texts WHERE digest = ?", (digest,)).fetchone()
        return None if row is None else int(row[0])

    def _find_or_insert(self, digest: bytes, raw: bytes) -> int:
        key = self._find(digest)
        if key is not None:
            return key
        encoding, body = encoded(raw)
        cursor = self._connection.execute(
            "INSERT INTO texts (digest, encoding, body) VALUES (?, ?, ?)", (digest, encoding, body)
        )
        return int(cursor.lastrowid or 0)

    def _pack(self, value: Any) -> Any:
        if isinstance(value, str):
            if len(value) > INLINE_CHARS or value.startswith(MARK):
                return f"{MARK}t{self.put(value)}"
            return value
        if isinstance(value, dict):
            return {name: self._pack(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._shared(self._pack(item)) for item in value]
        return value

    def _shared(self, packed: Any) -> Any:
        if isinstance(packed, dict):
            text = to_json(packed)
            if len(text) > INLINE_OBJECT_CHARS:
                return f"{MARK}j{self.put(text)}"
        return packed


class TextReader:
    """Reads texts back. Remembers what it read for as long as it lives, so let it live for a trace or so."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._texts: dict[int, str] = {}
        self._values: dict[int, Any] = {}
        self._open: set[int] = set()

    def unpack(self, body: bytes) -> Any:
        """The content of a body. Raises StoreError where a text is missing or damaged."""
        return self.unpacked(parse(body))

    def unpacked(self, value: Any) -> Any:
        """A packed value as it was, as one field of a body that is parsed."""
        try:
            return self._unpack(value)
        except RecursionError:
            raise damaged("a record refers to itself") from None

    def text(self, key: int) -> str:
        found = self._texts.get(key)
        if found is None:
            row = self._connection.execute("SELECT encoding, body FROM texts WHERE key = ?", (key,)).fetchone()
            if row is None:
                raise damaged(f"text {key} is missing")
            found = self._texts[key] = decode(key, *row)
        return found

    def json(self, key: int) -> Any:
        """The value in a text. It is shared by all that refer to it, so it is not to be changed."""
        if key in self._open:
            raise damaged("a record refers to itself")
        if key not in self._values:
            self._open.add(key)
            try:
                self._values[key] = self._unpack(parse(self.text(key)))
            finally:
                self._open.remove(key)
        return self._values[key]

    def _unpack(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.resolve(value) if value.startswith(MARK) else value
        if isinstance(value, dict):
            return {name: self._unpack(item) for name, item in value.items()}
        if isinstance(value, list):
            return [self._unpack(item) for item in value]
        return value

    def resolve(self, reference: str) -> Any:
        """What a reference stands for. Raises StoreError where it is none, or leads nowhere."""
        kind, digits = reference[1:2], reference[2:]
        if kind not in ("t", "j") or not (digits.isascii() and digits.isdigit()):
            raise damaged(f"{reference!r} is no reference")
        return self.text(int(digits)) if kind == "t" else self.json(int(digits))


def decode(key: int, encoding: int, body: bytes) -> str:
    """The text in a row. Raises StoreError where it is damaged."""
    try:
        return decoded(f"text {key}", encoding, body).decode()
    except ContentDamaged as error:
        raise damaged(str(error)) from None
    except UnicodeDecodeError as error:
        raise damaged(f"text {key} cannot be decoded ({error})") from None


def damaged(what: str) -> StoreError:
    return StoreError(f"The store is damaged: {what}", hint="`toolablate verify` lists all damage.", code="corrupt")


def parse(body: bytes | str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(f"a record is not JSON ({error})") from None


# The events of a finished trace as one block, packed against an earlier one where it may resemble that.


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
# A trial of the same question and model that has not ended: of a plan with one for each nothing need be remembered.
_TO_COME = """
SELECT 1 FROM traces JOIN trials AS this ON this.key = traces.trial
JOIN trials ON trials.question = this.question AND trials.model = this.model
WHERE traces.key = ? AND trials.current IS NULL AND trials.key <> this.key LIMIT 1
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
    put_block(connection, bases, trace, plain, remembered=connection.execute(_TO_COME, (trace,)).fetchone() is not None)
    connection.execute("DELETE FROM events WHERE trace = ?", (trace,))


def put_block(
    connection: sqlite3.Connection, bases: Bases, trace: int, plain: bytes, *, remembered: bool = True
) -> None:
    """Packs the array of a finished trace's events; `remembered` where others are to be packed against it.

    Raises StoreError, sqlite3.Error."""
    find = "SELECT question, model FROM trials JOIN traces ON traces.trial = trials.key WHERE traces.key = ?"
    question, model = connection.execute(find, (trace,)).fetchone()
    base, of_model = bases.find(question, model)
    depth = base.depth + 1 if base else 0
    first, parts = _insert_parts(connection, _compress(plain, base))
    connection.execute(
        "INSERT INTO blocks (trace, base, depth, size, first, parts) VALUES (?, ?, ?, ?, ?, ?)",
        (trace, base.trace if base else None, depth, len(plain), first, parts),
    )
    if remembered and not of_model and len(plain) <= MAX_BASE_BYTES:
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
    return compressing.compress(raw)


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
        if not 0 <= claimed <= MAX_CONTENT_BYTES or (size is not None and claimed != size):
            raise damaged(f"{what} claims {claimed} bytes")
        if not dictionary:
            return compressing.decompress(body)
        return zstandard.ZstdDecompressor(dict_data=_dictionary(dictionary)).decompress(body)
    except (zstandard.ZstdError, TypeError) as error:
        raise damaged(f"{what} cannot be decoded ({error})") from None


def _dictionary(plain: bytes) -> zstandard.ZstdCompressionDict:
    return zstandard.ZstdCompressionDict(plain, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


# The events of one trace as JSON in which nothing stands twice: each request repeats all that was said before.


VALUE_CHARS = 64
SHARED_CHARS = 1_000
"""A text of such a length that a second trace says too goes into the store's texts."""

_ATOMS = frozenset({int, float, bool, type(None)})


class TracePacker:
    """Packs the events of one trace, in their order."""

    def __init__(self) -> None:
        self._numbers: dict[str | bytes, int] = {}
        # By identity, and each with itself, so that no other gets its id.
        self._items: dict[int, tuple[dict[str, Any], str]] = {}

    def pack(self, event: dict[str, Any], texts: TextWriter) -> str:
        """As JSON; long texts go into the store."""
        return to_json(self._pack(event, texts))

    def _pack(self, value: Any, texts: TextWriter) -> Any:
        if isinstance(value, str):
            return self._pack_text(value, texts)
        if isinstance(value, dict):
            return {name: self._pack(item, texts) for name, item in value.items()}
        if isinstance(value, list):
            return [
                self._pack_item(item, texts) if isinstance(item, dict) else self._pack(item, texts) for item in value
            ]
        return value

    def _pack_text(self, text: str, texts: TextWriter) -> str:
        if len(text) >= VALUE_CHARS:
            number = self._numbers.get(text)
            if number is not None:
                return f"{MARK}l{number}"
            key = texts.put_again(text) if len(text) >= SHARED_CHARS else None
            if key is not None:
                return f"{MARK}t{key}"
            self._numbers[text] = len(self._numbers)
        return MARK + text if text.startswith(MARK) else text

    def _pack_item(self, item: dict[str, Any], texts: TextWriter) -> Any:
        met = self._items.get(id(item))
        if met is not None:
            return met[1]
        key = hashlib.blake2b(to_json(item).encode(), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is not None:
            return self._referred(item, number)
        packed = self._pack(item, texts)
        number = self._numbers[key] = len(self._numbers)
        self._referred(item, number)
        return packed

    def _referred(self, item: dict[str, Any], number: int) -> str:
        reference = f"{MARK}l{number}"
        self._items[id(item)] = item, reference
        return reference


class TraceUnpacker:
    """Unpacks the events of one trace, in their order."""

    def __init__(self, texts: TextReader) -> None:
        self._texts = texts
        self._values: list[Any] = []
        self._met: dict[str, Any] = {}

    def unpack(self, body: bytes) -> Any:
        """One event. Values are shared, so they are not to be changed. Raises StoreError where it is damaged."""
        return self._whole(parse(body))

    def unpack_all(self, body: bytes) -> list[Any]:
        """The events of an array. Raises StoreError where one is damaged."""
        events = parse(body)
        if not isinstance(events, list):
            raise damaged("a block is no array")
        return [self._whole(event) for event in events]

    def _whole(self, event: Any) -> Any:
        try:
            return self._unpack(event)
        except RecursionError:
            raise damaged("a record refers to itself") from None

    def _unpack(self, value: Any) -> Any:
        if isinstance(value, str):
            # Most are short and stand for themselves.
            plain = len(value) < VALUE_CHARS and not value.startswith(MARK)
            return value if plain else self._unpack_text(value)
        if isinstance(value, dict):
            return self._unpack_parts(value)
        if isinstance(value, list):
            return [self._unpack_item(item) if isinstance(item, dict) else self._unpack_again(item) for item in value]
        return value

    def _unpack_parts(self, value: dict[str, Any]) -> dict[str, Any]:
        unpack = self._unpack
        return {name: part if type(part) in _ATOMS else unpack(part) for name, part in value.items()}

    def _unpack_again(self, value: Any) -> Any:
        """What a list holds was mostly met before, since each request repeats the whole conversation."""
        if isinstance(value, str) and value in self._met:
            return self._met[value]
        return self._unpack(value)

    def _unpack_text(self, packed: str) -> Any:
        text = packed
        if packed.startswith(MARK):
            kind = packed[1:2]
            if kind == "l":
                return self._value(packed)
            if kind != MARK:
                return self._texts.resolve(packed)
            text = packed[1:]
        if len(text) >= VALUE_CHARS:
            self._values.append(text)
        return text

    def _unpack_item(self, item: dict[str, Any]) -> Any:
        value = self._unpack_parts(item)
        self._values.append(value)
        return value

    def _value(self, reference: str) -> Any:
        digits = reference[2:]
        if not (digits.isascii() and digits.isdigit()) or int(digits) >= len(self._values):
            raise damaged(f"{reference!r} is no value of its trace")
        self._met[reference] = self._values[int(digits)]
        return self._met[reference]
