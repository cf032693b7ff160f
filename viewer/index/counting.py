"""How many questions each value of a filter would show."""

import sqlite3
from dataclasses import replace
from typing import Any

from toolablate.analysis.selection import Selection
from toolablate.viewer.index.records import Counts
from toolablate.viewer.index.selecting import trials_where

_OWN = "SELECT {column}, count(*) FROM (SELECT DISTINCT question, {column} FROM trials WHERE {where}) GROUP BY 1"
_NAMED = (
    "SELECT name, number FROM (SELECT {column} AS named, count(*) AS number"
    " FROM (SELECT DISTINCT question, {column} FROM trials WHERE {where}) GROUP BY 1) JOIN {column}s ON key = named"
)
_ASKED = "SELECT {column}, count(*) FROM questions WHERE key IN (SELECT question FROM trials WHERE {where}) GROUP BY 1"
_CALLED = (
    "SELECT value, count(*) FROM (SELECT DISTINCT question, value"
    " FROM (SELECT DISTINCT question, {column} AS called FROM trials WHERE {where})"
    " JOIN toolsets ON toolsets.key = called"
    " JOIN json_each(names)) GROUP BY 1"
)
_QUERIES = {
    "models": (_NAMED, "model"),
    "conditions": (_NAMED, "condition"),
    "domains": (_ASKED, "domain"),
    "difficulties": (_ASKED, "difficulty"),
    "endings": (_OWN, "ending"),
    "flips": (_OWN, "flip"),
    "mechanisms": (_OWN, "mechanism"),
    "labels": (_OWN, "label"),
    "tools": (_CALLED, "toolset"),
}


def counts(connection: sqlite3.Connection, selection: Selection) -> Counts:
    """Raises sqlite3.Error."""
    found = {}
    for field, (query, column) in _QUERIES.items():
        anything: dict[str, Any] = {field: ()}
        where, values = trials_where(replace(selection, **anything))
        rows = connection.execute(query.format(column=column, where=where), values)
        found[field] = {value: number for value, number in rows if value is not None}
    return found
