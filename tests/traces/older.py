"""Stores as older versions of toolablate left them."""

import sqlite3
from contextlib import closing
from pathlib import Path

from toolablate.traces.store._texts import TextReader, TextWriter
from toolablate.traces.store._traces import read_events


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
