"""Trials, and the traces of their attempts with every event."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Trace, Trial, digest_json
from toolablate.traces.store.checking.records import Finding
from toolablate.traces.store.content.digests import combined_digest, header_content
from toolablate.traces.store.content.tallies import read_tallies, tallies
from toolablate.traces.store.content.texts import TextReader
from toolablate.traces.store.reading.traces import TRACE_QUERY, read_events, read_header

READER_TRACES = 50


def trials(connection: sqlite3.Connection) -> Iterator[Finding]:
    rows = connection.execute(
        "SELECT trials.id, questions.id, models.id, conditions.id, repeat, current,"
        " (SELECT key FROM traces WHERE trial = trials.key AND outcome NOT NULL"
        "  ORDER BY outcome <> 'failed' DESC, attempt DESC LIMIT 1),"
        " (SELECT count(*) = coalesce(max(attempt), 0) FROM traces WHERE trial = trials.key),"
        " outcome IS (SELECT traces.outcome FROM traces WHERE traces.key = current)"
        " FROM trials LEFT JOIN questions ON questions.key = question LEFT JOIN models ON models.key = model"
        " LEFT JOIN conditions ON conditions.key = condition"
    )
    for identity, question, model, condition, repeat, current, expected, complete, agrees in rows:
        where = f"trial {identity}"
        if None in (question, model, condition):
            yield where, "its question, model or condition is missing"
        elif Trial(question=question, model=model, condition=condition, repeat=repeat).id != identity:
            yield where, "its id does not follow from its question, model, condition and repeat"
        elif current != expected:
            yield where, f"trace {current} is marked as its current one, where it should be {expected}"
        elif not complete:
            yield where, "an attempt is missing"
        elif not agrees:
            yield where, "its outcome is not that of its current trace"
        else:
            yield None


def traces(connection: sqlite3.Connection) -> Iterator[Finding]:
    reader = TextReader(connection)
    rows = connection.execute(
        f"SELECT found.*, traces.events, traces.digest, trials.id FROM ({TRACE_QUERY}) AS found"  # noqa: S608 - our own
        " JOIN traces ON traces.key = found.key JOIN trials ON trials.key = traces.trial"
    )
    for number, row in enumerate(rows):
        if number % READER_TRACES == 0:
            reader = TextReader(connection)
        damage = _trace_damage(connection, row, reader)
        yield (f"trial {row[-1]} attempt {row[1]}", damage) if damage else None


def _trace_damage(connection: sqlite3.Connection, row: tuple[Any, ...], reader: TextReader) -> str:
    key, outcome, expected, digest = row[0], row[4], row[-3], row[-2]
    try:
        rows = [seq for (seq,) in connection.execute("SELECT seq FROM events WHERE trace = ? ORDER BY seq", (key,))]
        gap = next((index for index, seq in enumerate(rows) if seq != index), None)
        if gap is not None:
            return f"event {gap} is missing"
        if rows and connection.execute("SELECT 1 FROM blocks WHERE trace = ?", (key,)).fetchone():
            return "its events are there as a block and as rows"
        events = read_events(connection, key, reader)
        if outcome is None:
            return ""
        header = header_content(Trace.model_validate(read_header(row, reader)))
    except StoreError as error:
        return error.message
    except (ValidationError, TypeError) as error:
        return f"it is no valid trace ({str(error).splitlines()[0]})"
    if len(events) != expected:
        return f"it has {len(events)} events where {expected} were recorded"
    if combined_digest(header, [digest_json(event) for event in events]) != (digest or b"").hex():
        return "its content does not match its digest"
    if read_tallies(connection, key) != tallies(events):
        return "its counts of lookups and markers do not match its events"
    ran_out = connection.execute("SELECT ran_out FROM traces WHERE key = ?", (key,)).fetchone()[0]
    if ran_out is not None and not (events and events[-1].get("limit") == ran_out):
        return "the limit that it ran into does not match its events"
    return ""
