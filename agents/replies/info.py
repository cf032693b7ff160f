"""What is in a file of recorded replies, at a glance."""

import json
import sqlite3
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path

from toolablate.agents.replies._errors import using
from toolablate.agents.replies._opening import reading_of
from toolablate.agents.replies._rows import recorded_when
from toolablate.agents.replies._texts import read_text
from toolablate.agents.replies.library import root_digest

COUNTS = """
SELECT model, count(*), count(DISTINCT key), sum(none), min(recorded_at), max(recorded_at) FROM replies GROUP BY model
"""


@dataclass(frozen=True, slots=True)
class ModelReplies:
    """Those of one model. `requests` counts what was asked, each once however often it was repeated; `none` those
    replies that are none for good, such as what a content filter stopped."""

    name: str
    endpoint: str
    api: str
    replies: int
    requests: int
    none: int
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class RepliesInfo:
    """`root` is the digest of all that is kept; `size` is in bytes on the disk."""

    path: str
    root: str
    size: int
    models: tuple[ModelReplies, ...]


def info(path: str | PathLike[str]) -> RepliesInfo:
    """Raises InputError where there are none, StoreError where they are damaged."""
    file = Path(path)
    with reading_of(file) as connection, using(file, "read"):
        models = [_of_model(connection, *row) for row in connection.execute(COUNTS).fetchall()]
        models.sort(key=lambda each: (-each.replies, each.name))
        root = root_digest(connection)
        beside = (file, file.with_name(file.name + "-wal"))
        size = sum(each.stat().st_size for each in beside if each.exists())
    return RepliesInfo(str(file), root, size, tuple(models))


def _of_model(
    connection: sqlite3.Connection, model: int, replies: int, requests: int, none: int, first: object, last: object
) -> ModelReplies:
    return ModelReplies(
        **json.loads(read_text(connection, model).text),
        replies=replies,
        requests=requests,
        none=none,
        first=recorded_when(first),
        last=recorded_when(last),
    )
