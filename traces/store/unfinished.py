"""Trials that have begun and not ended, with what they have done so far."""

import sqlite3
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from toolablate.traces.records import Event
from toolablate.traces.store.file import lives
from toolablate.traces.store.status import shown_names
from toolablate.traces.store.texts import TextReader, damaged
from toolablate.traces.store.trials import PLANNED, read_events, with_records

_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True, slots=True)
class UnfinishedTrial:
    """The last attempt at a trial of a plan that is not done. `question`, `model` and `condition` are names. `alive`: a
    living recorder is at it; else it was cut off, is never scored, and runs again with the next run of its plan.
    `events` counts those so far; `last` is the kind of the last one, "" before the first."""

    trial: str
    question: str
    model: str
    condition: str
    repeat: int
    attempt: int
    started_at: datetime
    alive: bool
    events: int
    last: str


_UNFINISHED = f"""
SELECT trials.id, questions.name, trials.model, trials.condition, repeat, traces.attempt, started_at, claims.recorder,
    (SELECT count(*) FROM events WHERE trace = traces.key),
    coalesce((SELECT kind FROM events WHERE trace = traces.key ORDER BY seq DESC LIMIT 1), '')
FROM traces JOIN trials ON trials.key = traces.trial JOIN questions ON questions.key = trials.question
LEFT JOIN claims ON claims.trace = traces.key
WHERE traces.outcome IS NULL AND coalesce(trials.outcome, 'failed') = 'failed' AND {PLANNED}
    AND NOT EXISTS (SELECT 1 FROM traces AS later WHERE later.trial = trials.key AND later.attempt > traces.attempt)
ORDER BY claims.recorder IS NULL, traces.key DESC
"""  # noqa: S608 - our own


def read_unfinished(connection: sqlite3.Connection, store: Path) -> tuple[UnfinishedTrial, ...]:
    """Those that run first, each kind with the latest first. Raises sqlite3.Error."""
    rows = connection.execute(_UNFINISHED).fetchall()
    models, conditions = shown_names(connection, "models"), shown_names(connection, "conditions")
    found = [
        UnfinishedTrial(
            *(trial, question, models[model], conditions[condition], repeat, attempt, datetime.fromisoformat(started)),
            alive=recorder is not None and lives(store, recorder),
            events=events,
            last=last,
        )
        for trial, question, model, condition, repeat, attempt, started, recorder, events, last in rows
    ]
    return tuple(sorted(found, key=lambda each: not each.alive))


def read_unfinished_events(connection: sqlite3.Connection, trial: str, reader: TextReader) -> tuple[Event, ...]:
    """Of the last attempt at a trial by its whole id, as far as it came. Raises StoreError where they are damaged,
    sqlite3.Error."""
    row = connection.execute(
        "SELECT traces.key FROM traces JOIN trials ON trials.key = traces.trial WHERE trials.id = ?"
        " ORDER BY attempt DESC LIMIT 1",
        (trial,),
    ).fetchone()
    if row is None:
        return ()
    try:
        return tuple(map(_EVENT.validate_python, with_records(read_events(connection, row[0], reader))))
    except (ValidationError, TypeError):
        raise damaged(f"trace {row[0]} has an event that is none") from None
