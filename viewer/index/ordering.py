"""The order of questions in a table."""

import re
import sqlite3
from collections.abc import Callable
from itertools import groupby
from typing import Any, NamedTuple

from toolablate.analysis.selection import Selection
from toolablate.traces.records import Outcome
from toolablate.viewer.index.figures import QuestionFigures, figures, standings
from toolablate.viewer.index.file import fact
from toolablate.viewer.index.records import Sort
from toolablate.viewer.index.selecting import trials_where

_COLUMNS: dict[Sort, str] = {"order": "place", "tokens": "tokens", "cost": "cost_usd"}
_DIGITS = re.compile(r"(\d{1,18})", re.ASCII)
_LEVELS = (
    *({"trivial", "very easy"}, {"easy", "simple", "low"}, {"medium", "moderate", "middle", "intermediate", "normal"}),
    *({"hard", "difficult", "high"}, {"very hard", "expert", "extreme"}),
)

_TRIALS = """
SELECT question, models.name, conditions.name, outcome, value, tokens, cost_usd
FROM trials JOIN models ON models.key = model JOIN conditions ON conditions.key = condition
WHERE {where} ORDER BY question
"""

NaturalKey = tuple[Any, ...]


class _Trial(NamedTuple):
    model: str
    condition: str
    outcome: Outcome
    value: float | None
    tokens: int | None
    cost_usd: float | None


def natural(name: str) -> NaturalKey:
    """Sorts `q2` before `q10`, and whatever the case."""
    return (*(_part(part) for part in _DIGITS.split(name.casefold())), (-1, name))


def level(difficulty: str) -> tuple[int, NaturalKey]:
    """Sorts easy before medium before hard; words that say no such thing come after, those with numbers by number, and
    what says nothing last."""
    said = difficulty.casefold().strip()
    place = next((place for place, words in enumerate(_LEVELS) if said in words), len(_LEVELS))
    return place + (not said), natural(difficulty)


def ordered(connection: sqlite3.Connection, sort: Sort, shown: Selection, *, descending: bool) -> list[int]:
    """The keys of all questions; those that have nothing to be sorted by are last either way, and equals stand as in
    the benchmark. Figures are those of the arms that are `shown`: models and conditions, all where none are named.
    Raises sqlite3.Error."""
    column = _COLUMNS.get(sort, sort)
    rows = connection.execute(f"SELECT key, {column} FROM questions ORDER BY place, key").fetchall()  # noqa: S608
    if column in QuestionFigures._fields and shown != Selection():
        found = _figures(connection, shown)
        rows = [(key, getattr(found[key], column) if key in found else None) for key, _ in rows]
    there = [row for row in rows if row[1] is not None and row[1] != ""]
    there.sort(key=_by(sort), reverse=descending)
    return [*(key for key, _ in there), *(key for key, value in rows if value is None or value == "")]


def _figures(connection: sqlite3.Connection, shown: Selection) -> dict[int, QuestionFigures]:
    """By the keys of the questions, of the shown arms alone."""
    where, values = trials_where(shown)
    baseline = fact(connection, "baseline") or ""
    query = _TRIALS.format(where=where)
    found: dict[int, QuestionFigures] = {}
    for key, of_one in groupby(connection.execute(query, values), key=lambda row: row[0]):
        trials = [_Trial(*row[1:]) for row in of_one]
        found[key] = figures(trials, standings(trials, baseline), baseline)
    return found


def _by(sort: Sort) -> Callable[[tuple[int, Any]], Any]:
    if sort == "difficulty":
        return lambda row: level(row[1])
    if sort in ("name", "domain"):
        return lambda row: natural(row[1])
    return lambda row: row[1]


def _part(text: str) -> tuple[int, int | str]:
    return (0, int(text)) if _DIGITS.fullmatch(text) else (1, text)
