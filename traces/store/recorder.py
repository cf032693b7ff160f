"""What records trials: the only way in."""

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from toolablate.traces.errors import StoreError, ToolablateError
from toolablate.traces.records import (
    Condition,
    Diagnosis,
    Environment,
    Event,
    Label,
    Model,
    Outcome,
    Question,
    ReplayDesign,
    Run,
    Score,
    Trace,
    Trial,
    Usage,
    clean_text,
)
from toolablate.traces.store import writing
from toolablate.traces.store.digests import EventContents, Written, combined_digest, header_content
from toolablate.traces.store.file import (
    Gate,
    StorePlace,
    close_elsewhere,
    close_last_writer,
    explain,
    is_there,
    make_folder,
    open_writer,
    require_local_disk,
    require_store,
)
from toolablate.traces.store.writer import Membership, StoreWriter, is_deserted, taken


class TrialRecorder:
    """Records one attempt at a trial."""

    def __init__(self, writer: StoreWriter, attempt: writing.Attempt) -> None:
        self._writer = writer
        self._attempt = attempt
        self._contents = EventContents()
        self._events: list[Event] = []
        self._digests: list[str] = []
        self._finished = False

    @property
    def events(self) -> tuple[Event, ...]:
        """What was recorded so far."""
        return tuple(self._events)

    def record(self, event: Event, written: Written | None = None) -> None:
        """Queues an event, which is committed within milliseconds; does not wait for it. `written` is what
        `EventContents` made of it, where that was done elsewhere.

        Lone surrogates, which no file can hold, become U+FFFD. Raises StoreError where writing has failed.
        """
        self._require_open()
        if written is None:
            event, written = self._contents.written(event)
        job = writing.event(self._attempt, len(self._events), written.content)
        self._writer.post(job, chars=written.chars)
        self._events.append(event)
        self._digests.append(written.digest)

    async def finish(
        self,
        outcome: Outcome,
        seconds: float,
        usage: Usage | None = None,
        cost_usd: float | None = None,
    ) -> Trace:
        """Ends the attempt, atomically; when this returns, the trace is on the disk.

        Raises StoreError where it could not be written.
        """
        self._require_open()
        self._finished = True
        trace = Trace(
            trial=self._attempt.trial,
            attempt=self._attempt.number,
            outcome=outcome,
            started_at=self._attempt.started_at,
            seconds=seconds,
            usage=usage or Usage(),
            cost_usd=cost_usd,
            environment=self._attempt.environment,
            events=tuple(self._events),
        )
        digest = combined_digest(header_content(trace), self._digests)
        end = writing.finish(self._attempt, trace, digest)
        await self._writer.settle(self._writer.submit(end, durable=True))
        return trace

    def _require_open(self) -> None:
        if self._finished:
            raise StoreError(f"The attempt at trial {self._attempt.trial.id} is finished already", code="finished")


T = TypeVar("T")


class Recorder:
    """Writes one store, from any thread or event loop, beside other recorders of the same machine.

    Opening raises StoreError where the path holds no store, a newer one, one whose tables somebody changed or a
    read-only one; then nothing was created or changed. When writing fails later (a full disk), the next call of any
    method raises one StoreError; what had been committed is kept.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        require_local_disk(self.path)
        if is_there(self.path):
            require_store(self.path)
        made = make_folder(self.path)
        try:
            with Gate(self.path):
                self._connection = open_writer(self.path)
                self._membership = self._register()
                self._place = StorePlace(self.path)
        except BaseException:
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        self._writer = StoreWriter(self._connection, self._place)
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        untold = self._close()
        if untold is not None and error is None:
            raise untold

    def close(self) -> None:
        """Writes what is queued and closes. Raises a StoreError of which nobody has been told; may be called twice."""
        untold = self._close()
        if untold is not None:
            raise untold

    def _close(self) -> ToolablateError | None:
        if self._closed:
            return None
        self._closed = True
        try:
            return self._writer.close()
        finally:
            self._leave()

    def _register(self) -> Membership:
        try:
            return Membership(self._connection, self.path)
        except BaseException as error:
            self._close_connection()
            if isinstance(error, sqlite3.Error):
                raise explain(error, self.path, "write") from error
            raise

    def _leave(self) -> None:
        """The last one to leave tidies up; where that fails (a full disk), the next one to come does."""
        try:
            with Gate(self.path):
                self._membership.leave(self._connection)
                if self._place.is_kept():
                    self._close_connection()
                else:
                    close_elsewhere(self._connection, self.path)
        except StoreError:
            self._membership.release()
            self._connection.close()

    def _close_connection(self) -> None:
        """Inside the gate."""
        try:
            last = is_deserted(self._connection, self.path)
        except sqlite3.Error:
            last = True
        if last:
            close_last_writer(self._connection)
        else:
            self._connection.close()

    def plan(
        self,
        run: Run,
        questions: Sequence[Question],
        models: Sequence[Model],
        conditions: Sequence[Condition],
        trials: Sequence[Trial],
    ) -> None:
        """Enters a run and the trials it calls for, all or nothing. What is there already stays.

        A name or price that differs from what the store has replaces it, since it is no part of what it names.
        Raises StoreError for a trial whose question, model or condition is unknown, InputError where the run's
        environment is another than that of trials that are done or that a living recorder is at.
        """
        recorder = self._membership.key
        job = writing.plan(run, questions, models, conditions, trials, store=self.path, recorder=recorder)
        self._wait(self._writer.submit(job, durable=True))

    def resume(self, fingerprint: Mapping[str, str], conditions: Sequence[Condition], trials: Sequence[Trial]) -> None:
        """Enters trials that go on from events of others, all or nothing; each condition says of which. They are in no
        run, and no plan's trials.

        Raises StoreError for a parent, question or model that is not there, InputError where the environment is another
        than that of the trials that are done.
        """
        self._wait(self._writer.submit(writing.resume(fingerprint, conditions, trials, store=self.path), durable=True))

    def finished_trials(self) -> frozenset[str]:
        """Ids of the trials that need not be run again: those that were answered or ran out of budget."""
        return self._wait(self._writer.submit(writing.finished_trials))

    async def begin(
        self, trial: Trial, *, started_at: datetime, environment: Environment | None = None
    ) -> TrialRecorder | None:
        """Begins an attempt at a planned trial; None where it is finished, or where this or another living recorder is
        at it. Raises StoreError where the trial was never planned."""
        attempt = writing.Attempt(trial, started_at, environment or Environment(), self._membership.key)
        begun = await self._writer.settle(self._writer.submit(writing.begin(attempt, self.path)))
        return TrialRecorder(self._writer, attempt) if begun else None

    async def taken(self) -> frozenset[str]:
        """Ids of the trials that other recorders, still alive, have begun and not ended."""
        return await self._writer.settle(self._writer.submit(taken(self.path, self._membership.key)))

    def waits_for(self, texts: Sequence[str]) -> None:
        """Says what this recorder's run waits for, nothing where it is empty; does not wait for it to be written.

        Raises StoreError where writing has failed.
        """
        waiting = clean_text("\n".join(texts)), self._membership.key
        self._writer.submit(
            lambda desk: desk.connection.execute("UPDATE recorders SET waits_for = ? WHERE key = ?", waiting)
        )

    async def score(self, scores: Iterable[Score]) -> frozenset[str]:
        """Enters scores in one transaction; one of the same trial, scorer and version replaces the older.

        Gives the ids of the trials whose scores were left out: their answer key has been mended since they were made.
        Raises StoreError for a trial that has no trace to score; then none is entered.
        """
        return await self._writer.settle(self._writer.submit(writing.score(tuple(scores)), durable=True))

    def keep_design(self, design: ReplayDesign) -> None:
        """Keeps what is to be replayed as the last that was asked for; the same design is kept once."""
        self._wait(self._writer.submit(writing.keep_design(design), durable=True))

    async def diagnose(self, diagnoses: Iterable[Diagnosis]) -> None:
        """Enters what judges hold for the causes of failures, in one transaction; one of the same trial, judge and
        wording replaces the older.

        Raises StoreError for a trial that has no trace to read; then none is entered.
        """
        await self._writer.settle(self._writer.submit(writing.diagnose(tuple(diagnoses)), durable=True))

    def label(self, label: Label) -> None:
        """Enters what a person holds for the cause of a trial, beside what they and others said before.

        Raises StoreError for a trial that has no trace to read.
        """
        self._wait(self._writer.submit(writing.keep_label(label), durable=True))

    def _wait(self, future: "Future[T]") -> T:
        try:
            return future.result()
        except ToolablateError:
            self._writer.note_told()
            raise
