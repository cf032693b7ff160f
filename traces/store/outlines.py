"""What is known of many trials without reading whole traces."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Verdict
from toolablate.traces.store.content.blocks import expand_row, read_block
from toolablate.traces.store.content.texts import MARK, TextReader, damaged, parse
from toolablate.traces.store.files.errors import reading
from toolablate.traces.store.reading.opened import Opened
from toolablate.traces.store.reading.runs import run_key
from toolablate.traces.store.reading.traces import read_events
from toolablate.traces.store.reading.trials import NAMED

_OUTLINES = """
SELECT trials.id, questions.id, models.id, models.name, conditions.id, conditions.name,
    coalesce(hex(traces.digest), ''), coalesce(traces.seconds, 0.0),
    coalesce((SELECT group_concat(hex(scores.digest), '') FROM scores
        WHERE scores.trial = trials.key AND scores.trace = trials.current), '')
FROM trials LEFT JOIN traces ON traces.key = trials.current
JOIN questions ON questions.key = trials.question JOIN models ON models.key = trials.model
JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL
WHERE ?1 IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = ?1)
ORDER BY trials.question, trials.key
"""


@dataclass(frozen=True, slots=True)
class Outline:
    """A trial of a plan. `question`, `model` and `condition` are ids; names may be shared by others.

    `trace` is the digest of its current trace, "" where none has ended, and `scores` those of that trace's scores: they
    are equal where nothing has changed, in copies of a store too. `seconds` is how long the trace took.
    """

    trial: str
    question: str
    model: str
    model_name: str
    condition: str
    condition_name: str
    trace: str
    seconds: float
    scores: str


class Outlines(Opened):
    """Reads a store as Store does, with the same errors."""

    def trials(self, *, run: str | None = None) -> list[Outline]:
        """Those of all plans or of one run, in the order of their questions. Raises InputError where there is no such
        run."""
        with reading(self.path):
            key = None if run is None else run_key(self._connection, run)
            rows = self._connection.execute(_OUTLINES, (key,)).fetchall()
        return list(starmap(Outline, rows))

    def extracted(self, trials: Iterable[str]) -> dict[str, list[tuple[Verdict, tuple[str, ...]]]]:
        """What scorers read from the replies of these trials, with the verdict of each; older versions first.
        Without what is damaged."""
        found: dict[str, list[tuple[Verdict, tuple[str, ...]]]] = {}
        with reading(self.path):
            rows = self._connection.execute(
                f"SELECT trials.id, scores.verdict, scores.body {NAMED}"
                " JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current"
                " ORDER BY trials.key, scores.version",
                (json.dumps(list(trials)),),
            )
            for trial, verdict, body in rows:
                with suppress(StoreError):
                    answer = TextReader(self._connection).unpacked(parse(body).get("extracted", []))
                    found.setdefault(trial, []).append((verdict, tuple(answer)))
        return found

    def called(self, trials: Iterable[str]) -> dict[str, Mapping[str, int]]:
        """The tools that each of these trials called in its current trace, in the order of their first calls, each with
        how many times; without traces that are damaged. Of a trace nothing but that is unpacked."""
        with reading(self.path):
            rows = self._connection.execute(
                f"SELECT trials.id, trials.current {NAMED} WHERE trials.current NOT NULL ORDER BY trials.key",
                (json.dumps(list(trials)),),
            ).fetchall()
            found: dict[str, Mapping[str, int]] = {}
            for trial, trace in rows:
                with suppress(StoreError):
                    found[trial] = Counter(_called(self._connection, trace))
        return found


def _called(connection: sqlite3.Connection, trace: int) -> list[str]:
    block = read_block(connection, trace)
    if block is None:
        rows = connection.execute(
            "SELECT body FROM events WHERE trace = ? AND kind = 'tool_call' ORDER BY seq", (trace,)
        )
        events = [parse(expand_row(body)) for (body,) in rows]
    else:
        events = parse(block)
    try:
        names = [event["call"]["name"] for event in events if block is None or event["kind"] == "tool_call"]
        if not any(name.startswith(MARK) for name in names):
            return names
    except (KeyError, TypeError, AttributeError):
        raise damaged(f"trace {trace} has an event that is none") from None
    whole = read_events(connection, trace, TextReader(connection))
    return [event["call"]["name"] for event in whole if event["kind"] == "tool_call"]
