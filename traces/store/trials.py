"""What is read of single trials: ids, traces, runs, scores, diagnoses and labels."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolablate.traces.errors import InputError
from toolablate.traces.records import Environment, Message, Model, Record, ToolSpec, Trace, Trial, Usage, Verdict
from toolablate.traces.store.texts import TextReader, TraceUnpacker, damaged, expand_row, parse, read_block

# Which trials a store has, and how far each is.


SHOWN_MATCHES = 5

NAMED = "FROM trials JOIN json_each(?) AS named ON named.value = trials.id"
"""Trials by an array of their whole ids."""

PLANNED = "condition NOT IN (SELECT key FROM conditions WHERE parent NOT NULL)"
"""Of a row of `trials`: a plan called for it, and it is no counterfactual."""


def read_finished(connection: sqlite3.Connection, *, planned: bool = True) -> frozenset[str]:
    """Of the trials of plans, or of the counterfactuals."""
    which = PLANNED if planned else f"NOT {PLANNED}"
    rows = connection.execute(f"SELECT id FROM trials WHERE outcome <> 'failed' AND {which}")  # noqa: S608 - our own
    return frozenset(chain.from_iterable(rows))


def read_unscored(
    connection: sqlite3.Connection, scorer: str | None = None, version: int | None = None
) -> frozenset[str]:
    rows = connection.execute(
        "SELECT id FROM trials WHERE outcome <> 'failed'"
        " AND NOT EXISTS (SELECT 1 FROM scores WHERE scores.trial = trials.key AND scores.trace = trials.current"
        " AND (?1 IS NULL OR scores.scorer = ?1) AND (?2 IS NULL OR scores.version = ?2))",
        (scorer, version),
    )
    return frozenset(row[0] for row in rows)


def read_trials_with_verdict(
    connection: sqlite3.Connection, verdict: Verdict, *, scorer: str, version: int
) -> frozenset[str]:
    rows = connection.execute(
        "SELECT trials.id FROM scores JOIN trials ON trials.key = scores.trial AND trials.current = scores.trace"
        " WHERE verdict = ? AND scorer = ? AND scores.version = ?",
        (verdict, scorer, version),
    )
    return frozenset(row[0] for row in rows)


def read_trials_of(connection: sqlite3.Connection, run: str) -> tuple[Trial, ...]:
    rows = connection.execute(
        "SELECT questions.id, models.id, conditions.id, repeat FROM run_trials"
        " JOIN runs ON runs.key = run_trials.run JOIN trials ON trials.key = run_trials.trial"
        " JOIN questions ON questions.key = question JOIN models ON models.key = model"
        " JOIN conditions ON conditions.key = condition WHERE runs.id = ? ORDER BY trials.key",
        (run,),
    ).fetchall()
    return tuple(
        Trial(question=question, model=model, condition=condition, repeat=repeat)
        for question, model, condition, repeat in rows
    )


def find_trial(connection: sqlite3.Connection, store: Path, prefix: str) -> str:
    """The id of the one trial that begins with `prefix`. Raises InputError for none or several, sqlite3.Error."""
    wanted = prefix.strip().lower()
    rows = connection.execute(
        "SELECT id FROM trials WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2", (wanted, SHOWN_MATCHES + 1)
    )
    found = [row[0] for row in rows]
    if len(found) == 1:
        return str(found[0])
    if not found:
        raise InputError(
            f"{store} has no trial {prefix!r}",
            hint="Trials are named by the beginning of their id (hexadecimal); `show` without one lists them.",
            code="unknown_trial",
        )
    more = ", ..." if len(found) > SHOWN_MATCHES else ""
    raise InputError(
        f"Several trials of {store} begin with {prefix!r}: {', '.join(found[:SHOWN_MATCHES])}{more}",
        hint="Give more of the id.",
        code="ambiguous_trial",
    )


# Runs, as trials name them.


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


# Traces from their rows.


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
        events = list(with_records(read_events(connection, row[0], reader)))
        return Trace.model_validate({**read_header(row, reader), "events": events})
    except (ValidationError, TypeError) as error:
        detail = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise damaged(f"trace {row[0]} does not hold ({detail})") from None


_REPEATED: dict[str, type[Record]] = {"messages": Message, "tools": ToolSpec}


def with_records(events: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of a message or a tool that later requests repeat there is one record: half a million of them take seconds."""
    # The values are kept beside their records, so that no other gets the address of one that is gone.
    known: dict[int, tuple[Any, Record]] = {}

    def record(kind: type[Record], value: Any) -> Record:
        found = known.get(id(value))
        if found is None:
            found = known[id(value)] = value, kind.model_validate(value)
        return found[1]

    for event in events:
        request = event.get("request")
        if isinstance(request, dict):
            given = {name: request[name] for name in _REPEATED if isinstance(request.get(name), list)}
            records = {name: tuple(record(_REPEATED[name], each) for each in held) for name, held in given.items()}
            event = {**event, "request": {**request, **records}}
        yield event


def read_environments(connection: sqlite3.Connection, run: str | None) -> tuple[Environment, ...]:
    """Raises InputError for a run that is not there, StoreError for a damaged environment, sqlite3.Error."""
    # Of one environment, as nearly all stores have it, the first trace tells; else a million are sorted.
    several = len(connection.execute("SELECT DISTINCT environment FROM traces LIMIT 2").fetchall()) > 1
    rows = connection.execute(
        "SELECT traces.environment FROM trials JOIN traces ON traces.key = trials.current"  # noqa: S608 - our own
        " JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL"
        " WHERE ?1 IS NULL OR EXISTS (SELECT 1 FROM run_trials WHERE run = ?1 AND trial = trials.key)"
        + (" GROUP BY traces.environment ORDER BY min(traces.key)" if several else " LIMIT 1"),
        (None if run is None else run_key(connection, run),),
    ).fetchall()
    reader = TextReader(connection)
    try:
        return tuple(Environment.model_validate(reader.json(key)) for (key,) in rows)
    except ValidationError as error:
        raise damaged(f"an environment does not hold ({error.errors()[0]['msg']})") from None


# What is known of the current traces of many trials without their events.


def read_attempts(connection: sqlite3.Connection, trials: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The number of the attempt that a trial's current trace is, and that trace's digest, 32 hexadecimal digits. Raises
    sqlite3.Error."""
    rows = connection.execute(
        f"SELECT trials.id, traces.attempt, traces.digest {NAMED} JOIN traces ON traces.key = trials.current",
        (json.dumps(list(trials)),),
    )
    return {trial: (attempt, digest.hex()) for trial, attempt, digest in rows}


def read_answered_at(connection: sqlite3.Connection, trial: str) -> int | None:
    """The index of the answer among the events of a trial's current trace, of which nothing is unpacked. Raises
    StoreError where they are damaged, sqlite3.Error."""
    (trace,) = connection.execute("SELECT current FROM trials WHERE id = ?", (trial,)).fetchone() or (None,)
    block = None if trace is None else read_block(connection, trace)
    if block is None:
        rows = connection.execute("SELECT kind FROM events WHERE trace = ? ORDER BY seq", (trace,))
        kinds = [kind for (kind,) in rows]
    else:
        try:
            kinds = [event["kind"] for event in parse(block)]
        except (KeyError, TypeError):
            raise damaged(f"trace {trace} has an event that is none") from None
    return kinds.index("answer") if "answer" in kinds else None


# What was said of finished traces: by scorers, by judges of failures, by people.


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
