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
            "INSERT INTO designs (id, digest, body) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
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
    """The bodies of the designs, in the order in which they were first kept. Raises sqlite3.Error."""
    return [row[0] for row in connection.execute("SELECT body FROM designs ORDER BY key")]


def read_diagnoses(connection: sqlite3.Connection, trial: str | None = None) -> list[bytes]:
    """The bodies of the diagnoses of current traces, of one trial or of all. Raises sqlite3.Error."""
    rows = connection.execute(
        "SELECT diagnoses.body FROM diagnoses"
        " JOIN trials ON trials.key = diagnoses.trial AND trials.current = diagnoses.trace"
        " WHERE ?1 IS NULL OR diagnoses.trial = (SELECT key FROM trials WHERE id = ?1)"
        " ORDER BY diagnoses.trial, diagnoses.judge, diagnoses.wording",
        (trial,),
    )
    return [row[0] for row in rows]
