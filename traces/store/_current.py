"""What is known of the current traces of many trials without their events."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from toolablate.traces.store._blocks import read_block
from toolablate.traces.store._texts import damaged, parse

_NAMED = "FROM trials JOIN json_each(?) AS named ON named.value = trials.id"


def read_attempts(connection: sqlite3.Connection, trials: Iterable[str]) -> dict[str, tuple[int, str]]:
    """The number of the attempt that a trial's current trace is, and that trace's digest, 32 hexadecimal digits. Raises
    sqlite3.Error."""
    rows = connection.execute(
        f"SELECT trials.id, traces.attempt, traces.digest {_NAMED} JOIN traces ON traces.key = trials.current",
        (json.dumps(list(trials)),),
    )
    return {trial: (attempt, digest.hex()) for trial, attempt, digest in rows}


def read_bodies_of_scores(connection: sqlite3.Connection, trials: Iterable[str]) -> dict[str, list[bytes]]:
    """Of current traces, in the order in which one trial's are read. Raises sqlite3.Error."""
    rows = connection.execute(
        f"SELECT trials.id, scores.body {_NAMED}"
        " JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current"
        " ORDER BY trials.key, scores.scorer, scores.version",
        (json.dumps(list(trials)),),
    )
    found: dict[str, list[bytes]] = defaultdict(list)
    for trial, body in rows:
        found[trial].append(body)
    return found


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
