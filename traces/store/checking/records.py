"""What every check yields, and whether a stored record is the one that was written."""

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Record
from toolablate.traces.store.content.digests import content_digest
from toolablate.traces.store.content.texts import TextReader

Finding = tuple[str, str] | None
"""None for a thing that holds, or where the damage is and what it is."""

Check = Callable[[sqlite3.Connection], Iterator[Finding]]


def whole(connection: sqlite3.Connection, kind: TypeAdapter[Any], digest: bytes, body: bytes) -> Record | str:
    """The record of a body whose digest holds, or what is wrong with it."""
    try:
        content = TextReader(connection).unpack(body)
    except StoreError as error:
        return error.message
    if content_digest(content) != digest:
        return "its content does not match its digest"
    try:
        record: Record = kind.validate_python(content)
    except ValidationError as error:
        return f"it is no valid record ({error.errors()[0]['msg']})"
    return record
