"""The index of a store: what the pages ask, remembered while it is the newest, and how it is kept up to date."""

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import NamedTuple, TypeVar, cast

from toolablate.analysis.clusters import clustered
from toolablate.analysis.failures import Failures, described
from toolablate.analysis.findings import Findings
from toolablate.analysis.selection import Selection
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Attribution, Label
from toolablate.traces.store import Outlines, Store, TrialSummary
from toolablate.viewer.index import failing, reading
from toolablate.viewer.index.failing import FailureRow, FailureTexts
from toolablate.viewer.index.file import ensure, fact, reader, state, unusable, writer
from toolablate.viewer.index.filling import fill, gather, put_tools, unread
from toolablate.viewer.index.reading import ordered
from toolablate.viewer.index.records import (
    ArmCounts,
    Counts,
    Facets,
    QuestionPage,
    QuestionRow,
    Sort,
    TrialRow,
    shown,
    trials_where,
)

MOST = 64
"""Selections in one order each."""
MOST_CHOICES = 60

Value = TypeVar("Value")


class SelectedQuestions(NamedTuple):
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
        return self._of(connection, ("counts", selection), lambda: reading.counts(connection, selection))

    def findings(self, connection: sqlite3.Connection) -> Findings | None:
        return self._of(connection, "findings", lambda: reading.findings(connection))

    def failures(self, connection: sqlite3.Connection) -> Failures[FailureRow]:
        return self._of(connection, "failures", lambda: failing.failures(connection))

    def failure_values(self, connection: sqlite3.Connection) -> dict[str, dict[str, int]]:
        def work_out() -> dict[str, dict[str, int]]:
            return failing.values_of(self.failures(connection), MOST_CHOICES)

        return self._of(connection, "failure values", work_out)

    def selected(
        self, connection: sqlite3.Connection, selection: Selection, sort: Sort, descending: bool
    ) -> SelectedQuestions:
        def work_out() -> SelectedQuestions:
            arms = shown(selection, fact(connection, "baseline") or "")
            order = self._of(
                *(connection, ("order", sort, descending, arms)),
                lambda: ordered(connection, sort, arms, descending=descending),
            )
            where, values = trials_where(selection)
            found = f"SELECT question, count(*) FROM trials WHERE {where} GROUP BY question"  # noqa: S608 - our own words
            fitting = dict(connection.execute(found, values))
            keys = [key for key in order if key in fitting]
            return SelectedQuestions(keys, list(accumulate(fitting[key] for key in keys)))

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


READ_AT_ONCE = 2000

Result = TypeVar("Result")


class ViewerIndex:
    """What the pages ask, and what keeps it up to date. Safe to be used by several threads and processes; each call
    sees one moment. What stands in the file can be made again: where it cannot be read it is made anew, and is empty
    until it is refreshed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._remembered = Remembered()
        self._unwritten = ""

    @classmethod
    def open(cls, path: Path) -> "ViewerIndex":
        """Raises StoreError where it is not there and cannot be made."""
        ensure(path)
        return cls(path)

    def version(self) -> int:
        """Rises with whatever changes what a page shows."""
        return self._read(reading.version)

    def filled(self) -> bool:
        """Whether it has been refreshed since it was made."""
        return self._read(lambda connection: fact(connection, "store") is not None)

    def arms(self) -> tuple[ArmCounts, ...]:
        return self._read(reading.arms)

    def facets(self) -> Facets:
        return self._read(self._remembered.facets)

    def counts(self, selection: Selection) -> Counts:
        return self._read(lambda connection: self._remembered.counts(connection, selection))

    def findings(self) -> Findings | None:
        """None while nothing is computed yet."""
        return self._read(self._remembered.findings)

    def questions(
        self, selection: Selection, *, sort: Sort = "order", descending: bool = False, page: int = 1, size: int = 50
    ) -> QuestionPage:
        """One page of the questions selected; the last where `page` is beyond it."""

        def read(connection: sqlite3.Connection) -> QuestionPage:
            selected = self._remembered.selected(connection, selection, sort, descending)
            keys = selected.questions
            pages = max(1, -(-len(keys) // size))
            shown = min(max(page, 1), pages)
            rows = reading.question_rows(connection, keys[(shown - 1) * size : shown * size])
            return QuestionPage(rows=rows, total=len(keys), trials=selected.trials, page=shown, pages=pages)

        return self._read(read)

    def question(self, question: str) -> QuestionRow:
        """By its id. Raises InputError where there is none."""

        def read(connection: sqlite3.Connection) -> QuestionRow | None:
            found = connection.execute("SELECT key FROM questions WHERE id = ?", (question,)).fetchone()
            return None if found is None else reading.question_rows(connection, [found[0]])[0]

        row = self._read(read)
        if row is None:
            raise InputError(f"There is no question with the id {question!r}", code="unknown_question")
        return row

    def trial(self, trial: str) -> TrialRow:
        """By its id, or its beginning where only one begins so. Raises InputError where there is none, or several."""
        found = self._read(lambda connection: reading.trials_that_begin(connection, trial.strip().lower()))
        if len(found) == 1:
            return found[0]
        what = "Several trials begin" if found else "No ended trial begins"
        raise InputError(
            f"{what} with {trial!r}",
            hint="Give more of the id." if found else "Trials are named by the beginning of their id (hexadecimal).",
            code="ambiguous_trial" if found else "unknown_trial",
        )

    def neighbours(
        self, trial: str, selection: Selection, *, sort: Sort = "order", descending: bool = False
    ) -> tuple[str | None, str | None]:
        """The trials before and after this one among those selected, in the order of the table; None at its ends, and
        twice where its question is not selected, unless it is because its last trial was labelled."""

        def read(connection: sqlite3.Connection) -> tuple[str | None, str | None]:
            selected = self._remembered.selected(connection, selection, sort, descending)
            wider = self._remembered.selected(connection, replace(selection, unlabelled=""), sort, descending)
            return reading.neighbours(connection, trial, selected.questions, selection, wider.questions)

        return self._read(read)

    def first(self, selection: Selection) -> str | None:
        """The id of the first trial selected, in the order of the benchmark; None where there is none."""

        def read(connection: sqlite3.Connection) -> str | None:
            selected = self._remembered.selected(connection, selection, "order", False)
            return reading.first(connection, selected.questions, selection)

        return self._read(read)

    def place(
        self, trial: str, selection: Selection, *, sort: Sort = "order", descending: bool = False
    ) -> tuple[int, int] | None:
        """The number of this trial, from 1 on, among those selected, in the order of the table, and how many these are;
        None where it is none of them."""

        def read(connection: sqlite3.Connection) -> tuple[int, int] | None:
            selected = self._remembered.selected(connection, selection, sort, descending)
            number = reading.place(connection, trial, selected.questions, selected.ends, selection)
            return None if number is None else (number, selected.trials)

        return self._read(read)

    def fitting(self, questions: Sequence[str], selection: Selection) -> frozenset[str]:
        """The ids of those trials of questions, by their ids, that are selected."""
        return self._read(lambda connection: reading.fitting(connection, questions, selection))

    def progress(self) -> str:
        """What is being computed just now that takes long, "" for nothing."""
        return self._read(lambda connection: fact(connection, "progress")) or ""

    def trouble(self) -> str:
        """What keeps this from being up to date, "" for nothing."""
        return self._unwritten or self._read(lambda connection: fact(connection, "trouble")) or ""

    def refresh(
        self,
        store: Store,
        summaries: Sequence[TrialSummary],
        *,
        baseline: str,
        models: Sequence[str] = (),
        conditions: Sequence[str] = (),
        run: str | None = None,
    ) -> None:
        """Brings trials, questions, counts and labels to what the store says. `models` and `conditions` are labels in
        the order in which they are shown; `run` is the id of the run that the summaries are of, None for all.

        All but the tools called are there at once, in one moment; for those the new traces are read, some hundred at a
        time. Raises StoreError and InputError as Store does.
        """

        with Outlines(store.path) as outlines:
            gathered = gather(
                *(store, outlines, summaries),
                baseline=baseline,
                models=models,
                conditions=conditions,
                run=run,
            )

            def write(connection: sqlite3.Connection) -> None:
                fill(connection, store, outlines, gathered)
                # Read anew, since one that was put meanwhile is in no older moment of the store.
                with Store(store.path) as now:
                    reading.mirror_labels(connection, now.labels())

            self._write(write)
            while trials := self._read(partial(unread, most=READ_AT_ONCE)):
                called = outlines.called(trials)
                self._write(partial(put_tools, called=[(trial, called.get(trial, {})) for trial in trials]))

    def put_findings(self, findings: Findings) -> None:
        self._write(lambda connection: reading.put_findings(connection, findings))

    def put_attributions(self, attributions: Iterable[Attribution], *, made_of: str = "") -> None:
        """All there are: what another one said of a trial that these leave out is forgotten. `made_of` is a digest of
        what they were made of."""
        given = list(attributions)

        def write(connection: sqlite3.Connection) -> None:
            reading.put_attributions(connection, given)
            state(connection, "attributed", made_of)

        self._write(write)

    def attributed(self) -> str:
        """What the attributions were made of, "" where that is not known."""
        return self._read(lambda connection: fact(connection, "attributed")) or ""

    def mechanisms(self) -> dict[str, str]:
        """What trials are attributed to, by their ids; without those that are attributed to nothing."""
        query = "SELECT id, mechanism FROM trials WHERE mechanism NOT NULL"
        return self._read(lambda connection: dict(connection.execute(query)))

    def failures(self) -> Failures[FailureRow]:
        """The wrong trials, in the order of the benchmark."""
        return self._read(self._remembered.failures)

    def failure_values(self) -> dict[str, dict[str, int]]:
        """By key how many wrong trials have each value; without keys of more than `MOST_CHOICES` values."""
        return self._read(self._remembered.failure_values)

    def failure_texts(self, keys: Sequence[int]) -> dict[int, FailureTexts]:
        """By the keys of their rows."""
        return self._read(lambda connection: failing.failure_texts(connection, keys))

    def words_said(self, trial: str) -> list[str]:
        """What a wrong trial says, as words that tell it from others; none of another trial."""
        return self._read(partial(failing.words_said, trial=trial))

    def describe(self, path: Path, summaries: Sequence[TrialSummary], *, most: int) -> bool:
        """Reads from the store what so many wrong trials say, of which it is not known; where it is known of all, makes
        their clusters anew. Whether there was something to be done. Raises StoreError."""
        turned = self._read(partial(failing.to_describe, most=most))
        if not turned:
            made_of = self._read(failing.unclustered)
            if made_of:
                found = clustered(self._read(failing.to_cluster))
                self._write(partial(failing.put_clusters, found=found, made_of=made_of))
            return bool(made_of)
        wrong = [seen for seen in summaries if seen.trial in turned]
        with Store(path) as store, Outlines(path) as outlines:
            asked = self._read(partial(failing.questions_of, trials=turned))
            said = list(described(store, outlines, wrong, asked, turned))
        self._write(partial(failing.put_failures, said=said))
        return bool(said)

    def put_progress(self, text: str) -> None:
        self._write(lambda connection: state(connection, "progress", text))

    def put_trouble(self, text: str) -> None:
        self._write(lambda connection: state(connection, "trouble", text))

    def put_last_trouble(self, text: str) -> None:
        """The same of what ends here; on a full disk it is at least told in this process."""
        try:
            self.put_trouble(text)
        except StoreError:
            self._unwritten = text

    def put_label(self, label: Label) -> None:
        """One that the store keeps already, so that it is seen before the next refresh."""
        self._write(lambda connection: reading.put_label(connection, label))

    def _read(self, read: Callable[[sqlite3.Connection], Result]) -> Result:
        return self._use(reader, read)

    def _write(self, write: Callable[[sqlite3.Connection], None]) -> None:
        self._use(writer, write)

    def _use(
        self,
        opened: Callable[[Path], AbstractContextManager[sqlite3.Connection]],
        act: Callable[[sqlite3.Connection], Result],
    ) -> Result:
        """Once more with a file made anew, where this one is damaged. Raises StoreError where that is of no use."""
        try:
            with opened(self.path) as connection:
                return act(connection)
        except sqlite3.DatabaseError:
            ensure(self.path)
        try:
            with opened(self.path) as connection:
                return act(connection)
        except sqlite3.DatabaseError as error:
            raise unusable(self.path, error) from error
