"""What people who read trials hold for their causes."""

import sqlite3
from collections.abc import Callable

from toolablate.traces.records import Label
from toolablate.traces.store._digests import content_digest, record_content
from toolablate.traces.store._jobs import scorable
from toolablate.traces.store._writer import Desk

_CURRENT = "SELECT labels.body FROM labels JOIN trials ON trials.key = labels.trial AND labels.trace = trials.current"


def keep_label(label: Label) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        trial, trace, _ = scorable(desk.connection, label.trial)
        content = record_content(label)
        desk.connection.execute(
            "INSERT INTO labels (trial, trace, person, digest, body) VALUES (?, ?, ?, ?, ?)",
            (trial, trace, label.person, content_digest(content), desk.texts.pack(content)),
        )

    return write


def read_labels(connection: sqlite3.Connection, trial: str | None = None) -> list[bytes]:
    """The bodies of the labels of current traces, of one trial or of all, in the order in which they were given. Raises
    sqlite3.Error."""
    of_one, values = ("", ()) if trial is None else (" WHERE trials.id = ?", (trial,))
    return [row[0] for row in connection.execute(f"{_CURRENT}{of_one} ORDER BY labels.key", values)]
