"""Replies in their rows, and back."""

import json
import sqlite3
import time
from datetime import UTC, datetime
from typing import Any

from toolablate.agents.replies._texts import TextDamaged, put_text, read_text
from toolablate.agents.replies.asked import Asked, part
from toolablate.agents.replies.kept import Kept, row_digest

INSERT = """
INSERT INTO replies (key, repeat, model, parameters, tools, messages, said, rest, none, recorded_at, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""


def read_kept(connection: sqlite3.Connection, key: bytes, repeat: int) -> Kept | None:
    """Raises TextDamaged, ValidationError and others where the row is not what was kept; sqlite3.Error."""
    row = connection.execute(
        "SELECT said, rest, digest FROM replies WHERE key = ? AND repeat = ?", (key, repeat)
    ).fetchone()
    return None if row is None else kept_of(connection, key, repeat, *row)


def kept_of(connection: sqlite3.Connection, key: bytes, repeat: int, said: int, rest: int, digest: bytes) -> Kept:
    """The reply in a row, held to its digest. Raises as `read_kept`."""
    content: dict[str, Any] = json.loads(read_text(connection, rest).text)
    if "reply" in content:
        content["reply"]["message"] = json.loads(read_text(connection, said).text)
    if row_digest(key, repeat, content) != digest:
        raise TextDamaged(f"reply {key.hex()} {repeat} does not match its digest")
    return Kept.model_validate(content)


def put_kept(connection: sqlite3.Connection, asked: Asked, kept: Kept) -> None:
    """The message of a reply is a text of its own, because the next request holds it again. Raises sqlite3.Error."""
    content = json.loads(part(kept.content()).text)
    digest = row_digest(asked.key, asked.repeat, content)
    said = put_text(connection, part(content["reply"].pop("message") if "reply" in content else None))
    messages = "".join(f"{put_text(connection, message)}," for message in asked.messages)
    row = (
        asked.key,
        asked.repeat,
        put_text(connection, asked.model),
        put_text(connection, asked.parameters),
        put_text(connection, asked.tools),
        messages,
        said,
        put_text(connection, part(content)),
        int(bool(kept.code)),
        int(time.time()),
        digest,
    )
    connection.execute(INSERT, row)


def message_ids(messages: str) -> list[int]:
    """The ids of a row's messages. Raises ValueError where they are none."""
    return [int(identity) for identity in messages.split(",")[:-1]]


def recorded_when(seconds: object) -> datetime:
    """When a row was written, by its seconds since 1970. Raises ValueError where that is no moment."""
    try:
        if isinstance(seconds, int):
            return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError):
        pass
    raise ValueError(f"{str(seconds)[:40]!r} is no moment of recording")
