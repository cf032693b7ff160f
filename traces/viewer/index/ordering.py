"""The order of questions in a table."""

import re
import sqlite3
from collections.abc import Callable
from typing import Any

from toolablate.traces.viewer.index.records import Sort

_COLUMNS: dict[Sort, str] = {"order": "place", "tokens": "tokens", "cost": "cost_usd"}
_DIGITS = re.compile(r"(\d{1,18})", re.ASCII)
_LEVELS = (
    *({"trivial", "very easy"}, {"easy", "simple", "low"}, {"medium", "moderate", "middle", "intermediate", "normal"}),
    *({"hard", "difficult", "high"}, {"very hard", "expert", "extreme"}),
)

NaturalKey = tuple[Any, ...]


def natural(name: str) -> NaturalKey:
    """Sorts `q2` before `q10`, and whatever the case."""
    return (*(_part(part) for part in _DIGITS.split(name.casefold())), (-1, name))


def level(difficulty: str) -> tuple[int, NaturalKey]:
    """Sorts easy before medium before hard; words that say no such thing come after, those with numbers by number, and
    what says nothing last."""
    said = difficulty.casefold().strip()
    place = next((place for place, words in enumerate(_LEVELS) if said in words), len(_LEVELS))
    return place + (not said), natural(difficulty)


def ordered(connection: sqlite3.Connection, sort: Sort, *, descending: bool) -> list[int]:
    """The keys of all questions; those that have nothing to be sorted by are last either way, and equals stand as in
    the benchmark. Raises sqlite3.Error."""
    column = _COLUMNS.get(sort, sort)
    rows = connection.execute(f"SELECT key, {column} FROM questions ORDER BY place, key").fetchall()  # noqa: S608
    there = [row for row in rows if row[1] is not None and row[1] != ""]
    there.sort(key=_by(sort), reverse=descending)
    return [*(key for key, _ in there), *(key for key, value in rows if value is None or value == "")]


def _by(sort: Sort) -> Callable[[tuple[int, Any]], Any]:
    if sort == "difficulty":
        return lambda row: level(row[1])
    if sort in ("name", "domain"):
        return lambda row: natural(row[1])
    return lambda row: row[1]


def _part(text: str) -> tuple[int, int | str]:
    return (0, int(text)) if _DIGITS.fullmatch(text) else (1, text)
