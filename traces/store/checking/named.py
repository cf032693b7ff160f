"""Records that are known by an id which follows from what they hold."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any

from pydantic import TypeAdapter

from toolablate.traces.records import Condition, Question, ReplayDesign
from toolablate.traces.store.checking.records import Finding, whole
from toolablate.traces.store.reading.traces import MODEL


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


def designs(connection: sqlite3.Connection) -> Iterator[Finding]:
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
