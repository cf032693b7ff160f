"""Counts of a trace's lookups, markers and refused calls, as the tables `lookups` and `markers` hold them."""

import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from toolablate.traces.records import Refusal

NAME_CHARS = 80


@dataclass(frozen=True, slots=True)
class Tallies:
    """`lookups` by why they were missed (empty: they were not), `markers` by kind: results that bear one. Among these
    are calls of tools that the model could not call, by a Refusal and the name: `unknown_tool:python`."""

    lookups: Mapping[str, int]
    markers: Mapping[str, int]


def tallies(events: Iterable[Mapping[str, Any]]) -> Tallies:
    """Of events as the JSON values that reach disk."""
    calls = [event for event in events if event["kind"] == "tool_call"]
    lookups = Counter(call["lookup"].get("miss") or "" for call in calls if call.get("lookup"))
    markers = Counter(kind for call in calls for kind in {marker["kind"] for marker in call.get("markers", ())})
    markers.update(
        f"{call['error']}:{call['call']['name'][:NAME_CHARS]}"
        for call in calls
        if call.get("status") == "invalid" and call.get("error") in get_args(Refusal)
    )
    return Tallies(lookups, markers)


def write_tallies(connection: sqlite3.Connection, trace: int, found: Tallies) -> None:
    connection.executemany(
        "INSERT INTO lookups (trace, miss, count) VALUES (?, ?, ?)",
        ((trace, miss, count) for miss, count in found.lookups.items()),
    )
    connection.executemany(
        "INSERT INTO markers (trace, kind, count) VALUES (?, ?, ?)",
        ((trace, kind, count) for kind, count in found.markers.items()),
    )


def read_tallies(connection: sqlite3.Connection, trace: int) -> Tallies:
    return Tallies(
        dict(connection.execute("SELECT miss, count FROM lookups WHERE trace = ?", (trace,))),
        dict(connection.execute("SELECT kind, count FROM markers WHERE trace = ?", (trace,))),
    )
