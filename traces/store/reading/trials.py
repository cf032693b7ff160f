"""Which trials a store has, and how far each is."""

import sqlite3
from pathlib import Path

from toolablate.traces.errors import InputError
from toolablate.traces.records import Trial, Verdict

SHOWN_MATCHES = 5

NAMED = "FROM trials JOIN json_each(?) AS named ON named.value = trials.id"
"""Trials by an array of their whole ids."""

PLANNED = "condition NOT IN (SELECT key FROM conditions WHERE parent NOT NULL)"
"""Of a row of `trials`: a plan called for it, and it is no counterfactual."""


def read_finished(connection: sqlite3.Connection, *, planned: bool = True) -> frozenset[str]:
    """Of the trials of plans, or of the counterfactuals."""
    which = PLANNED if planned else f"NOT {PLANNED}"
    rows = connection.execute(f"SELECT id FROM trials WHERE outcome <> 'failed' AND {which}")  # noqa: S608 - our own
    return frozenset(row[0] for row in rows)


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
