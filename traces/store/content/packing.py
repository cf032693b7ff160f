"""The events of one trace as JSON in which nothing stands twice: each request repeats all that was said before.

In a packed event the string `~l12` stands for value 12 of its trace, `~t12` for text 12 of the store (a long text that
other traces hold too), and a string that itself begins with `~` has one `~` more. A trace's values are its
strings of at least VALUE_CHARS and its objects that are items of lists, numbered from 0 in the order in which they end.
"""

import hashlib
from typing import Any

from toolablate.traces.store.content.texts import MARK, TextReader, TextWriter, damaged, parse, to_json

VALUE_CHARS = 64
SHARED_CHARS = 1_000
"""A text of such a length that a second trace says too goes into the store's texts."""

_ATOMS = frozenset({int, float, bool, type(None)})


class TracePacker:
    """Packs the events of one trace, in their order."""

    def __init__(self) -> None:
        self._numbers: dict[str | bytes, int] = {}

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
        key = hashlib.blake2b(to_json(item).encode(), digest_size=16).digest()
        number = self._numbers.get(key)
        if number is not None:
            return f"{MARK}l{number}"
        packed = self._pack(item, texts)
        self._numbers[key] = len(self._numbers)
        return packed


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
