"""The only writer of traces."""

import asyncio
import contextlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from datetime import datetime
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from pydantic import TypeAdapter

from toolablate.traces.errors import StoreError, ToolablateError
from toolablate.traces.records import (
    Condition,
    Environment,
    Event,
    Model,
    Outcome,
    Question,
    Run,
    Score,
    Trace,
    Trial,
    Usage,
    canonical_json,
    clean_text,
    digest_json,
    digest_text,
)
from toolablate.traces.store import _jobs
from toolablate.traces.store._digests import combined_digest, header_content, record_content
from toolablate.traces.store._open import WriterLock, is_there, make_folder, open_writer, require_store
from toolablate.traces.store._writer import Writer

T = TypeVar("T")

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


class Recorder:
    """Writes one store, as its only writer, from any thread or event loop.

    Opening raises StoreError where the path holds no store, a newer one, one that is being written or a read-only one;
    then nothing was created or changed. When writing fails later (a full disk), the next call of any method raises one
    StoreError; what had been committed is kept.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        if is_there(self.path):
            require_store(self.path)
        made = make_folder(self.path)
        self._lock = WriterLock(self.path)
        try:
            self._lock.acquire()
            self._writer = Writer(open_writer(self.path), self.path)
        except BaseException:
            self._lock.release()
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
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
            self._lock.release()

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
        Raises StoreError for a trial whose question, model or condition is unknown.
        """
        job = _jobs.plan(run, questions, models, conditions, trials)
        self._wait(self._writer.submit(job, durable=True))

    def finished_trials(self) -> frozenset[str]:
        """Ids of the trials that need not be run again: those that were answered or ran out of budget."""
        return self._wait(self._writer.submit(_jobs.finished_trials))

    def start(self, trial: Trial, *, started_at: datetime, environment: Environment | None = None) -> "TrialRecorder":
        """Begins an attempt at a planned trial; returns at once."""
        return TrialRecorder(self._writer, _jobs.Attempt(trial, started_at, environment or Environment()))

    async def begin(
        self, trial: Trial, *, started_at: datetime, environment: Environment | None = None
    ) -> "TrialRecorder | None":
        """Begins an attempt at a planned trial; None where it is finished or another recorder is at it."""
        return self.start(trial, started_at=started_at, environment=environment)

    async def taken(self) -> frozenset[str]:
        """Ids of the trials that other recorders, still alive, have begun and not ended."""
        return frozenset()

    async def score(self, scores: Iterable[Score]) -> None:
        """Enters scores, all or none; one of the same trial, scorer and version replaces the older.

        Raises StoreError for a trial that has no trace to score.
        """
        await _settle(self._writer, self._writer.submit(_jobs.score(tuple(scores)), durable=True))

    def _wait(self, future: "Future[T]") -> T:
        try:
            return future.result()
        except ToolablateError:
            self._writer.note_told()
            raise


class TrialRecorder:
    """Records one attempt at a trial."""

    def __init__(self, writer: Writer, attempt: _jobs.Attempt) -> None:
        self._writer = writer
        self._attempt = attempt
        self._events: list[Event] = []
        self._digests: list[str] = []
        self._finished = False
        self._begun = writer.submit(_jobs.begin(attempt))

    @property
    def events(self) -> tuple[Event, ...]:
        """What was recorded so far."""
        return tuple(self._events)

    def record(self, event: Event) -> None:
        """Queues an event, which is committed within milliseconds; does not wait for it.

        Lone surrogates, which no file can hold, become U+FFFD. Raises StoreError where writing has failed.
        """
        self._require_open()
        content = record_content(event)
        text = canonical_json(content)
        try:
            digest = digest_text(text)
        except UnicodeEncodeError:
            event = _EVENT.validate_python(_cleaned(content))
            content = record_content(event)
            digest = digest_json(content)
        self._writer.submit(_jobs.event(self._attempt, len(self._events), content), chars=len(text))
        self._events.append(event)
        self._digests.append(digest)

    async def finish(
        self,
        outcome: Outcome,
        seconds: float,
        usage: Usage | None = None,
        cost_usd: float | None = None,
    ) -> Trace:
        """Ends the attempt, atomically; when this returns, the trace is on the disk.

        Raises StoreError where it could not be written, or where the trial was never planned.
        """
        self._require_open()
        self._finished = True
        await _settle(self._writer, self._begun)
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
        end = _jobs.finish(self._attempt.key, trace, digest)
        await _settle(self._writer, self._writer.submit(end, durable=True))
        return trace

    def _require_open(self) -> None:
        if self._finished:
            raise StoreError(f"The attempt at trial {self._attempt.trial.id} is finished already", code="finished")
        if self._begun.done():
            try:
                self._begun.result()
            except ToolablateError:
                self._writer.note_told()
                raise


async def _settle(writer: Writer, future: "Future[T]") -> T:
    """Waits for a job. A caller that is cancelled meanwhile leaves the job to be done."""
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except ToolablateError:
        writer.note_told()
        raise


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(name): _cleaned(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return value
