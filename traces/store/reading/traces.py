"""Traces from their rows."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolablate.traces.records import Environment, Message, Model, Trace, Trial, Usage
from toolablate.traces.store.content.blocks import expand_row, read_block
from toolablate.traces.store.content.packing import TraceUnpacker
from toolablate.traces.store.content.texts import TextReader, damaged
from toolablate.traces.store.reading.runs import run_key

MODEL: TypeAdapter[Model] = TypeAdapter(Model)

TRACE_QUERY = (
    "SELECT traces.key, traces.attempt, traces.started_at, traces.environment, traces.outcome, traces.seconds,"
    " traces.input_tokens, traces.output_tokens, traces.cached_tokens, traces.reasoning_tokens,"
    " traces.cache_write_tokens, traces.cost_usd, questions.id, models.id, conditions.id, trials.repeat"
    " FROM traces JOIN trials ON trials.key = traces.trial"
    " JOIN questions ON questions.key = trials.question JOIN models ON models.key = trials.model"
    " JOIN conditions ON conditions.key = trials.condition"
)

_USAGE = ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "cache_write_tokens")


def read_header(row: Sequence[Any], reader: TextReader) -> dict[str, Any]:
    """A trace without its events, as the fields of a Trace."""
    usage = dict(zip(_USAGE, row[6:11], strict=True))
    return {
        "attempt": row[1],
        "started_at": row[2],
        "environment": Environment.model_validate(reader.json(row[3])),
        "outcome": row[4],
        "seconds": row[5],
        "usage": Usage(**usage),
        "cost_usd": row[11],
        "trial": Trial(question=row[12], model=row[13], condition=row[14], repeat=row[15]),
    }


def read_events(connection: sqlite3.Connection, key: int, reader: TextReader) -> list[dict[str, Any]]:
    """Of a trace, in their order, as JSON values. Raises StoreError where they are damaged, sqlite3.Error."""
    unpacker = TraceUnpacker(reader)
    block = read_block(connection, key)
    if block is not None:
        return unpacker.unpack_all(block)
    rows = connection.execute("SELECT kind, body FROM events WHERE trace = ? ORDER BY seq", (key,))
    return [{**unpacker.unpack(expand_row(body)), "kind": kind} for kind, body in rows]


def read_trace(connection: sqlite3.Connection, row: Sequence[Any], reader: TextReader) -> Trace:
    """A trace from a row of the trace query. Raises StoreError where it is damaged, sqlite3.Error."""
    try:
        events = list(_with_messages(read_events(connection, row[0], reader)))
        return Trace.model_validate({**read_header(row, reader), "events": events})
    except (ValidationError, TypeError) as error:
        detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise damaged(f"trace {row[0]} does not hold ({detail})") from None


def _with_messages(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of a message that each later request repeats there is one record: half a million of them take seconds."""
    # The values are kept beside their records, so that no other gets the address of one that is gone.
    known: dict[int, tuple[Any, Message]] = {}
    for event in events:
        request = event.get("request")
        if isinstance(request, dict) and isinstance(request.get("messages"), list):
            given = request["messages"]
            messages: list[Message] = []
            for each in given:
                found = known.get(id(each))
                if found is None:
                    found = known[id(each)] = each, Message.model_validate(each)
                messages.append(found[1])
            event = {**event, "request": {**request, "messages": tuple(messages)}}
        yield event


def read_environments(connection: sqlite3.Connection, run: str | None) -> tuple[Environment, ...]:
    """Raises InputError for a run that is not there, StoreError for a damaged environment, sqlite3.Error."""
    rows = connection.execute(
        "SELECT traces.environment FROM trials JOIN traces ON traces.key = trials.current"
        " JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL"
        " WHERE ?1 IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = ?1)"
        " GROUP BY traces.environment ORDER BY min(traces.key)",
        (None if run is None else run_key(connection, run),),
    ).fetchall()
    reader = TextReader(connection)
    try:
        return tuple(Environment.model_validate(reader.json(key)) for (key,) in rows)
    except ValidationError as error:
        raise damaged(f"an environment does not hold ({error.errors()[0]['msg']})") from None
