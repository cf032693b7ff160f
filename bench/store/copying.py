"""Writes a large store quickly: some trials by way of the Recorder, all others as copies of their rows under other ids.
What reads a store, `verify` among it, takes them for recorded."""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from bench.store.filling import Making, events_of, fill_trials, letters, plan_run
from bench.store.sources import Sources

from toolablate.experiments.plans.plan import PlannedTrial, design, load_plan
from toolablate.traces.records import digest_json
from toolablate.traces.store import Recorder, Store
from toolablate.traces.store.digests import combined_digest, content_digest, header_content, record_content
from toolablate.traces.store.texts import TextWriter

QUESTIONS = 2
"""Of each letter that may be right so many are recorded, so that a copy's letter is right where its pattern's is."""

REPEATS = 2
BATCH = 5_000
_TRACE = (
    "attempt, started_at, environment, outcome, ran_out, seconds, input_tokens, output_tokens, cached_tokens,"
    " cache_write_tokens, reasoning_tokens, cost_usd, events"
)


@dataclass(frozen=True, slots=True)
class _Pattern:
    """A recorded trial's rows, without the keys that are a copy's own."""

    trace: tuple[Any, ...]
    header: dict[str, Any]
    events: list[str]
    block: tuple[Any, ...]
    parts: list[bytes]
    counts: dict[str, list[tuple[str, int]]]
    score: dict[str, Any]
    outcome: str


def fill_by_copying(plan_file: Path, store: Path, sources: Sources, *, left: int = 0, make: Making = events_of) -> int:
    """Fills a store with all trials of a plan but the last `left`; returns how many of them it recorded."""
    plan, text = load_plan(plan_file)
    planned = design(plan)
    done = planned.trials[: len(planned.trials) - left]
    of_letter: dict[str, set[str]] = defaultdict(set)
    for question in planned.questions:
        if len(of_letter[letters(question)]) < QUESTIONS:
            of_letter[letters(question)].add(question.identity())
    known = set().union(*of_letter.values())
    recorded = [entry for entry in done if entry.trial.question in known and entry.trial.repeat < REPEATS]
    with Recorder(store) as recorder:
        here = plan_run(recorder, plan, text, planned)
        asyncio.run(fill_trials(recorder, recorded, sources, here, make))
    ids = {entry.trial.id for entry in recorded}
    _copy(store, recorded, [entry for entry in done if entry.trial.id not in ids])
    return len(recorded)


def _arm(entry: PlannedTrial) -> tuple[str, str, str]:
    return entry.trial.model, entry.trial.condition, letters(entry.question)


def _copy(store: Path, recorded: Sequence[PlannedTrial], wanted: Sequence[PlannedTrial]) -> None:
    patterns: dict[tuple[str, str, str], list[_Pattern]] = defaultdict(list)
    with closing(sqlite3.connect(store, isolation_level=None)) as connection:
        with Store(store) as opened:
            for entry in recorded:
                patterns[_arm(entry)].append(_pattern(connection, opened, entry.trial.id))
        connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000")
        connection.execute("BEGIN")
        keys = dict(connection.execute("SELECT id, key FROM trials WHERE current IS NULL"))
        traces, parts = (
            count(connection.execute(f"SELECT coalesce(max(key), 0) + 1 FROM {table}").fetchone()[0])
            for table in ("traces", "parts")
        )
        texts = TextWriter(connection)
        for start in range(0, len(wanted), BATCH):
            rows: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
            for number, entry in enumerate(wanted[start : start + BATCH]):
                pool = patterns[_arm(entry)]
                for table, row in _rows(entry, keys[entry.trial.id], pool[number % len(pool)], traces, parts, texts):
                    rows[table].append(row)
            for table, values in rows.items():
                connection.executemany(_INSERT[table], values)
        connection.execute("COMMIT")


_INSERT = {
    "traces": f"INSERT INTO traces (key, trial, digest, {_TRACE}) VALUES ({', '.join('?' * 16)})",
    "blocks": "INSERT INTO blocks (trace, first, base, depth, size, parts) VALUES (?, ?, ?, ?, ?, ?)",
    "parts": "INSERT INTO parts (key, body) VALUES (?, ?)",
    "lookups": "INSERT INTO lookups (trace, miss, count) VALUES (?, ?, ?)",
    "markers": "INSERT INTO markers (trace, kind, count) VALUES (?, ?, ?)",
    "scores": "INSERT INTO scores (trial, trace, scorer, version, value, verdict, digest, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "trials": "UPDATE trials SET current = ?, outcome = ? WHERE key = ?",
}


def _rows(
    entry: PlannedTrial, trial: int, pattern: _Pattern, traces: Iterator[int], parts: Iterator[int], texts: TextWriter
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    trace = next(traces)
    digest = combined_digest({**pattern.header, "trial": record_content(entry.trial)}, pattern.events)
    yield "traces", (trace, trial, bytes.fromhex(digest), *pattern.trace)
    numbers = [next(parts) for _ in pattern.parts]
    yield "blocks", (trace, numbers[0], *pattern.block)
    for row in zip(numbers, pattern.parts, strict=True):
        yield "parts", row
    for table, found in pattern.counts.items():
        for name, times in found:
            yield table, (trace, name, times)
    score = {**pattern.score, "trial": entry.trial.id}
    said = (score["scorer"], score.get("scorer_version", 1), score["value"], score["verdict"])
    yield "scores", (trial, trace, *said, content_digest(score), texts.pack(score))
    yield "trials", (trace, pattern.outcome, trial)


def _pattern(connection: sqlite3.Connection, store: Store, trial: str) -> _Pattern:
    trace, (score,) = store.trace(trial), store.scores(trial)
    (key,) = connection.execute("SELECT current FROM trials WHERE id = ?", (trial,)).fetchone()
    base, depth, size, first, parts = connection.execute(
        "SELECT base, depth, size, first, parts FROM blocks WHERE trace = ?", (key,)
    ).fetchone()
    bodies = connection.execute(
        "SELECT body FROM parts WHERE key >= ? AND key < ? ORDER BY key", (first, first + parts)
    )
    return _Pattern(
        trace=connection.execute(f"SELECT {_TRACE} FROM traces WHERE key = ?", (key,)).fetchone(),
        header=header_content(trace),
        events=[digest_json(record_content(event)) for event in trace.events],
        block=(base, depth, size, parts),
        parts=[body for (body,) in bodies],
        counts={
            table: connection.execute(f"SELECT {name}, count FROM {table} WHERE trace = ?", (key,)).fetchall()
            for table, name in (("lookups", "miss"), ("markers", "kind"))
        },
        score=record_content(score),
        outcome=trace.outcome,
    )
