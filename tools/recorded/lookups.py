"""What all recordings share: mode, reading records, failures told again, one attempt at a time for each key."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, Literal, TypeVar

from pydantic import ValidationError

from toolablate.tools.archive import Archive, ArchiveEntry, EntryKind, Missing
from toolablate.tools.text import MISS_MESSAGES
from toolablate.tools.web import Exchange, FetchError
from toolablate.tools.web.follow import check_status
from toolablate.traces.errors import ToolError
from toolablate.traces.records import FetchFailure, MissKind, Record

RecordT = TypeVar("RecordT", bound=Record)


def record_of(record: type[RecordT], entry: ArchiveEntry, archive: Archive) -> RecordT:
    """Raises ToolError where the entry is none that this version can read."""
    try:
        return record.from_json(entry.content)
    except ValidationError:
        raise ToolError(
            f"{archive.path}: the {entry.kind} {entry.key} cannot be read",
            hint=f"toolablate verify {archive.path} tells whether it is damaged; else a newer version wrote it",
            code="bad_archive",
        ) from None


async def find_replayed(
    archive: Archive, kind: EntryKind, key: str, request: str, as_of: datetime | None
) -> ArchiveEntry | Missing:
    """As `Archive.find`; what takes long of it is kept off the event loop."""
    found = archive.find(kind, key, request, as_of=as_of, nearest=False)
    if isinstance(found, ArchiveEntry):
        return found
    return await asyncio.to_thread(archive.find, kind, key, request, as_of=as_of)


# Where what a tool asks for comes from.


Mode = Literal["live", "record", "replay"]
"""`live` asks the web each time, `record` the archive first and keeps what it asks the web for, `replay` the archive
alone."""


# One attempt at a time for each key, shared by all who want it.


Outcome = TypeVar("Outcome")


@dataclass(slots=True)
class _Flight(Generic[Outcome]):
    task: asyncio.Task[Outcome]
    waiting: int = 0


class SingleFlight(Generic[Outcome]):
    """Whoever asks for a key that is under way waits for that attempt and gets its outcome, an exception included; who
    asks once it has ended starts another, though some have not taken its outcome yet.

    One who is cancelled leaves the others alone; the attempt ends when nobody waits for it any more. For one event
    loop.
    """

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[Outcome]] = {}

    async def run(self, key: str, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        flight = self._flights.get(key)
        if flight is None or flight.task.done():
            flight = self._flights[key] = _Flight(asyncio.create_task(self._attempted(attempt)))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting:
                self._leave(key, flight)

    async def _attempted(self, attempt: Callable[[], Awaitable[Outcome]]) -> Outcome:
        return await attempt()

    def _leave(self, key: str, flight: _Flight[Outcome]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]
        flight.task.cancel()


# Requests that got no reply: how a failure is kept, and how it is told again.


class MissedError(FetchError):
    """What the archive does not give in a replay; `nearest` describes the nearest recorded request, if any."""

    def __init__(self, message: str, *, code: str, miss: MissKind, nearest: str = "", policy: bool = False) -> None:
        super().__init__(message, code=code, policy=policy)
        self.miss: MissKind = miss
        self.nearest = nearest


def missed(miss: MissKind, nearest: str) -> MissedError:
    return MissedError(MISS_MESSAGES[miss], code=miss, miss=miss, nearest=nearest)


def failure_of(error: FetchError) -> FetchFailure:
    return FetchFailure(message=error.message, code=error.code, transient=error.transient, policy=error.policy)


def error_of(failure: FetchFailure) -> FetchError:
    return FetchError(failure.message, code=failure.code, transient=failure.transient, policy=failure.policy)


def recorded_error(failure: FetchFailure) -> MissedError:
    """In the words in which the failure was told when it was recorded."""
    return MissedError(failure.message, code=failure.code, miss="recorded_error", policy=failure.policy)


def passing_error(exchange: Exchange) -> FetchError | None:
    """What a model is told of a reply whose status may pass; None for all other replies."""
    try:
        check_status(exchange.url, exchange.status, exchange.reason)
    except FetchError as error:
        return error if error.transient else None
    return None
