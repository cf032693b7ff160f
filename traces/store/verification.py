"""Checks a store against itself: every digest, reference and id is derived again from the content."""

import sqlite3
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path

from toolablate.traces.errors import StoreError
from toolablate.traces.store.checking import CHECKS
from toolablate.traces.store.checking.records import Check
from toolablate.traces.store.files.errors import reading
from toolablate.traces.store.files.opening import open_reader
from toolablate.traces.store.reading.trials import read_unscored


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is not as it was written. `where` names the row (`trial 3f2a...`), `what` the damage."""

    where: str
    what: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was found. `checked` counts what was looked at, by its kind.

    `unfinished` (trials begun, without an end), `pending` (planned, never begun), `failed` and `unscored` trials are
    how a run stands, not damage.
    """

    path: str
    checked: dict[str, int]
    problems: tuple[Problem, ...]
    planned: int = 0
    finished: int = 0
    failed: int = 0
    unfinished: int = 0
    pending: int = 0
    unscored: int = 0

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class _Findings:
    checked: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


_STANDING = """
SELECT CASE WHEN traces.outcome IN ('answered', 'budget') THEN 'finished' WHEN traces.outcome = 'failed' THEN 'failed'
    WHEN EXISTS (SELECT 1 FROM traces AS begun WHERE begun.trial = trials.key) THEN 'unfinished' ELSE 'pending' END,
    count(*)
FROM trials LEFT JOIN traces ON traces.key = trials.current GROUP BY 1
"""

_UNREADABLE = {"corrupt": "is damaged so far that it cannot be opened as a store", "changed_layout": ""}
"""What keeps a store from being read at all, and is told as a problem of it."""

MAX_PROBLEMS = 1_000
"""Beyond this many a store is a ruin, and the list is cut with a note that says so."""


def verify(path: str | PathLike[str]) -> VerifyReport:
    """Checks the whole store, reading only. Raises StoreError where it is no store that could be opened."""
    store = Path(path)
    try:
        connection = open_reader(store)
    except StoreError as error:
        if error.code not in _UNREADABLE:
            raise
        return VerifyReport(str(store), {}, (Problem("file", _UNREADABLE[error.code] or error.message),))
    found = _Findings()
    try:
        # One moment of the store, whatever a recorder adds meanwhile.
        with reading(store):
            connection.execute("BEGIN")
        for name, check in CHECKS:
            _run(connection, name, check, found)
        standing = _standing(connection)
    finally:
        connection.close()
    return VerifyReport(str(store), found.checked, tuple(found.problems), **standing)


def _run(connection: sqlite3.Connection, name: str, check: Check, found: _Findings) -> None:
    checked = 0
    try:
        for problem in check(connection):
            if problem is None:
                checked += 1
            elif len(found.problems) < MAX_PROBLEMS:
                found.problems.append(Problem(*problem))
            elif len(found.problems) == MAX_PROBLEMS:
                found.problems.append(Problem(name, f"and more: only the first {MAX_PROBLEMS} problems are listed"))
    except Exception as error:  # noqa: BLE001 - a damaged file holds anything anywhere, and this is what finds it
        found.problems.append(Problem(name, f"cannot be read to the end: {error}"))
    found.checked[name] = checked


def _standing(connection: sqlite3.Connection) -> dict[str, int]:
    try:
        rows = dict(connection.execute(_STANDING))
        unscored = len(read_unscored(connection))
    except (sqlite3.Error, UnicodeDecodeError, TypeError):
        return {}  # the file is too damaged to count in, which is among the problems already
    return {**rows, "planned": sum(rows.values()), "unscored": unscored}
