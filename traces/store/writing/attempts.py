"""How an attempt at a trial is written: begun under a claim, its events, its end."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Answer, Environment, Trace, Trial
from toolablate.traces.store.content.blocks import seal, shrink_row
from toolablate.traces.store.content.digests import record_content
from toolablate.traces.store.content.packing import TracePacker
from toolablate.traces.store.content.tallies import tallies, write_tallies
from toolablate.traces.store.files.locks import lives
from toolablate.traces.store.writing.writer import Desk


@dataclass(slots=True)
class Attempt:
    """An attempt at a trial by one recorder. `trial_key`, `key` and `number` are known once the writer has begun it."""

    trial: Trial
    started_at: datetime
    environment: Environment
    recorder: int
    trial_key: int = 0
    key: int = 0
    number: int = 0
    packer: TracePacker = field(default_factory=TracePacker)


def begin(attempt: Attempt, store: Path) -> Callable[[Desk], bool]:
    """Claims the trial and begins the attempt; False where it is finished or a living recorder is at it."""

    def write(desk: Desk) -> bool:
        row = desk.connection.execute(
            "SELECT trials.key, trials.outcome, claims.recorder,"
            " (SELECT coalesce(max(attempt), 0) + 1 FROM traces WHERE trial = trials.key)"
            " FROM trials LEFT JOIN claims ON claims.trial = trials.key WHERE trials.id = ?",
            (attempt.trial.id,),
        ).fetchone()
        if row is None:
            raise unplanned(attempt.trial.id)
        trial, outcome, holder, number = row
        if outcome in ("answered", "budget"):
            return False
        if holder is not None and (holder == attempt.recorder or lives(store, holder)):
            return False
        environment = desk.texts.put_json(record_content(attempt.environment))
        cursor = desk.connection.execute(
            "INSERT INTO traces (trial, attempt, started_at, environment) VALUES (?, ?, ?, ?)",
            (trial, number, attempt.started_at.isoformat(), environment),
        )
        attempt.trial_key, attempt.key, attempt.number = int(trial), int(cursor.lastrowid or 0), int(number)
        desk.connection.execute(
            "INSERT OR REPLACE INTO claims (trial, trace, recorder) VALUES (?, ?, ?)",
            (trial, attempt.key, attempt.recorder),
        )
        return True

    return write


def unplanned(trial: str) -> StoreError:
    return StoreError(
        f"Trial {trial} is not planned in this store",
        hint="Enter the run with Recorder.plan first.",
        code="unknown_trial",
    )


def event(attempt: Attempt, seq: int, content: dict[str, Any]) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        desk.connection.execute(
            "INSERT INTO events (trace, seq, kind, body) VALUES (?, ?, ?, ?)",
            (attempt.key, seq, content["kind"], shrink_row(attempt.packer.pack(content, desk.texts))),
        )

    return write


def finish(attempt: Attempt, trace: Trace, digest: str) -> Callable[[Desk], None]:
    """The row's end, its tallies, which trace counts for the trial, and the end of the claim, in one transaction.

    The events of one that counts become a block; a failed one is read by SQL, and is not kept for long.
    """
    found = tallies(record_content(event) for event in trace.events if event.kind == "tool_call")
    usage, last = trace.usage, next(reversed(trace.events), None)
    ended = (
        trace.outcome,
        trace.seconds,
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        usage.cache_write_tokens,
        trace.cost_usd,
        len(trace.events),
        bytes.fromhex(digest),
        last.limit if isinstance(last, Answer) else None,
        attempt.key,
    )

    def write(desk: Desk) -> None:
        desk.connection.execute(
            "UPDATE traces SET outcome = ?, seconds = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,"
            " reasoning_tokens = ?, cache_write_tokens = ?, cost_usd = ?, events = ?, digest = ?, ran_out = ?"
            " WHERE key = ?",
            ended,
        )
        write_tallies(desk.connection, attempt.key, found)
        if trace.outcome != "failed":
            seal(desk.connection, desk.bases, attempt.key)
        desk.connection.execute(
            "UPDATE trials SET current = ?1, outcome = ?3 WHERE key = ?2"
            " AND (?3 <> 'failed' OR outcome IS NULL OR outcome = 'failed')",
            (attempt.key, attempt.trial_key, trace.outcome),
        )
        desk.connection.execute("DELETE FROM claims WHERE trial = ? AND trace = ?", (attempt.trial_key, attempt.key))
        desk.connection.execute("UPDATE recorders SET ended = ended + 1 WHERE key = ?", (attempt.recorder,))

    return write
