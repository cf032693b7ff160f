"""What is known of the current traces of many trials without their events."""

import json
import sqlite3
from collections.abc import Iterable

from toolablate.traces.store.content.blocks import read_block
from toolablate.traces.store.content.texts import damaged, parse
from toolablate.traces.store.reading.trials import NAMED


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
