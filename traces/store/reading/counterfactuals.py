"""The trials that go on from others: which there are, and what came of them, without their events."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from toolablate.traces.records import Resumption
from toolablate.traces.store.content.texts import TextReader, damaged, parse
from toolablate.traces.store.reading.counterfactual import Counterfactual
from toolablate.traces.store.reading.observations import check_scorers

# SQLite fills the bare columns of a max() from the row that holds the maximum: the newest version's score. A
# counterfactual has the question and the model of its parent, by which it is found without a look at all trials, if the
# tables are joined in this order, as CROSS JOIN says.
_COUNTERFACTUALS = """
SELECT conditions.body, conditions.key, trials.id, traces.outcome, scores.value, scores.verdict, scores.body,
    max(scores.version)
FROM conditions
CROSS JOIN trials AS parents ON parents.id = conditions.parent
CROSS JOIN trials ON trials.question = parents.question AND trials.model = parents.model
    AND trials.condition = conditions.key
LEFT JOIN traces ON traces.key = trials.current
LEFT JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current AND traces.outcome <> 'failed'
    AND (:scorers = '[]' OR scores.scorer IN (SELECT value FROM json_each(:scorers)))
WHERE conditions.parent NOT NULL AND {of}
GROUP BY trials.key ORDER BY conditions.key, trials.repeat
"""


def read_counterfactuals(
    connection: sqlite3.Connection, *, scorers: Sequence[str], parent: str | None
) -> dict[str, list[Counterfactual]]:
    """By their parents. Raises InputError for a scorer that is not there or not clear, StoreError, sqlite3.Error."""
    check_scorers(connection, scorers)
    query = _COUNTERFACTUALS.format(of="true" if parent is None else "conditions.parent = :parent")
    rows = connection.execute(query, {"scorers": json.dumps(list(scorers)), "parent": parent})
    reader = TextReader(connection)
    found: dict[str, list[Counterfactual]] = defaultdict(list)
    for _, repeats in groupby(rows.fetchall(), key=itemgetter(1)):
        own = list(repeats)
        resumption = _resumption(own[0][0], reader)
        found[resumption.trial] += [
            Counterfactual(identity, resumption, outcome, value, verdict, _answered(score, reader))
            for _, _, identity, outcome, value, verdict, score, _ in own
        ]
    return dict(found)


def _resumption(condition: bytes, reader: TextReader) -> Resumption:
    """Of a condition's body, of which nothing else is unpacked."""
    try:
        return Resumption.model_validate(reader.unpacked(_fields(condition).get("resumed")), strict=False)
    except ValidationError as error:
        raise damaged(f"a resumption does not hold ({error.errors()[0]['msg']})") from None


def _answered(score: bytes | None, reader: TextReader) -> tuple[str, ...]:
    found = [] if score is None else reader.unpacked(_fields(score).get("extracted", []))
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _fields(body: bytes) -> dict[str, Any]:
    fields = parse(body)
    if not isinstance(fields, dict):
        raise damaged("a record is no object")
    return fields


def read_resumptions(connection: sqlite3.Connection, trial: str) -> list[tuple[bytes, list[str]]]:
    """The bodies of the conditions whose trials go on from this one, each with the ids of these, in the order of their
    repeats. They have its question and its model, by which they are found. Raises sqlite3.Error."""
    found: dict[int, tuple[bytes, list[str]]] = {}
    for key, body, identity in connection.execute(
        "SELECT conditions.key, conditions.body, trials.id FROM conditions"
        " JOIN trials AS parents ON parents.id = conditions.parent"
        " JOIN trials ON trials.question = parents.question AND trials.model = parents.model"
        " AND trials.condition = conditions.key"
        " WHERE conditions.parent = ? ORDER BY conditions.key, trials.repeat",
        (trial,),
    ):
        found.setdefault(key, (body, []))[1].append(identity)
    return list(found.values())
