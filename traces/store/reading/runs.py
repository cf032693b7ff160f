"""Runs, as trials name them."""

import sqlite3

from toolablate.traces.errors import InputError


def run_key(connection: sqlite3.Connection, run: str) -> int:
    """The row of a run. Raises InputError where there is none, sqlite3.Error."""
    row = connection.execute("SELECT key FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None:
        known = [found[0] for found in connection.execute("SELECT id FROM runs ORDER BY key DESC LIMIT 5")]
        raise InputError(
            f"There is no run {run!r} in this store",
            hint=f"The latest runs: {', '.join(known) or 'none'}.",
            code="unknown_run",
        )
    return int(row[0])


def read_latest_run(connection: sqlite3.Connection, trial: str) -> bytes | None:
    """The body of the last run that called for a trial. Raises sqlite3.Error."""
    row = connection.execute(
        "SELECT runs.body FROM runs JOIN run_trials ON run_trials.run = runs.key"
        " JOIN trials ON trials.key = run_trials.trial WHERE trials.id = ? ORDER BY runs.key DESC LIMIT 1",
        (trial,),
    ).fetchone()
    return None if row is None else row[0]
