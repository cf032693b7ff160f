"""The checks of `verify`. Each yields None for a thing that holds, or where the damage is and what it is."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import TypeAdapter, ValidationError

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
from toolablate.traces.store._digests import combined_digest, content_digest, header_content, listing_digest
from toolablate.traces.store._tallies import read_tallies, tallies
from toolablate.traces.store._texts import TextReader, decode
from toolablate.traces.store._traces import MODEL, TRACE_QUERY, read_events, read_header

Finding = tuple[str, str] | None
Check = Callable[[sqlite3.Connection], Iterator[Finding]]

READER_TRACES = 50

STANDING = """
SELECT CASE WHEN traces.outcome IN ('answered', 'budget') THEN 'finished' WHEN traces.outcome = 'failed' THEN 'failed'
    WHEN EXISTS (SELECT 1 FROM traces AS begun WHERE begun.trial = trials.key) THEN 'unfinished' ELSE 'pending' END,
    count(*)
FROM trials LEFT JOIN traces ON traces.key = trials.current GROUP BY 1
"""


def structure(connection: sqlite3.Connection) -> Iterator[Finding]:
    """SQLite's own view: pages, indexes, foreign keys."""
    for (line,) in connection.execute("PRAGMA integrity_check"):
        yield None if line == "ok" else ("database", str(line))
    for table, row, parent, _ in connection.execute("PRAGMA foreign_key_check"):
        yield f"{table} row {row}", f"refers to a row of {parent} that is not there"


def texts(connection: sqlite3.Connection) -> Iterator[Finding]:
    for key, digest, encoding, body in connection.execute("SELECT key, digest, encoding, body FROM texts"):
        try:
            held = bytes.fromhex(digest_text(decode(key, encoding, body))) == digest
        except StoreError as error:
            yield f"text {key}", error.message
            continue
        yield None if held else (f"text {key}", "its content does not match its digest")


def questions(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = (
        "SELECT id, digest, body, json_array(name, domain, difficulty, language, cluster, lower(hex(target)))"
        " FROM questions"
    )
    yield from _named(connection, "question", TypeAdapter(Question), query, _question_fits)


def models(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = "SELECT id, digest, body, json_array(name, simulated) FROM models"
    yield from _named(connection, "model", MODEL, query, _model_fits)


def conditions(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = "SELECT id, digest, body, json_array(name, parent) FROM conditions"
    yield from _named(connection, "condition", TypeAdapter(Condition), query, _condition_fits)


def _question_fits(question: Question, stored: list[Any]) -> bool:
    *labels, target = stored
    return labels == [
        question.id,
        question.domain,
        question.difficulty,
        question.language,
        question.cluster,
    ] and target in ("", question.key_identity())


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
        record = _whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield where, record
        elif record.identity() != identity:
            yield where, f"its id does not follow from its content, which has the id {record.identity()}"
        elif not fits(record, json.loads(stored)):
            yield where, "a column does not match its content"
        else:
            yield None


def _whole(connection: sqlite3.Connection, kind: TypeAdapter[Any], digest: bytes, body: bytes) -> Record | str:
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


def trials(connection: sqlite3.Connection) -> Iterator[Finding]:
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


def traces(connection: sqlite3.Connection) -> Iterator[Finding]:
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


def claims(connection: sqlite3.Connection) -> Iterator[Finding]:
    """One whose recorder was killed is no damage: it counts for nothing."""
    rows = connection.execute(
        "SELECT claims.trial, traces.trial IS claims.trial AND traces.outcome IS NULL FROM claims"
        " LEFT JOIN traces ON traces.key = claims.trace"
    )
    for trial, holds in rows:
        yield None if holds else (f"claim of trial {trial}", "its attempt is another trial's, or has ended")


def orphans(connection: sqlite3.Connection) -> Iterator[Finding]:
    """Rows whose owner is gone: without it the joins of the other checks do not meet them."""
    rows = connection.execute("SELECT DISTINCT trace FROM events WHERE trace NOT IN (SELECT key FROM traces)")
    yield from ((f"events of trace {key}", "their trace is missing") for (key,) in rows)
    rows = connection.execute("SELECT key FROM traces WHERE trial NOT IN (SELECT key FROM trials)")
    yield from ((f"trace {key}", "its trial is missing") for (key,) in rows)
    (held,) = connection.execute("SELECT count(*) FROM parts").fetchone()
    (wanted,) = connection.execute("SELECT coalesce(sum(parts), 0) FROM blocks").fetchone()
    if held != wanted:
        yield "parts", f"there are {held} where blocks have {wanted}"


def scores(connection: sqlite3.Connection) -> Iterator[Finding]:
    kind = TypeAdapter(Score)
    targets = _targets(connection)
    rows = connection.execute(
        "SELECT scores.trial, scorer, version, value, verdict, scores.digest, scores.body, trials.id, traces.trial,"
        " traces.outcome, trials.question FROM scores LEFT JOIN trials ON trials.key = scores.trial"
        " LEFT JOIN traces ON traces.key = scores.trace"
    )
    for trial, scorer, version, value, verdict, digest, body, identity, scored, outcome, question in rows:
        where = f"score of trial {identity or trial} by {scorer} {version}"
        record = _whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield where, record
        elif identity is None or scored != trial or outcome in (None, "failed"):
            yield where, "it belongs to no finished trace of its trial"
        elif _score_columns(record) != (identity, scorer, version, value, verdict):
            yield where, "a column does not match its content"
        elif isinstance(record, Score) and record.target not in ("", targets.get(question, record.target)):
            yield where, "it was made by another answer key than that of its question"
        else:
            yield None


def _targets(connection: sqlite3.Connection) -> dict[int, str]:
    """Identities of targets by the keys of their questions, without those of questions that are damaged.

    An older toolablate kept a target in the question alone.
    """
    targets = dict(connection.execute("SELECT key, lower(hex(target)) FROM questions WHERE target NOT NULL"))
    kind = TypeAdapter(Question)
    for key, digest, body in connection.execute("SELECT key, digest, body FROM questions WHERE target IS NULL"):
        question = _whole(connection, kind, digest, body)
        if isinstance(question, Question):
            targets[key] = question.key_identity()
    return targets


def _score_columns(score: Any) -> tuple[Any, ...]:
    return score.trial, score.scorer, score.scorer_version, score.value, score.verdict


def designs(connection: sqlite3.Connection) -> Iterator[Finding]:
    query = "SELECT id, digest, body, json_array() FROM designs"
    yield from _named(connection, "replay design", TypeAdapter(ReplayDesign), query, lambda *_: True)


def diagnoses(connection: sqlite3.Connection) -> Iterator[Finding]:
    kind = TypeAdapter(Diagnosis)
    rows = connection.execute(
        "SELECT diagnoses.trial, judge, wording, diagnoses.digest, diagnoses.body, trials.id, traces.trial,"
        " traces.outcome FROM diagnoses LEFT JOIN trials ON trials.key = diagnoses.trial"
        " LEFT JOIN traces ON traces.key = diagnoses.trace"
    )
    for trial, judge, wording, digest, body, identity, read, outcome in rows:
        where = f"diagnosis of trial {identity or trial} by {judge} {wording}"
        record = _whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield where, record
        elif identity is None or read != trial or outcome in (None, "failed"):
            yield where, "it belongs to no finished trace of its trial"
        elif isinstance(record, Diagnosis) and (record.trial, record.judge, record.wording) != (
            identity,
            judge,
            wording,
        ):
            yield where, "a column does not match its content"
        else:
            yield None


def labels(connection: sqlite3.Connection) -> Iterator[Finding]:
    kind = TypeAdapter(Label)
    rows = connection.execute(
        "SELECT labels.key, labels.trial, person, labels.digest, labels.body, trials.id, traces.trial, traces.outcome"
        " FROM labels LEFT JOIN trials ON trials.key = labels.trial LEFT JOIN traces ON traces.key = labels.trace"
    )
    for key, trial, person, digest, body, identity, read, outcome in rows:
        where = f"label {key} of trial {identity or trial}"
        record = _whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield where, record
        elif identity is None or read != trial or outcome in (None, "failed"):
            yield where, "it belongs to no finished trace of its trial"
        elif isinstance(record, Label) and (record.trial, record.person) != (identity, person):
            yield where, "a column does not match its content"
        else:
            yield None


def runs(connection: sqlite3.Connection) -> Iterator[Finding]:
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
        record = _whole(connection, kind, digest, body)
        if isinstance(record, str):
            yield f"run {identity}", record
        elif isinstance(record, Run) and record.id != identity:
            yield f"run {identity}", f"its content is that of run {record.id}"
        elif planned != len(ids):
            yield f"run {identity}", f"it planned {planned} trials, of which {len(ids)} are listed"
        elif listed is not None and listing_digest(map(str, ids)) != listed:
            yield f"run {identity}", "the trials that are listed are not those that it planned"
        else:
            yield None


CHECKS: tuple[tuple[str, Check], ...] = (
    ("structure", structure),
    ("texts", texts),
    ("questions", questions),
    ("models", models),
    ("conditions", conditions),
    ("trials", trials),
    ("traces", traces),
    ("claims", claims),
    ("orphans", orphans),
    ("scores", scores),
    ("runs", runs),
    ("designs", designs),
    ("diagnoses", diagnoses),
    ("labels", labels),
)
