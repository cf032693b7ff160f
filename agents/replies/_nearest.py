"""Which recorded request is most like one that was not recorded, and where the two first differ."""

import json
import sqlite3
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from toolablate.agents.replies._rows import message_ids
from toolablate.agents.replies._texts import find_text, read_text
from toolablate.agents.replies.asked import Asked
from toolablate.traces.records.difference import Difference, first_difference, shared_start

COMPARED = 1_000
"""So many different messages that follow the longest common beginning are looked at closely."""

RANGE = "FROM replies WHERE model = ? AND messages >= ? AND messages < ?"
NEXT = "SELECT messages FROM replies WHERE model = ? AND messages > ? AND messages < ? ORDER BY messages LIMIT 1"
# After the comma that ends each id comes the hyphen; after the ids come letters.
AFTER_COMMA, AFTER_ALL = "-", "a"


class Row(NamedTuple):
    repeat: int
    model: int
    parameters: int
    tools: int
    messages: str


def nearest_difference(connection: sqlite3.Connection, asked: Asked) -> Difference | None:
    """The first difference between the nearest recorded request (left) and one that was asked (right); None where
    nothing is recorded at all.

    Nearest is one to the same model (else to one of its name and API at another endpoint), then one with the most
    messages in common from the first on, then one whose next message is most alike, then one of the same length,
    parameters and tools. Raises TextDamaged, sqlite3.Error.
    """
    row = _other_repeat(connection, asked) or _nearest(connection, asked)
    if row is None:
        return None
    return first_difference(_recorded(connection, row), _asked(asked))


def _other_repeat(connection: sqlite3.Connection, asked: Asked) -> Row | None:
    found = connection.execute(
        "SELECT repeat, model, parameters, tools, messages FROM replies WHERE key = ? ORDER BY abs(repeat - ?) LIMIT 1",
        (asked.key, asked.repeat),
    ).fetchone()
    return Row(*found) if found else None


def _nearest(connection: sqlite3.Connection, asked: Asked) -> Row | None:
    known = _known_ids(connection, asked)
    models = _most_alike_models(connection, asked)
    if not models:
        return None
    shared = [(_shared_messages(connection, model, known), model) for model in models]
    count, model = max(shared, key=lambda found: (found[0], -found[1]))
    return _most_alike(connection, asked, model, known[:count])


def _most_alike_models(connection: sqlite3.Connection, asked: Asked) -> list[int]:
    """The model itself; else those of its name and API, which were asked elsewhere; else those of its name; else all
    that have replies."""
    same = find_text(connection, asked.model.digest)
    if same is not None and _has_replies(connection, same):
        return [same]
    wanted: dict[str, Any] = json.loads(asked.model.text)
    likeness: dict[int, tuple[bool, bool]] = {}
    for (model,) in connection.execute("SELECT DISTINCT model FROM replies").fetchall():
        recorded: dict[str, Any] = json.loads(read_text(connection, model).text)
        named = recorded.get("name") == wanted["name"]
        likeness[model] = named, named and recorded.get("api") == wanted["api"]
    best = max(likeness.values(), default=None)
    return [model for model, alike in likeness.items() if alike == best]


def _known_ids(connection: sqlite3.Connection, asked: Asked) -> list[int]:
    """The ids of the first messages that the library holds."""
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


def _most_alike(connection: sqlite3.Connection, asked: Asked, model: int, shared: list[int]) -> Row:
    if len(shared) < len(asked.messages):
        shared = [*shared, *_most_alike_message(connection, asked.messages[len(shared)].text, model, shared)]
    query = f"SELECT repeat, model, parameters, tools, messages {RANGE} LIMIT ?"
    rows = [Row(*found) for found in connection.execute(query, (model, *_bounds(shared), COMPARED))]
    parameters, tools = (find_text(connection, part.digest) for part in (asked.parameters, asked.tools))

    def likeness(row: Row) -> tuple[int, bool, bool, int]:
        longer = abs(len(message_ids(row.messages)) - len(asked.messages))
        return -longer, row.parameters == parameters, row.tools == tools, -abs(row.repeat - asked.repeat)

    return max(rows, key=likeness)


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


def _recorded(connection: sqlite3.Connection, row: Row) -> dict[str, Any]:
    def value(identity: int) -> Any:
        return json.loads(read_text(connection, identity).text)

    messages = [value(identity) for identity in message_ids(row.messages)]
    return dict(_in_order(value(row.model), messages, value(row.tools), value(row.parameters), row.repeat))


def _asked(asked: Asked) -> dict[str, Any]:
    messages = [json.loads(message.text) for message in asked.messages]
    model, tools, parameters = (json.loads(part.text) for part in (asked.model, asked.tools, asked.parameters))
    return dict(_in_order(model, messages, tools, parameters, asked.repeat))


def _in_order(model: Any, messages: list[Any], tools: Any, parameters: Any, repeat: int) -> Iterator[tuple[str, Any]]:
    yield from {"model": model, "messages": messages, "tools": tools}.items()
    yield from parameters.items()
    yield "repeat", repeat
