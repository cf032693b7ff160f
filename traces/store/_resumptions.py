"""Trials that go on from an event of another one, and whole conversations from their parts."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolablate.traces.records import Condition, Trial
from toolablate.traces.store._jobs import put_condition, put_trials
from toolablate.traces.store._worlds import require_same_world
from toolablate.traces.store._writer import Desk


def resume(
    world: Mapping[str, str], conditions: Sequence[Condition], trials: Sequence[Trial], *, store: Path
) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        require_same_world(desk.connection, store, world)
        for condition in conditions:
            put_condition(desk, condition)
        put_trials(desk, trials)

    return write


def read_resumptions(connection: sqlite3.Connection, trial: str) -> list[tuple[bytes, list[str]]]:
    """The bodies of the conditions whose trials go on from this one, each with the ids of these, in the order of their
    repeats. They have its question and its model, by which they are found. Raises sqlite3.Error."""
    found: dict[int, tuple[bytes, list[str]]] = {}
    for key, body, identity in connection.execute(
        "SELECT conditions.key, conditions.body, trials.id FROM conditions"
        " JOIN trials AS parents ON parents.id = conditions.parent"
        " JOIN trials ON trials.question = parents.question AND trials.model = parents.model"
        " AND trials.condition = conditions.key"
        " WHERE conditions.parent = ? ORDER BY conditions.key, trials.repeat",
        (trial,),
    ):
        found.setdefault(key, (body, []))[1].append(identity)
    return list(found.values())


def read_latest_run(connection: sqlite3.Connection, trial: str) -> bytes | None:
    """The body of the last run that called for a trial. Raises sqlite3.Error."""
    row = connection.execute(
        "SELECT runs.body FROM runs JOIN run_trials ON run_trials.run = runs.key"
        " JOIN trials ON trials.key = run_trials.trial WHERE trials.id = ? ORDER BY runs.key DESC LIMIT 1",
        (trial,),
    ).fetchone()
    return None if row is None else row[0]
