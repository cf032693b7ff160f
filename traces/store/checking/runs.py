"""Runs, and the trials that each planned."""

import sqlite3
from collections.abc import Iterator

from pydantic import TypeAdapter

from toolablate.traces.records import Run
from toolablate.traces.store.checking.records import Finding, whole
from toolablate.traces.store.content.digests import listing_digest


def runs(connection: sqlite3.Connection) -> Iterator[Finding]:
    kind = TypeAdapter(Run)
    for key, identity, planned, listed, digest, body in connection.execute(
        "SELECT key, id, trials, listed, digest, body FROM runs"
    ):
        ids = [
            trial
            for (trial,) in connection.execute(
                "SELECT trials.id FROM run_trials LEFT JOIN trials ON trials.key = trial WHERE run = ? ORDER BY trial",
                (key,),
            )
        ]
        record = whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield f"run {identity}", record
        elif isinstance(record, Run) and record.id != identity:
            yield f"run {identity}", f"its content is that of run {record.id}"
        elif planned != len(ids):
            yield f"run {identity}", f"it planned {planned} trials, of which {len(ids)} are listed"
        elif listing_digest(map(str, ids)) != listed:
            yield f"run {identity}", "the trials that are listed are not those that it planned"
        else:
            yield None
