"""Stores as older versions of toolablate left them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from toolablate.traces.store import SCHEMA_VERSION
from toolablate.traces.store.content.texts import TextReader, TextWriter
from toolablate.traces.store.reading.traces import read_events


def as_rows(path: Path) -> Path:
    """Turns every block into rows of events whose texts are the store's, as before version 4."""
    with closing(sqlite3.connect(path)) as connection:
        reader, writer = TextReader(connection), TextWriter(connection)
        for (trace,) in connection.execute("SELECT trace FROM blocks").fetchall():
            for seq, event in enumerate(read_events(connection, trace, reader)):
                kind, body = event["kind"], {name: value for name, value in event.items() if name != "kind"}
                connection.execute("INSERT INTO events VALUES (?, ?, ?, ?)", (trace, seq, kind, writer.pack(body)))
        connection.executescript("DELETE FROM blocks; DELETE FROM parts")
        connection.commit()
    return path


BACK = {
    9: "DROP TABLE labels",
    8: "DROP TABLE designs; DROP TABLE diagnoses",
    7: "DROP INDEX conditions_by_parent; ALTER TABLE conditions DROP COLUMN parent",
    6: "ALTER TABLE questions DROP COLUMN target; ALTER TABLE runs DROP COLUMN listed; ALTER TABLE recorders DROP COLUMN"
    " run; ALTER TABLE recorders DROP COLUMN clock; ALTER TABLE recorders ADD COLUMN since TEXT NOT NULL DEFAULT ''",
    5: "ALTER TABLE traces DROP COLUMN ran_out; ALTER TABLE recorders DROP COLUMN waits_for",
    4: "ALTER TABLE traces DROP COLUMN cache_write_tokens",
    3: "DROP TABLE blocks; DROP TABLE parts",
    2: "DROP INDEX trials_by_outcome; ALTER TABLE trials DROP COLUMN outcome; DROP TABLE claims; DROP TABLE recorders",
    1: "DROP TABLE lookups; DROP TABLE markers",
}
"""What leads to a version from the one after it."""


def downgraded(path: Path, version: int) -> Path:
    """Turns a store into what that version left."""
    assert set(BACK) == set(range(1, SCHEMA_VERSION))
    if version < 4:
        as_rows(path)
    with closing(sqlite3.connect(path)) as connection:
        for step in range(SCHEMA_VERSION - 1, version - 1, -1):
            connection.executescript(BACK[step])
        connection.execute(f"PRAGMA user_version = {version}")
    return path
