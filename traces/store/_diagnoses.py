"""Designs of replays, and what judges hold for the causes of failures."""

import sqlite3
from collections.abc import Callable, Sequence

from toolablate.traces.records import Diagnosis, ReplayDesign
from toolablate.traces.store._digests import content_digest, record_content
from toolablate.traces.store._jobs import scorable
from toolablate.traces.store._writer import Desk


def keep_design(design: ReplayDesign) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        content = record_content(design)
        desk.connection.execute(
            # One that is asked for again gets a new key, behind all others.
            "INSERT OR REPLACE INTO designs (id, digest, body) VALUES (?, ?, ?)",
            (design.identity(), content_digest(content), desk.texts.pack(content)),
        )

    return write


def diagnose(diagnoses: Sequence[Diagnosis]) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        for given in diagnoses:
            trial, trace, _ = scorable(desk.connection, given.trial)
            content = record_content(given)
            desk.connection.execute(
                "INSERT OR REPLACE INTO diagnoses (trial, judge, wording, trace, digest, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (trial, given.judge, given.wording, trace, content_digest(content), desk.texts.pack(content)),
            )

    return write


def read_designs(connection: sqlite3.Connection) -> list[bytes]:
    """The bodies of the designs, in the order in which they were last asked for. Raises sqlite3.Error."""
    return [row[0] for row in connection.execute("SELECT body FROM designs ORDER BY key")]


def read_diagnosed(connection: sqlite3.Connection) -> list[str]:
    """The ids of the trials whose current trace has diagnoses. Raises sqlite3.Error."""
    rows = connection.execute(
        "SELECT id FROM trials WHERE EXISTS"
        " (SELECT 1 FROM diagnoses WHERE diagnoses.trial = trials.key AND diagnoses.trace = trials.current)"
        " ORDER BY key"
    )
    return [row[0] for row in rows]


def read_diagnoses(connection: sqlite3.Connection, trial: str) -> list[bytes]:
    """The bodies of the diagnoses of a trial's current trace. Raises sqlite3.Error."""
    rows = connection.execute(
        "SELECT diagnoses.body FROM trials"
        " JOIN diagnoses ON diagnoses.trial = trials.key AND diagnoses.trace = trials.current"
        " WHERE trials.id = ? ORDER BY diagnoses.judge, diagnoses.wording",
        (trial,),
    )
    return [row[0] for row in rows]
