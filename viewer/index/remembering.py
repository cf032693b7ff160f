"""What was worked out of one version of the index, for as long as that is the newest."""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import accumulate
from threading import Lock
from typing import NamedTuple, TypeVar, cast

from toolablate.analysis.findings import Findings
from toolablate.analysis.selection import Selection
from toolablate.viewer.index import counting, reading, telling
from toolablate.viewer.index.file import fact
from toolablate.viewer.index.ordering import ordered
from toolablate.viewer.index.records import Counts, Facets, Sort
from toolablate.viewer.index.selecting import shown, trials_where

MOST = 64
"""Selections in one order each."""

Value = TypeVar("Value")


class Selected(NamedTuple):
    """The keys of the questions selected, in their order, and how many trials are up to the end of each."""

    questions: list[int]
    ends: list[int]

    @property
    def trials(self) -> int:
        return self.ends[-1] if self.ends else 0


class Remembered:
    """Belongs to one index, and may be used by several threads: at worst two work out the same."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._version = -1
        self._values: OrderedDict[Hashable, object] = OrderedDict()

    def facets(self, connection: sqlite3.Connection) -> Facets:
        return self._of(connection, "facets", lambda: reading.facets(connection))

    def counts(self, connection: sqlite3.Connection, selection: Selection) -> Counts:
        return self._of(connection, ("counts", selection), lambda: counting.counts(connection, selection))

    def findings(self, connection: sqlite3.Connection) -> Findings | None:
        return self._of(connection, "findings", lambda: telling.findings(connection))

    def selected(self, connection: sqlite3.Connection, selection: Selection, sort: Sort, descending: bool) -> Selected:
        def work_out() -> Selected:
            arms = shown(selection, fact(connection, "baseline") or "")
            order = self._of(
                *(connection, ("order", sort, descending, arms)),
                lambda: ordered(connection, sort, arms, descending=descending),
            )
            where, values = trials_where(selection)
            found = f"SELECT question, count(*) FROM trials WHERE {where} GROUP BY question"  # noqa: S608 - our own words
            fitting = dict(connection.execute(found, values))
            keys = [key for key in order if key in fitting]
            return Selected(keys, list(accumulate(fitting[key] for key in keys)))

        return self._of(connection, (selection, sort, descending), work_out)

    def _of(self, connection: sqlite3.Connection, name: Hashable, work_out: Callable[[], Value]) -> Value:
        version = reading.version(connection)
        with self._lock:
            if version > self._version:
                self._version = version
                self._values.clear()
            if version == self._version and name in self._values:
                self._values.move_to_end(name)
                return cast(Value, self._values[name])
        value = work_out()
        with self._lock:
            if version == self._version:
                self._values[name] = value
                if len(self._values) > MOST:
                    self._values.popitem(last=False)
        return value
