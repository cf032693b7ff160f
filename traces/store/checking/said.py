"""What was said of finished traces: by scorers, by judges of failures, by people."""

import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import TypeAdapter

from toolablate.traces.records import Diagnosis, Label, Score
from toolablate.traces.store.checking.records import Finding, whole

ANOTHER = "a column does not match its content"


def scores(connection: sqlite3.Connection) -> Iterator[Finding]:
    targets = _targets(connection)

    def damage(score: Score, trial: str, question: int, *stored: Any) -> str:
        if (score.trial, score.scorer, score.scorer_version, score.value, score.verdict) != (trial, *stored):
            return ANOTHER
        if score.target not in ("", targets.get(question, score.target)):
            return "it was made by another answer key than that of its question"
        return ""

    columns = "scorer, version, value, verdict"
    yield from _said(connection, "scores", columns, "score of trial {} by {} {}", Score, damage)


def diagnoses(connection: sqlite3.Connection) -> Iterator[Finding]:
    def damage(diagnosis: Diagnosis, trial: str, _question: int, *stored: Any) -> str:
        return "" if (diagnosis.trial, diagnosis.judge, diagnosis.wording) == (trial, *stored) else ANOTHER

    yield from _said(connection, "diagnoses", "judge, wording", "diagnosis of trial {} by {} {}", Diagnosis, damage)


def labels(connection: sqlite3.Connection) -> Iterator[Finding]:
    def damage(label: Label, trial: str, _question: int, _key: int, person: str) -> str:
        return "" if (label.trial, label.person) == (trial, person) else ANOTHER

    yield from _said(connection, "labels", "said.key, person", "label {1} of trial {0}", Label, damage)


def _said(
    connection: sqlite3.Connection,
    table: str,
    columns: str,
    where: str,
    kind: type[Any],
    damage: Callable[..., str],
) -> Iterator[Finding]:
    """`where` is filled with the id of the trial and the columns; `damage` is given the record, the ids of its trial
    and question, and the columns."""
    adapter = TypeAdapter(kind)
    rows = connection.execute(
        "SELECT coalesce(trials.id, said.trial), said.digest, said.body, trials.id NOT NULL AND"  # noqa: S608 - our words
        " traces.trial IS said.trial AND coalesce(traces.outcome, 'failed') <> 'failed', trials.question,"
        f" {columns} FROM {table} AS said LEFT JOIN trials ON trials.key = said.trial"
        " LEFT JOIN traces ON traces.key = said.trace"
    )
    for trial, digest, body, finished, question, *stored in rows:
        place = where.format(trial, *stored)
        record = whole(connection, adapter, digest, body)
        if isinstance(record, str):
            yield place, record
        elif not finished:
            yield place, "it belongs to no finished trace of its trial"
        else:
            found = damage(record, trial, question, *stored)
            yield (place, found) if found else None


def _targets(connection: sqlite3.Connection) -> dict[int, str]:
    """Identities of answer keys by the keys of their questions."""
    return dict(connection.execute("SELECT key, lower(hex(target)) FROM questions"))
