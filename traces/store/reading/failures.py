"""Why trials failed."""

import sqlite3
from typing import Any

from toolablate.traces.store.content.texts import TextReader
from toolablate.traces.store.reading.failure import FailureCount
from toolablate.traces.store.reading.names import shown_names
from toolablate.traces.store.reading.runs import run_key
from toolablate.traces.store.reading.traces import read_events

# The events of a failed trace are rows, and those of failures are not compressed.
# SQLite fills the bare columns of a min() from the row that holds the minimum: the first of the trials.
_FAILURES = """
WITH failed AS (
    SELECT trials.key AS trial, trials.id AS id, trials.model AS model, traces.key AS trace,
        (SELECT body FROM events WHERE trace = traces.key AND kind = 'failure' ORDER BY seq DESC LIMIT 1) AS body
    FROM trials JOIN traces ON traces.key = trials.current
        JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL
    WHERE traces.outcome = 'failed'
        AND (:run IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = :run))
)
SELECT model, trace, count(*), id, min(trial) FROM failed
GROUP BY model, json_extract(CAST(body AS TEXT), '$.boundary'), json_extract(CAST(body AS TEXT), '$.code')
ORDER BY count(*) DESC, min(trial)
"""


def read_failures(connection: sqlite3.Connection, run: str | None) -> tuple[FailureCount, ...]:
    """Raises InputError for a run that is not there, StoreError for a damaged event, sqlite3.Error."""
    key = None if run is None else run_key(connection, run)
    models = shown_names(connection, "models")
    counts = []
    for model, trace, count, trial, _ in connection.execute(_FAILURES, {"run": key}).fetchall():
        events = read_events(connection, trace, TextReader(connection))
        last: dict[str, Any] = next((event for event in reversed(events) if event["kind"] == "failure"), {})
        counts.append(
            FailureCount(
                model=models[model],
                boundary=last.get("boundary"),
                code=last.get("code", ""),
                message=last.get("message", ""),
                count=count,
                trial=trial,
            )
        )
    return tuple(counts)
