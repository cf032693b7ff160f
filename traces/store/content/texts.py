"""JSON in which each distinct long string, and each object that recurs in lists, is kept once.

In a packed value the string `~t12` stands for text 12, and `~j12` for the value whose packed JSON is text 12. A string
that itself begins with `~` is always kept as a text, so no string of a model's can be mistaken for a reference.
"""

import json
import sqlite3
from collections import OrderedDict
from typing import Any

import zstandard

from toolablate.traces.errors import StoreError
from toolablate.traces.records import digest_text

MARK = "~"
INLINE_CHARS = 64
INLINE_OBJECT_CHARS = 24
COMPRESS_BYTES = 128
MAX_TEXT_BYTES = 1_000_000_000
REMEMBERED = 50_000
PLAIN, ZSTD = 0, 1

_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def to_json(value: Any) -> str:
    return _JSON.encode(value)


class TextWriter:
    """Puts texts into a store, each once. Belongs to the recorder's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compress = zstandard.ZstdCompressor(level=3, write_checksum=False).compress
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
        encoding, body = PLAIN, raw
        if len(raw) >= COMPRESS_BYTES:
            packed = self._compress(raw)
            if len(packed) < len(raw):
                encoding, body = ZSTD, packed
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
        if encoding == ZSTD:
            size = zstandard.frame_content_size(body)
            if not 0 <= size <= MAX_TEXT_BYTES:
                raise damaged(f"text {key} claims {size} bytes")
            body = zstandard.ZstdDecompressor().decompress(body)
        return body.decode()
    except (zstandard.ZstdError, UnicodeDecodeError, AttributeError, TypeError) as error:
        raise damaged(f"text {key} cannot be decoded ({error})") from None


def damaged(what: str) -> StoreError:
    return StoreError(f"The store is damaged: {what}", hint="`toolablate verify` lists all damage.", code="corrupt")


def parse(body: bytes | str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise damaged(f"a record is not JSON ({error})") from None
