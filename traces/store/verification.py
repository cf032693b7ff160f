"""Checks a store against itself: every digest, reference and id is derived again from the content."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from toolablate.traces.database import MAX_PROBLEMS, Problem, structure_problems
from toolablate.traces.errors import StoreError
from toolablate.traces.records import (
    Condition,
    Diagnosis,
    Label,
    Question,
    Record,
    ReplayDesign,
    Run,
    Score,
    Trace,
    Trial,
    digest_json,
    digest_text,
)
from toolablate.traces.store.digests import (
    combined_digest,
    content_digest,
    header_content,
    listing_digest,
    read_tallies,
    tallies,
)
from toolablate.traces.store.file import open_reader, reading
from toolablate.traces.store.texts import TextReader, decode
from toolablate.traces.store.trials import MODEL, TRACE_QUERY, read_events, read_header, read_unscored

Finding = tuple[str, str] | None
"""None for a thing that holds, or where the damage is and what it is."""

Check = Callable[[sqlite3.Connection], Iterator[Finding]]


def whole(connection: sqlite3.Connection, kind: TypeAdapter[Any], digest: bytes, body: bytes) -> Record | str:
    """The record of a body whose digest holds, or what is wrong with it."""
    try:
        content = TextReader(connection).unpack(body)
    except StoreError as error:
        return error.message
    if content_digest(content) != digest:
        return "its content does not match its digest"
    try:
        record: Record = kind.validate_python(content)
    except ValidationError as error:
        return f"it is no valid record ({error.errors()[0]['msg']})"
    return record


# Records that are known by an id which follows from what they hold.


def check_questions(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = (
        "SELECT id, digest, body, json_array(name, domain, difficulty, language, cluster, lower(hex(target)))"
        " FROM questions"
    )
    yield from _named(connection, "question", TypeAdapter(Question), query, _question_fits)


def check_models(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = "SELECT id, digest, body, json_array(name, simulated) FROM models"
    yield from _named(connection, "model", MODEL, query, _model_fits)


def check_conditions(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = "SELECT id, digest, body, json_array(name, parent) FROM conditions"
    yield from _named(connection, "condition", TypeAdapter(Condition), query, _condition_fits)


def check_designs(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = "SELECT id, digest, body, json_array() FROM designs"
    yield from _named(connection, "replay design", TypeAdapter(ReplayDesign), query, lambda *_: True)


def _question_fits(question: Question, stored: list[Any]) -> bool:
    return stored == [
        question.id,
        question.domain,
        question.difficulty,
        question.language,
        question.cluster,
        question.key_identity(),
    ]


def _condition_fits(condition: Condition, stored: list[Any]) -> bool:
    return stored == [condition.name, condition.resumed.trial if condition.resumed else None]


def _model_fits(model: Any, stored: list[Any]) -> bool:
    return stored == [model.name, int(model.provider == "simulated")]


def _named(
    connection: sqlite3.Connection,
    what: str,
    kind: TypeAdapter[Any],
    query: str,
    fits: Callable[[Any, list[Any]], bool],
) -> Iterator[Finding]:
    for identity, digest, body, stored in connection.execute(query):
        where = f"{what} {identity}"
        record = whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield where, record
        elif record.identity() != identity:
            yield where, f"its id does not follow from its content, which has the id {record.identity()}"
        elif not fits(record, json.loads(stored)):
            yield where, "a column does not match its content"
        else:
            yield None


# Runs, and the trials that each planned.


def check_runs(connection: sqlite3.Connection) -> Iterator[Finding]:
    kind = TypeAdapter(Run)
    for key, identity, planned, listed, digest, body in connection.execute(
        "SELECT key, id, trials, listed, digest, body FROM runs"
    ):
        ids = [
            trial
            for (trial,) in connection.execute(
                "SELECT trials.id FROM run_trials LEFT JOIN trials ON trials.key = trial WHERE run = ? ORDER BY trial",
                (key,),
            )
        ]
        record = whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield f"run {identity}", record
        elif isinstance(record, Run) and record.id != identity:
            yield f"run {identity}", f"its content is that of run {record.id}"
        elif planned != len(ids):
            yield f"run {identity}", f"it planned {planned} trials, of which {len(ids)} are listed"
        elif listing_digest(map(str, ids)) != listed:
            yield f"run {identity}", "the trials that are listed are not those that it planned"
        else:
            yield None


# What was said of finished traces: by scorers, by judges of failures, by people.


ANOTHER = "a column does not match its content"


def check_scores(connection: sqlite3.Connection) -> Iterator[Finding]:
    targets = _targets(connection)

    def damage(score: Score, trial: str, question: int, *stored: Any) -> str:
        if (score.trial, score.scorer, score.scorer_version, score.value, score.verdict) != (trial, *stored):
            return ANOTHER
        if score.target not in ("", targets.get(question, score.target)):
            return "it was made by another answer key than that of its question"
        return ""

    columns = "scorer, version, value, verdict"
    yield from _said(connection, "scores", columns, "score of trial {} by {} {}", Score, damage)


def check_diagnoses(connection: sqlite3.Connection) -> Iterator[Finding]:
    def damage(diagnosis: Diagnosis, trial: str, _question: int, *stored: Any) -> str:
        return "" if (diagnosis.trial, diagnosis.judge, diagnosis.wording) == (trial, *stored) else ANOTHER

    yield from _said(connection, "diagnoses", "judge, wording", "diagnosis of trial {} by {} {}", Diagnosis, damage)


def check_labels(connection: sqlite3.Connection) -> Iterator[Finding]:
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


# Pages, texts and references: what all else stands on.


def check_structure(connection: sqlite3.Connection) -> Iterator[Finding]:
    return structure_problems(connection, "database")


def check_texts(connection: sqlite3.Connection) -> Iterator[Finding]:
    for key, digest, encoding, body in connection.execute("SELECT key, digest, encoding, body FROM texts"):
        try:
            held = bytes.fromhex(digest_text(decode(key, encoding, body))) == digest
        except StoreError as error:
            yield f"text {key}", error.message
            continue
        yield None if held else (f"text {key}", "its content does not match its digest")


def check_claims(connection: sqlite3.Connection) -> Iterator[Finding]:
    """One whose recorder was killed is no damage: it counts for nothing."""
    rows = connection.execute(
        "SELECT claims.trial, traces.trial IS claims.trial AND traces.outcome IS NULL FROM claims"
        " LEFT JOIN traces ON traces.key = claims.trace"
    )
    for trial, holds in rows:
        yield None if holds else (f"claim of trial {trial}", "its attempt is another trial's, or has ended")


def check_orphans(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Rows whose owner is gone: without it the joins of the other checks do not meet them."""
    rows = connection.execute("SELECT DISTINCT trace FROM events WHERE trace NOT IN (SELECT key FROM traces)")
    yield from ((f"events of trace {key}", "their trace is missing") for (key,) in rows)
    rows = connection.execute("SELECT key FROM traces WHERE trial NOT IN (SELECT key FROM trials)")
    yield from ((f"trace {key}", "its trial is missing") for (key,) in rows)
    (held,) = connection.execute("SELECT count(*) FROM parts").fetchone()
    (wanted,) = connection.execute("SELECT coalesce(sum(parts), 0) FROM blocks").fetchone()
    if held != wanted:
        yield "parts", f"there are {held} where blocks have {wanted}"


# Trials, and the traces of their attempts with every event.


READER_TRACES = 50


def check_trials(connection: sqlite3.Connection) -> Iterator[Finding]:
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


def check_traces(connection: sqlite3.Connection) -> Iterator[Finding]:
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


CHECKS: tuple[tuple[str, Check], ...] = (
    ("structure", check_structure),
    ("texts", check_texts),
    ("questions", check_questions),
    ("models", check_models),
    ("conditions", check_conditions),
    ("trials", check_trials),
    ("traces", check_traces),
    ("claims", check_claims),
    ("orphans", check_orphans),
    ("scores", check_scores),
    ("runs", check_runs),
    ("designs", check_designs),
    ("diagnoses", check_diagnoses),
    ("labels", check_labels),
)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was found. `checked` counts what was looked at, by its kind.

    `unfinished` (trials begun, without an end), `pending` (planned, never begun), `failed` and `unscored` trials are
    how a run stands, not damage.
    """

    path: str
    checked: dict[str, int]
    problems: tuple[Problem, ...]
    planned: int = 0
    finished: int = 0
    failed: int = 0
    unfinished: int = 0
    pending: int = 0
    unscored: int = 0

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(slots=True)
class _Findings:
    checked: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


_STANDING = """
SELECT CASE WHEN traces.outcome IN ('answered', 'budget') THEN 'finished' WHEN traces.outcome = 'failed' THEN 'failed'
    WHEN EXISTS (SELECT 1 FROM traces AS begun WHERE begun.trial = trials.key) THEN 'unfinished' ELSE 'pending' END,
    count(*)
FROM trials LEFT JOIN traces ON traces.key = trials.current GROUP BY 1
"""

_UNREADABLE = {"corrupt": "is damaged so far that it cannot be opened as a store", "changed_layout": ""}
"""What keeps a store from being read at all, and is told as a problem of it."""


def verify(path: str | PathLike[str]) -> VerifyReport:
    """Checks the whole store, reading only. Raises StoreError where it is no store that could be opened."""
    store = Path(path)
    try:
        connection = open_reader(store)
    except StoreError as error:
        if error.code not in _UNREADABLE:
            raise
        return VerifyReport(str(store), {}, (Problem("file", _UNREADABLE[error.code] or error.message),))
    found = _Findings()
    try:
        # One moment of the store, whatever a recorder adds meanwhile.
        with reading(store):
            connection.execute("BEGIN")
        for name, check in CHECKS:
            _run(connection, name, check, found)
        standing = _standing(connection)
    finally:
        connection.close()
    return VerifyReport(str(store), found.checked, tuple(found.problems), **standing)


def _run(connection: sqlite3.Connection, name: str, check: Check, found: _Findings) -> None:
    checked = 0
    try:
        for problem in check(connection):
            if problem is None:
                checked += 1
            elif len(found.problems) < MAX_PROBLEMS:
                found.problems.append(Problem(*problem))
            elif len(found.problems) == MAX_PROBLEMS:
                found.problems.append(Problem(name, f"and more: only the first {MAX_PROBLEMS} problems are listed"))
    except Exception as error:  # noqa: BLE001 - a damaged file holds anything anywhere, and this is what finds it
        found.problems.append(Problem(name, f"cannot be read to the end: {error}"))
    found.checked[name] = checked


def _standing(connection: sqlite3.Connection) -> dict[str, int]:
    try:
        rows = dict(connection.execute(_STANDING))
        unscored = len(read_unscored(connection))
    except (sqlite3.Error, UnicodeDecodeError, TypeError):
        return {}  # the file is too damaged to count in, which is among the problems already
    return {**rows, "planned": sum(rows.values()), "unscored": unscored}
