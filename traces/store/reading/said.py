"""What was said of finished traces: by scorers, by judges of failures, by people."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from toolablate.traces.store.reading.trials import NAMED

_LABELS = "SELECT labels.body FROM labels JOIN trials ON trials.key = labels.trial AND labels.trace = trials.current"


def read_bodies_of_scores(connection: sqlite3.Connection, trials: Iterable[str]) -> dict[str, list[bytes]]:
    """Of current traces, in the order in which one trial's are read. Raises sqlite3.Error."""
    rows = connection.execute(
        f"SELECT trials.id, scores.body {NAMED}"
        " JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current"
        " ORDER BY trials.key, scores.scorer, scores.version",
        (json.dumps(list(trials)),),
    )
    found: dict[str, list[bytes]] = defaultdict(list)
    for trial, body in rows:
        found[trial].append(body)
    return found


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


def read_labels(connection: sqlite3.Connection, trial: str | None = None) -> list[bytes]:
    """The bodies of the labels of current traces, of one trial or of all, in the order in which they were given. Raises
    sqlite3.Error."""
    of_one, values = ("", ()) if trial is None else (" WHERE trials.id = ?", (trial,))
    return [row[0] for row in connection.execute(f"{_LABELS}{of_one} ORDER BY labels.key", values)]
