"""Recorded replies in one SQLite file, found by what was asked; and which recorded request is nearest."""

import asyncio
import hashlib
import json
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, Self

from toolablate.agents.replies.cache_file import close_reading, open_reading, open_recording, reading_of, using
from toolablate.agents.replies.keeping import Keeping
from toolablate.agents.replies.recorded import (
    AskedRequest,
    KeptReply,
    find_text,
    message_ids,
    put_kept,
    read_kept,
    read_text,
)
from toolablate.traces.database import transaction
from toolablate.traces.errors import ModelError
from toolablate.traces.records.difference import Difference, first_difference, shared_start

COMPARED = 1_000
"""So many different messages that follow the longest common beginning are looked at closely."""

RANGE = "FROM replies WHERE model = ? AND messages >= ? AND messages < ?"
NEXT = "SELECT messages FROM replies WHERE model = ? AND messages > ? AND messages < ? ORDER BY messages LIMIT 1"
# After the comma that ends each id comes the hyphen; after the ids come letters.
AFTER_COMMA, AFTER_ALL = "-", "a"


class RecordedRow(NamedTuple):
    repeat: int
    model: int
    parameters: int
    tools: int
    messages: str


def nearest_difference(connection: sqlite3.Connection, asked: AskedRequest) -> Difference | None:
    """The first difference between the nearest recorded request (left) and one that was asked (right); None where
    nothing is recorded at all.

    Nearest is one to the same model (else to one of its name and API at another endpoint), then one with the most
    messages in common from the first on, then one whose next message is most alike, then one of the same length,
    parameters and tools. Raises ContentDamaged, sqlite3.Error.
    """
    row = _other_repeat(connection, asked) or _nearest(connection, asked)
    if row is None:
        return None
    return first_difference(_recorded(connection, row), _asked(asked))


def _other_repeat(connection: sqlite3.Connection, asked: AskedRequest) -> RecordedRow | None:
    found = connection.execute(
        "SELECT repeat, model, parameters, tools, messages FROM replies WHERE key = ? ORDER BY abs(repeat - ?) LIMIT 1",
        (asked.key, asked.repeat),
    ).fetchone()
    return RecordedRow(*found) if found else None


def _nearest(connection: sqlite3.Connection, asked: AskedRequest) -> RecordedRow | None:
    known = _known_ids(connection, asked)
    models = _most_alike_models(connection, asked)
    if not models:
        return None
    shared = [(_shared_messages(connection, model, known), model) for model in models]
    count, model = max(shared, key=lambda found: (found[0], -found[1]))
    return _most_alike(connection, asked, model, known[:count])


def _most_alike_models(connection: sqlite3.Connection, asked: AskedRequest) -> list[int]:
    """The model itself; else those of its name and API, which were asked elsewhere; else those of its name; else all
    that have replies."""
    same = find_text(connection, asked.model.digest)
    if same is not None and _has_replies(connection, same):
        return [same]
    wanted: dict[str, Any] = json.loads(asked.model.text)
    closeness: dict[int, tuple[bool, bool]] = {}
    for (model,) in connection.execute("SELECT DISTINCT model FROM replies").fetchall():
        recorded: dict[str, Any] = json.loads(read_text(connection, model).text)
        named = recorded.get("name") == wanted["name"]
        closeness[model] = named, named and recorded.get("api") == wanted["api"]
    best = max(closeness.values(), default=None)
    return [model for model, alike in closeness.items() if alike == best]


def _known_ids(connection: sqlite3.Connection, asked: AskedRequest) -> list[int]:
    """The ids of the first messages that the cache holds."""
    known = []
    for message in asked.messages:
        identity = find_text(connection, message.digest)
        if identity is None:
            break
        known.append(identity)
    return known


def _has_replies(connection: sqlite3.Connection, model: int) -> bool:
    return connection.execute("SELECT 1 FROM replies WHERE model = ? LIMIT 1", (model,)).fetchone() is not None


def _bounds(known: list[int]) -> tuple[str, str]:
    start = "".join(f"{identity}," for identity in known)
    return start, start[:-1] + AFTER_COMMA if start else AFTER_ALL


def _shared_messages(connection: sqlite3.Connection, model: int, known: list[int]) -> int:
    """How many of the first messages some recorded request to the model begins with."""
    for count in range(len(known), 0, -1):
        if connection.execute(f"SELECT 1 {RANGE} LIMIT 1", (model, *_bounds(known[:count]))).fetchone():
            return count
    return 0


def _most_alike(connection: sqlite3.Connection, asked: AskedRequest, model: int, shared: list[int]) -> RecordedRow:
    if len(shared) < len(asked.messages):
        shared = [*shared, *_most_alike_message(connection, asked.messages[len(shared)].text, model, shared)]
    query = f"SELECT repeat, model, parameters, tools, messages {RANGE} LIMIT ?"
    rows = [RecordedRow(*found) for found in connection.execute(query, (model, *_bounds(shared), COMPARED))]
    parameters, tools = (find_text(connection, part.digest) for part in (asked.parameters, asked.tools))

    def closeness(row: RecordedRow) -> tuple[int, bool, bool, int]:
        longer = abs(len(message_ids(row.messages)) - len(asked.messages))
        return -longer, row.parameters == parameters, row.tools == tools, -abs(row.repeat - asked.repeat)

    return max(rows, key=closeness)


def _most_alike_message(connection: sqlite3.Connection, wanted: str, model: int, shared: list[int]) -> list[int]:
    """The id of the message most like `wanted` of those that follow the shared ones; none where none follows."""
    following = islice(_following(connection, model, shared), COMPARED)
    best = max(following, key=lambda each: _alike(wanted, read_text(connection, each).text), default=None)
    return [] if best is None else [best]


def _following(connection: sqlite3.Connection, model: int, shared: list[int]) -> Iterator[int]:
    start, end = _bounds(shared)
    after = start
    while found := connection.execute(NEXT, (model, after, end)).fetchone():
        identity = message_ids(found[0])[len(shared)]
        yield identity
        after = f"{start}{identity}{AFTER_COMMA}"


def _alike(left: str, right: str) -> float:
    """The share of two texts that their beginnings and ends have in common."""
    start = shared_start(left, right)
    rest = min(len(left), len(right)) - start
    end = min(rest, shared_start(left[::-1], right[::-1]))
    return 2 * (start + end) / max(1, len(left) + len(right))


def _recorded(connection: sqlite3.Connection, row: RecordedRow) -> dict[str, Any]:
    def value(identity: int) -> Any:
        return json.loads(read_text(connection, identity).text)

    messages = [value(identity) for identity in message_ids(row.messages)]
    return dict(_in_order(value(row.model), messages, value(row.tools), value(row.parameters), row.repeat))


def _asked(asked: AskedRequest) -> dict[str, Any]:
    messages = [json.loads(message.text) for message in asked.messages]
    model, tools, parameters = (json.loads(part.text) for part in (asked.model, asked.tools, asked.parameters))
    return dict(_in_order(model, messages, tools, parameters, asked.repeat))


def _in_order(model: Any, messages: list[Any], tools: Any, parameters: Any, repeat: int) -> Iterator[tuple[str, Any]]:
    yield from {"model": model, "messages": messages, "tools": tools}.items()
    yield from parameters.items()
    yield "repeat", repeat


Waiting = tuple[AskedRequest, KeptReply, "asyncio.Future[KeptReply]"]


class ResponseCache(Keeping):
    """Reads, and with `write` records, also while other processes record into the same file.

    To be used inside one event loop. Opening raises InputError; all else raises StoreError where the file cannot be
    read or written or is damaged. Opened for reading, it stays as it was at that moment.
    """

    def __init__(self, path: str | PathLike[str], *, write: bool = False) -> None:
        super().__init__()
        self.path = Path(path)
        self._writer = open_recording(self.path) if write else None
        # When recording it is a second connection, so that reading never waits for a disk that writes.
        self._reader = open_recording(self.path) if write else open_reading(self.path)
        self._thread = ThreadPoolExecutor(1, "replies")
        self._waiting: list[Waiting] = []
        self._writing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Writes what is queued, and leaves one plain file behind if nobody else uses it."""
        if self._writing is not None:
            await self._writing
        self._thread.shutdown()
        if self._writer is None:
            close_reading(self.path, self._reader)
        else:
            self._reader.close()
            self._writer.close()

    def root(self) -> str:
        """SHA-256 (64 hexadecimal digits) over all that is kept, in whatever order it was recorded."""
        with using(self.path, "read"):
            return root_digest(self._reader)

    def get(self, asked: AskedRequest) -> KeptReply | None:
        """What is kept for a request and its repeat."""
        with using(self.path, "read"):
            return read_kept(self._reader, asked.key, asked.repeat)

    async def keep(self, asked: AskedRequest, kept: KeptReply) -> KeptReply:
        future: asyncio.Future[KeptReply] = asyncio.get_running_loop().create_future()
        self._waiting.append((asked, kept, future))
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_all())
        return await asyncio.shield(future)

    def not_recorded(self, asked: AskedRequest) -> ModelError:
        """The error for a request that is not there: it tells what the nearest recorded one has instead."""
        with using(self.path, "read"):
            difference = nearest_difference(self._reader, asked)
        message = f"{self.path.name} holds no reply to this request"
        if difference is None:
            message += ", nor to any other"
        else:
            recorded, now = difference.shown()
            message += f"; the nearest one differs in {difference.path}: recorded {recorded}, asked {now}"
        hint = 'run the plan with replies.mode = "record" to have it asked and kept'
        return ModelError(message, hint=hint, code="not_recorded")

    async def _write_all(self) -> None:
        """What is asked to be kept while a commit runs shares the next one."""
        loop = asyncio.get_running_loop()
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await loop.run_in_executor(self._thread, self._commit, batch)
            except Exception as error:  # noqa: BLE001 - told to each who waits, or they would wait for ever
                for _, _, future in batch:
                    future.set_exception(error)
                    future.exception()  # who waited may be gone
            else:
                for (_, _, future), result in zip(batch, results, strict=True):
                    future.set_result(result)

    def _commit(self, batch: list[Waiting]) -> list[KeptReply]:
        assert self._writer is not None
        with using(self.path, "write"), transaction(self._writer):
            return [self._put(self._writer, asked, kept) for asked, kept, _ in batch]

    @staticmethod
    def _put(connection: sqlite3.Connection, asked: AskedRequest, kept: KeptReply) -> KeptReply:
        before = read_kept(connection, asked.key, asked.repeat)
        if before is not None:
            return before
        put_kept(connection, asked, kept)
        return kept


def read_root(path: str | PathLike[str]) -> str:
    """The root digest of a file of recorded replies. Raises InputError where there is none, StoreError for damage."""
    file = Path(path)
    with reading_of(file) as connection, using(file, "read"):
        return root_digest(connection)


def root_digest(connection: sqlite3.Connection) -> str:
    """Raises sqlite3.Error, and TypeError for what is no digest."""
    digest = hashlib.sha256(b"toolablate-replies 1\n")
    for (row,) in connection.execute("SELECT digest FROM replies ORDER BY digest"):
        digest.update(row)
    return digest.hexdigest()
