"""What is in a file of recorded replies, and whether every digest and key follows from the content."""

import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from os import PathLike
from pathlib import Path

from toolablate.agents.replies.cache import root_digest
from toolablate.agents.replies.cache_file import DAMAGE, SCHEMA, reading_of, using
from toolablate.agents.replies.recorded import (
    decode_text,
    kept_of,
    key_of,
    message_ids,
    read_text,
    recorded_when,
)
from toolablate.traces.database import MAX_PROBLEMS, ContentDamaged, Problem, structure_problems
from toolablate.traces.errors import InputError

ROWS = "SELECT key, repeat, model, parameters, tools, messages, said, rest, none, recorded_at, digest FROM replies"


@dataclass(frozen=True, slots=True)
class RepliesReport:
    """`texts` and `replies` count what was found whole. `root` is empty where something is damaged."""

    path: str
    root: str
    texts: int
    replies: int
    problems: tuple[Problem, ...]


def verify(path: str | PathLike[str]) -> RepliesReport:
    """Checks the whole file, reading only. Raises InputError where there is none that could be opened."""
    file = Path(path)
    try:
        with reading_of(file, damaged=True) as connection:
            return _checked(file, connection)
    except InputError as error:
        if error.code != "replies_damaged":
            raise
        return RepliesReport(str(file), "", 0, 0, (Problem("database", error.message),))


def _checked(file: Path, connection: sqlite3.Connection) -> RepliesReport:
    problems: list[Problem] = []
    counts = {"texts": 0, "replies": 0}
    for name, check in (("structure", _structure), ("texts", _texts), ("replies", _replies)):
        try:
            for found in check(connection):
                if found is None:
                    counts[name] += 1
                elif len(problems) < MAX_PROBLEMS:
                    problems.append(found)
        except Exception as error:  # noqa: BLE001 - a damaged file holds anything anywhere, and this finds it
            problems.append(Problem(name, f"cannot be read to the end: {error}"))
    root = "" if problems else root_digest(connection)
    return RepliesReport(str(file), root, counts["texts"], counts["replies"], tuple(problems))


def _structure(connection: sqlite3.Connection) -> Iterator[Problem | None]:
    if not SCHEMA.fits(connection):
        yield Problem("database", "its tables are not those of recorded replies")
    yield from (Problem(*found) for found in structure_problems(connection, "database") if found)


def _texts(connection: sqlite3.Connection) -> Iterator[Problem | None]:
    for identity, digest, encoding, body in connection.execute("SELECT id, digest, encoding, body FROM texts"):
        try:
            decode_text(identity, digest, encoding, body)
        except ContentDamaged as damage:
            yield Problem(f"text {identity}", str(damage))
        else:
            yield None


def _replies(connection: sqlite3.Connection) -> Iterator[Problem | None]:
    for key, repeat, model, parameters, tools, messages, said, rest, none, recorded_at, digest in connection.execute(
        ROWS
    ):
        where = f"reply {key.hex() if isinstance(key, bytes) else key} {repeat}"
        try:
            ids = [model, parameters, tools, *message_ids(messages)]
            parts = [read_text(connection, identity).digest for identity in ids]
            kept = kept_of(connection, key, repeat, said, rest, digest)
            recorded_when(recorded_at)
        except DAMAGE as damage:
            yield Problem(where, str(damage).splitlines()[0])
            continue
        if key_of(parts[0], parts[1], parts[2], parts[3:]) != key:
            yield Problem(where, "its key does not follow from what was asked")
        elif none != bool(kept.code):
            yield Problem(where, "a column does not match its content")
        else:
            yield None


# What is in a file of recorded replies, at a glance.


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
