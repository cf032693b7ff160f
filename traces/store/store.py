"""The store as a reader sees it."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import starmap
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import ValidationError

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import (
    Condition,
    Diagnosis,
    Environment,
    Event,
    Label,
    Model,
    Outcome,
    Question,
    Record,
    ReplayDesign,
    Run,
    Score,
    Trace,
    Trial,
    Verdict,
)
from toolablate.traces.store.file import open_reader, reading
from toolablate.traces.store.status import TrialCounts, at_one_moment, read_standing
from toolablate.traces.store.summaries import (
    Columns,
    Counterfactual,
    FailureCount,
    TrialSummary,
    read_counterfactuals,
    read_failures,
    read_resumptions,
    read_scored,
    read_scorers,
    read_summaries,
    read_summary_columns,
    seen_conditions,
    values_beside,
)
from toolablate.traces.store.texts import MARK, TextReader, damaged, expand_row, parse, read_block
from toolablate.traces.store.trials import (
    MODEL,
    NAMED,
    PLANNED,
    TRACE_QUERY,
    find_trial,
    read_answered_at,
    read_attempts,
    read_bodies_of_scores,
    read_designs,
    read_diagnosed,
    read_diagnoses,
    read_environments,
    read_events,
    read_finished,
    read_labels,
    read_latest_run,
    read_trace,
    read_trials_of,
    read_trials_with_verdict,
    read_unscored,
    run_key,
)
from toolablate.traces.store.unfinished import UnfinishedTrial, read_unfinished, read_unfinished_events
from toolablate.traces.store.writing import require_same_environment

R = TypeVar("R", bound=Record)


class OpenStore:
    """Opening raises StoreError where the path holds no store or a newer one; nothing is created or changed."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._connection = open_reader(self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def _body(self, table: str, identity: str) -> bytes:
        rows = self._rows(f"SELECT body FROM {table} WHERE id = ?", (identity,))  # noqa: S608 - our names
        if not rows:
            raise InputError(f"{self.path} has no {table[:-1]} with the id {identity}", code=f"unknown_{table[:-1]}")
        return bytes(rows[0][0])

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with reading(self.path):
            return self._connection.execute(query, values).fetchall()

    def _record(self, kind: type[R], body: bytes) -> R:
        try:
            return kind.model_validate(self._content(body), strict=False)
        except ValidationError as error:
            raise damaged(f"a {kind.__name__.lower()} does not hold ({error.errors()[0]['msg']})") from None

    def _model(self, body: bytes) -> Model:
        try:
            return MODEL.validate_python(self._content(body))
        except ValidationError as error:
            raise damaged(f"a model does not hold ({error.errors()[0]['msg']})") from None

    def _content(self, body: bytes) -> Any:
        with reading(self.path):
            return TextReader(self._connection).unpack(body)


class Store(OpenStore):
    """Reads a store, also while a recorder writes to it, and on a read-only disk.

    Opening raises StoreError where the path holds no store or a newer one; nothing is created or changed.
    Every method raises StoreError where the file turns out to be damaged.
    """

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """What is read within belongs together, whatever a recorder writes meanwhile. Not for long: it holds back that
        the recorder's file is tidied up."""
        with at_one_moment(self._connection):
            yield

    def ended_trials(self) -> int:
        """How many trials of plans have a current trace; those that failed and are just being run again among them."""
        return int(self._rows(f"SELECT count(*) FROM trials WHERE outcome NOT NULL AND {PLANNED}")[0][0])  # noqa: S608

    def finished_trials(self) -> frozenset[str]:
        """Ids of the trials of plans that were answered or ran out of budget."""
        with reading(self.path):
            return read_finished(self._connection)

    def finished_resumptions(self) -> frozenset[str]:
        """Ids of the counterfactuals that were answered or ran out of budget."""
        with reading(self.path):
            return read_finished(self._connection, planned=False)

    def counts(self) -> tuple[TrialCounts, ...]:
        """How far the trials are, by model and condition."""
        with reading(self.path):
            return read_standing(self._connection, self.path).counts

    def summaries(
        self, *, scorers: Sequence[str] = (), run: str | None = None, beside: str | None = None
    ) -> list[TrialSummary]:
        """The planned trials that have ended, with their scores, for a comparison.

        A trial's score is the one by the highest version of its scorer, of its current trace. `scorers` names those
        to use where trials have several; `run` keeps to the trials of one run, `beside` to those of a trial's
        question and model, by its whole id. Raises InputError where there are several scorers and none is named, or no
        such scorer or run.
        """
        with reading(self.path):
            return read_summaries(self._connection, scorers=scorers, run=run, beside=beside)

    def summary_columns(self, *, scorers: Sequence[str] = (), run: str | None = None) -> Columns:
        """The same by column, with what a comparison does not need: attempt, start (as text), seconds, tokens, events.
        Raises likewise."""
        with reading(self.path):
            return read_summary_columns(self._connection, scorers=scorers, run=run)

    def scored(self, *, run: str | None = None) -> Columns:
        """Trial, scorer, version, value and verdict of all scores of these trials, by column. Raises InputError for a
        run that is not there."""
        with reading(self.path):
            return read_scored(self._connection, run)

    def values_beside(
        self, trial: str, condition: str, *, scorers: Sequence[str] = (), run: str | None = None
    ) -> dict[str, list[float]]:
        """What the trials of a trial's model score under a condition, both by their whole ids: by the question's id,
        in the order of the trials. Those that failed, or have no value, are left out; `scorers` and `run` as for
        `summaries`."""
        with reading(self.path):
            return values_beside(self._connection, trial, condition, scorers=scorers, run=run)

    def require_same_environment(self, fingerprint: Mapping[str, str]) -> None:
        """Refuses a run of another environment than that of trials that are done or that a living recorder is at:
        raises InputError."""
        with reading(self.path):
            require_same_environment(self._connection, self.path, fingerprint)

    def failures(self, *, run: str | None = None) -> tuple[FailureCount, ...]:
        """Why trials have failed, the most frequent reason first: the trials whose current trace is failed, counted by
        model and by the last failure of that trace. `run` keeps to the trials of one run; raises InputError where
        there is no such run."""
        with reading(self.path):
            return read_failures(self._connection, run)

    def unfinished(self) -> tuple[UnfinishedTrial, ...]:
        """Trials of plans that have begun and not ended: those that run, then those that were cut off."""
        with reading(self.path):
            return read_unfinished(self._connection, self.path)

    def unfinished_events(self, trial: str) -> tuple[Event, ...]:
        """What the last attempt at a trial has done so far, by its whole id; none of a trial that never began."""
        with reading(self.path):
            return read_unfinished_events(self._connection, trial, TextReader(self._connection))

    def environments(self, *, run: str | None = None) -> tuple[Environment, ...]:
        """What the current traces ran on, each once. `run` keeps to the trials of one run; raises InputError where
        there is no such run."""
        with reading(self.path):
            return read_environments(self._connection, run)

    def scorers(self) -> tuple[str, ...]:
        """The names of the scorers that have scored a trial."""
        with reading(self.path):
            return tuple(read_scorers(self._connection))

    def find_trial(self, prefix: str) -> str:
        """The id of the one trial that begins with `prefix`. Raises InputError for none or several."""
        with reading(self.path):
            return find_trial(self._connection, self.path, prefix)

    def trace(self, trial: str, *, attempt: int | None = None) -> Trace:
        """The current trace of a trial, named by its id or a unique beginning of it; or one attempt at it.

        Raises InputError where there is no such trial or attempt, or none has ended yet.
        """
        found = self.find_trial(trial)
        if attempt is None:
            rows = self._rows(f"{TRACE_QUERY} WHERE trials.id = ? AND traces.key = trials.current", (found,))
        else:
            rows = self._rows(
                f"{TRACE_QUERY} WHERE trials.id = ? AND attempt = ? AND traces.outcome NOT NULL", (found, attempt)
            )
        if not rows:
            which = "no attempt at it has ended" if attempt is None else f"it has no attempt {attempt} that has ended"
            raise InputError(f"Trial {found} has no trace: {which}", hint="Run its plan again.", code="no_trace")
        return self._read_trace(rows[0], TextReader(self._connection))

    def attempts(self, trial: str) -> tuple[Trace, ...]:
        """All ended attempts at a trial, first to last."""
        rows = self._rows(
            f"{TRACE_QUERY} WHERE trials.id = ? AND traces.outcome NOT NULL ORDER BY attempt", (self.find_trial(trial),)
        )
        reader = TextReader(self._connection)
        return tuple(self._read_trace(row, reader) for row in rows)

    def traces(
        self, *, model: str | None = None, condition: str | None = None, outcome: Outcome | None = None
    ) -> Iterator[Trace]:
        """The current traces, in the order of their trials; `model` and `condition` are ids or names. Those of
        counterfactuals are left out unless their condition is named."""
        rows = self._rows(
            "SELECT traces.key FROM trials JOIN traces ON traces.key = trials.current"
            " JOIN models ON models.key = trials.model JOIN conditions ON conditions.key = trials.condition"
            " WHERE (?1 IS NULL OR ?1 IN (models.id, models.name))"
            " AND iif(?2 IS NULL, conditions.parent IS NULL, ?2 IN (conditions.id, conditions.name))"
            " AND (?3 IS NULL OR traces.outcome = ?3) ORDER BY trials.key",
            (model, condition, outcome),
        )
        for (key,) in rows:
            # One query each, so that a slow reader never holds a recorder's file back.
            found = self._rows(f"{TRACE_QUERY} WHERE traces.key = ?", (key,))
            if not found:
                raise damaged(f"trace {key} cannot be found by its key")
            yield self._read_trace(found[0], TextReader(self._connection))

    def scores(self, trial: str) -> tuple[Score, ...]:
        """All scores of a trial's current trace."""
        rows = self._rows(
            "SELECT scores.body FROM scores JOIN trials ON trials.key = scores.trial AND trials.current = scores.trace"
            " WHERE trials.id = ?",
            (self.find_trial(trial),),
        )
        return tuple(self._record(Score, row[0]) for row in rows)

    def scores_of(self, trials: Iterable[str]) -> dict[str, tuple[Score, ...]]:
        """The same of many trials, by their whole ids; those without a score are left out."""
        with reading(self.path):
            found = read_bodies_of_scores(self._connection, trials)
        return {trial: tuple(self._record(Score, body) for body in bodies) for trial, bodies in found.items()}

    def current_attempts(self, trials: Iterable[str]) -> dict[str, tuple[int, str]]:
        """Of trials, by their whole ids, which attempt their current trace is, with the digest of its content."""
        with reading(self.path):
            return read_attempts(self._connection, trials)

    def answered_at(self, trial: str) -> int | None:
        """The index of the answer among the events of a trial's current trace, by its whole id; None without any."""
        with reading(self.path):
            return read_answered_at(self._connection, trial)

    def unscored_trials(self, *, scorer: str | None = None, version: int | None = None) -> frozenset[str]:
        """Ids of finished trials whose trace has no score yet; of that scorer, in that version, where one is named."""
        with reading(self.path):
            return read_unscored(self._connection, scorer, version)

    def trials_with_verdict(self, verdict: Verdict, *, scorer: str, version: int) -> frozenset[str]:
        """Ids of the trials to which that scorer, in that version, gave this verdict."""
        with reading(self.path):
            return read_trials_with_verdict(self._connection, verdict, scorer=scorer, version=version)

    def questions(self) -> tuple[Question, ...]:
        return tuple(self._record(Question, row[0]) for row in self._rows("SELECT body FROM questions ORDER BY key"))

    def models(self) -> tuple[Model, ...]:
        return tuple(self._model(row[0]) for row in self._rows("SELECT body FROM models ORDER BY key"))

    def conditions(self) -> tuple[Condition, ...]:
        """Those of plans; of counterfactuals `resumptions` tells."""
        rows = self._rows("SELECT body FROM conditions WHERE parent IS NULL ORDER BY key")
        return tuple(self._record(Condition, row[0]) for row in rows)

    def conditions_of(self, summaries: Iterable[TrialSummary]) -> dict[str, Condition]:
        """The conditions of summaries of this store, by the names that these give them."""
        trials = {seen.condition: seen.trial for seen in summaries}
        rows = self._rows(
            "SELECT trials.id, conditions.body FROM trials JOIN conditions ON conditions.key = trials.condition"
            " WHERE trials.id IN (SELECT value FROM json_each(?)) ORDER BY conditions.key",
            (json.dumps(list(trials.values())),),
        )
        names = {trial: name for name, trial in trials.items()}
        return {names[trial]: self._record(Condition, body) for trial, body in rows}

    def seen_conditions(self) -> dict[str, Condition]:
        """The conditions of plans under which trials have ended, by the names that summaries of all give them."""
        with reading(self.path):
            names = seen_conditions(self._connection)
        rows = self._rows("SELECT key, body FROM conditions WHERE parent IS NULL ORDER BY key")
        return {names[key]: self._record(Condition, body) for key, body in rows if key in names}

    def resumptions(self, trial: str) -> dict[str, Condition]:
        """The counterfactuals of a trial: the ids of the trials that go on from one of its events, with the condition
        of each, which says from where and with what change."""
        with reading(self.path):
            found = read_resumptions(self._connection, self.find_trial(trial))
        conditions = [(self._record(Condition, body), trials) for body, trials in found]
        return {identity: condition for condition, trials in conditions for identity in trials}

    def counterfactuals(
        self, *, scorers: Sequence[str] = (), trial: str | None = None
    ) -> dict[str, list[Counterfactual]]:
        """What came of the counterfactuals of all trials, or of one, by their parents' ids; with the scores as those of
        `summaries` are chosen. Raises InputError as that does."""
        parent = None if trial is None else self.find_trial(trial)
        with reading(self.path):
            return read_counterfactuals(self._connection, scorers=scorers, parent=parent)

    def conversation(self, trial: str, *, attempt: int | None = None) -> tuple[Event, ...]:
        """The events of a trial's current trace, or of one attempt, after those that its parents gave before it was
        taken up again. Its own times go on from the end of these."""
        trace = self.trace(trial, attempt=attempt)
        resumed = self.condition(trace.trial.condition).resumed
        if resumed is None:
            return trace.events
        before = self.conversation(resumed.trial, attempt=resumed.attempt)[: resumed.event]
        until = max((event.at + event.seconds for event in before), default=0.0)
        return (*before, *(event.model_copy(update={"at": event.at + until}) for event in trace.events))

    def replay_designs(self) -> tuple[ReplayDesign, ...]:
        """What was to be replayed, in the order in which the designs were last asked for."""
        with reading(self.path):
            bodies = read_designs(self._connection)
        return tuple(self._record(ReplayDesign, body) for body in bodies)

    def diagnoses(self, trial: str) -> tuple[Diagnosis, ...]:
        """What judges hold for the cause of a trial's current trace, in the order of their names."""
        with reading(self.path):
            bodies = read_diagnoses(self._connection, self.find_trial(trial))
        return tuple(self._record(Diagnosis, body) for body in bodies)

    def all_diagnoses(self) -> Iterator[Diagnosis]:
        """The diagnoses of all current traces, in the order of their trials; what judges were asked is in them, so that
        all of them at once may be large."""
        with reading(self.path):
            trials = read_diagnosed(self._connection)
        for trial in trials:
            yield from self.diagnoses(trial)

    def labels(self, trial: str | None = None) -> tuple[Label, ...]:
        """What people said of a trial's current trace, or of those of all trials, in the order in which they did."""
        with reading(self.path):
            bodies = read_labels(self._connection, None if trial is None else self.find_trial(trial))
            return tuple(self._record(Label, body) for body in bodies)

    def trials_of(self, run: str) -> tuple[Trial, ...]:
        """The trials that a run called for, ended or not; none where there is no such run."""
        with reading(self.path):
            return read_trials_of(self._connection, run)

    def run_of(self, trial: str) -> Run | None:
        """The last run that called for a trial; None for one of no plan."""
        with reading(self.path):
            body = read_latest_run(self._connection, self.find_trial(trial))
        return None if body is None else self._record(Run, body)

    def runs(self) -> tuple[Run, ...]:
        return tuple(self._record(Run, row[0]) for row in self._rows("SELECT body FROM runs ORDER BY key"))

    def question(self, identity: str) -> Question:
        return self._record(Question, self._body("questions", identity))

    def model(self, identity: str) -> Model:
        return self._model(self._body("models", identity))

    def condition(self, identity: str) -> Condition:
        return self._record(Condition, self._body("conditions", identity))

    def _read_trace(self, row: Sequence[Any], reader: TextReader) -> Trace:
        with reading(self.path):
            return read_trace(self._connection, row, reader)


# What is known of many trials without reading whole traces.


_OUTLINES = """
SELECT trials.id, questions.id, models.id, models.name, conditions.id, conditions.name,
    coalesce(hex(traces.digest), ''), coalesce(traces.seconds, 0.0),
    coalesce((SELECT group_concat(hex(scores.digest), '') FROM scores
        WHERE scores.trial = trials.key AND scores.trace = trials.current), '')
FROM trials LEFT JOIN traces ON traces.key = trials.current
JOIN questions ON questions.key = trials.question JOIN models ON models.key = trials.model
JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL
WHERE ?1 IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = ?1)
ORDER BY trials.question, trials.key
"""


@dataclass(frozen=True, slots=True)
class Outline:
    """A trial of a plan. `question`, `model` and `condition` are ids; names may be shared by others.

    `trace` is the digest of its current trace, "" where none has ended, and `scores` those of that trace's scores: they
    are equal where nothing has changed, in copies of a store too. `seconds` is how long the trace took.
    """

    trial: str
    question: str
    model: str
    model_name: str
    condition: str
    condition_name: str
    trace: str
    seconds: float
    scores: str


class Outlines(OpenStore):
    """Reads a store as Store does, with the same errors."""

    def trials(self, *, run: str | None = None) -> list[Outline]:
        """Those of all plans or of one run, in the order of their questions. Raises InputError where there is no such
        run."""
        with reading(self.path):
            key = None if run is None else run_key(self._connection, run)
            rows = self._connection.execute(_OUTLINES, (key,)).fetchall()
        return list(starmap(Outline, rows))

    def extracted(self, trials: Iterable[str]) -> dict[str, list[tuple[Verdict, tuple[str, ...]]]]:
        """What scorers read from the replies of these trials, with the verdict of each; older versions first.
        Without what is damaged."""
        found: dict[str, list[tuple[Verdict, tuple[str, ...]]]] = {}
        with reading(self.path):
            rows = self._connection.execute(
                f"SELECT trials.id, scores.verdict, scores.body {NAMED}"
                " JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current"
                " ORDER BY trials.key, scores.version",
                (json.dumps(list(trials)),),
            )
            for trial, verdict, body in rows:
                with suppress(StoreError):
                    answer = TextReader(self._connection).unpacked(parse(body).get("extracted", []))
                    found.setdefault(trial, []).append((verdict, tuple(answer)))
        return found

    def called(self, trials: Iterable[str]) -> dict[str, Mapping[str, int]]:
        """The tools that each of these trials called in its current trace, in the order of their first calls, each with
        how many times; without traces that are damaged. Of a trace nothing but that is unpacked."""
        with reading(self.path):
            rows = self._connection.execute(
                f"SELECT trials.id, trials.current {NAMED} WHERE trials.current NOT NULL ORDER BY trials.key",
                (json.dumps(list(trials)),),
            ).fetchall()
            found: dict[str, Mapping[str, int]] = {}
            for trial, trace in rows:
                with suppress(StoreError):
                    found[trial] = Counter(_called(self._connection, trace))
        return found

    def events(self, trials: Iterable[str]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        """The events of the current trace of each of these trials, as the JSON values that reach disk, in the order of
        the store; without traces that are damaged. Values are shared, so they are not to be changed: nothing is checked
        and no record is made, which takes half as long."""
        with reading(self.path):
            rows = self._connection.execute(
                f"SELECT trials.id, trials.current {NAMED} WHERE trials.current NOT NULL ORDER BY trials.key",
                (json.dumps(list(trials)),),
            ).fetchall()
        for trial, trace in rows:
            found = None
            with reading(self.path), suppress(StoreError):
                found = read_events(self._connection, trace, TextReader(self._connection))
            if found is not None:
                yield trial, found


def _called(connection: sqlite3.Connection, trace: int) -> list[str]:
    block = read_block(connection, trace)
    if block is None:
        rows = connection.execute(
            "SELECT body FROM events WHERE trace = ? AND kind = 'tool_call' ORDER BY seq", (trace,)
        )
        events = [parse(expand_row(body)) for (body,) in rows]
    else:
        events = parse(block)
    try:
        names = [event["call"]["name"] for event in events if block is None or event["kind"] == "tool_call"]
        if not any(name.startswith(MARK) for name in names):
            return names
    except (KeyError, TypeError, AttributeError):
        raise damaged(f"trace {trace} has an event that is none") from None
    whole = read_events(connection, trace, TextReader(connection))
    return [event["call"]["name"] for event in whole if event["kind"] == "tool_call"]
