"""The texts of a store and their index, as a shell or a page searches them."""

import json
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Lock

from toolablate.analysis.found import Found
from toolablate.analysis.from_store import paired
from toolablate.traces.kept import stamp_of
from toolablate.traces.store import Outlines, Store, TrialSummary
from toolablate.viewer.finding.alike import alike
from toolablate.viewer.finding.query import Query
from toolablate.viewer.finding.scope import SearchScope, asked_by, columns_of
from toolablate.viewer.finding.search import MOST_READ, SHOWN, Search
from toolablate.viewer.finding.text_index import Tell, TextIndex, index_place, put_scope, read_scope


class StoreTexts:
    """Of one selection of runs, scorer and baseline. Safe to be used by several threads."""

    def __init__(
        self,
        store: Path,
        index: TextIndex,
        *,
        run: str = "latest",
        scorer: str | None = None,
        baseline: str | None = None,
    ) -> None:
        self.store, self.index = store, index
        self._run, self._scorer, self._baseline = run, scorer, baseline
        self._key = json.dumps([run, scorer, baseline])
        self._lock = Lock()
        self._known: tuple[bytes, SearchScope] | None = None

    def refresh(self, tell: Tell | None = None) -> None:
        """Takes in what is new, all of it: of many new traces that takes minutes. Raises InputError and StoreError."""
        stamp = stamp_of(self.store)
        with self.index.reading() as connection:
            known = read_scope(connection, self._key)
        if known is None or not stamp.settled or known[0] != repr(stamp.files):
            with Store(self.store) as opened, opened.at_one_moment():
                found = paired(opened, run=self._run, scorer=self._scorer, baseline=self._baseline)
            # What may change unseen is read again next time.
            self.put_trials(
                found.summaries,
                baseline=found.baseline,
                order=found.order,
                stamp=repr(stamp.files) if stamp.settled else "",
            )
        if not self.index.is_current(self.store):
            self.index.refresh(self.store, tell=tell)

    def put_trials(
        self, summaries: Sequence[TrialSummary], *, baseline: str, order: Sequence[str], stamp: str = ""
    ) -> None:
        """The trials that are searched from now on. Raises StoreError."""
        with Outlines(self.store) as outlines:
            columns = columns_of(summaries, asked_by(outlines), baseline=baseline, order=order)
        with self.index.writing() as connection:
            put_scope(connection, self._key, stamp, columns)

    def find(
        self,
        query: Query,
        *,
        where: Mapping[str, str] | None = None,
        mechanisms: Mapping[str, str] | None = None,
        limit: int = SHOWN,
        offset: int = 0,
        most_read: int = MOST_READ,
    ) -> Found | None:
        """None while its trials are not known. Raises InputError and StoreError."""
        with self.index.reading() as connection:
            scope = self._scope(connection)
            if scope is None:
                return None
            search = Search(connection, self.store, scope, mechanisms)
            return search.run(query, where=where, limit=limit, offset=offset, most_read=most_read)

    def alike(self, words: Sequence[str]) -> dict[str, float]:
        """The trials in whose texts these words stand, the most alike first; see `alike`. Raises StoreError."""
        with self.index.reading() as connection:
            return alike(connection, words)

    def _scope(self, connection: sqlite3.Connection) -> SearchScope | None:
        """Kept until there is another: to read a hundred thousand trials takes a fifth of a second."""
        row = connection.execute("SELECT digest FROM scopes WHERE scope = ?", (self._key,)).fetchone()
        with self._lock:
            known = self._known
        if row is None or (known is not None and known[0] == row[0]):
            return known[1] if row is not None and known is not None else None
        found = read_scope(connection, self._key)
        if found is None:
            return None
        scope = SearchScope(found[1])
        with self._lock:
            self._known = row[0], scope
        return scope


@contextmanager
def opened(
    store: Path, *, run: str = "latest", scorer: str | None = None, baseline: str | None = None
) -> Iterator[StoreTexts]:
    """With the index among the user's caches, or where nothing can be kept in a folder that ends with this. Raises
    StoreError."""
    with ExitStack() as ending:
        place = index_place(store)
        if place is None:
            temporary = tempfile.TemporaryDirectory(prefix="toolablate-find-", ignore_cleanup_errors=True)
            place = Path(ending.enter_context(temporary)) / "texts.sqlite"
        yield StoreTexts(store, TextIndex.open(place), run=run, scorer=scorer, baseline=baseline)
