"""Wrong trials in the index: what is said of each, which of them are still to be read, and their clusters."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from toolablate.analysis.clusters import Cluster, Clustered, tokens_of
from toolablate.analysis.comparison import METADATA
from toolablate.analysis.failures import KEYS, Failure, Failures, Metadata, metadata_keys, words_of
from toolablate.analysis.pairing import Unit
from toolablate.viewer.index.file import fact, state

KEPT_CHARS = 1_000
"""Of an answer, what is expected, and what is said at the event."""

_WRONG = "trials.value < 0.5 AND trials.outcome <> 'failed'"
_SAME = "failures.trace = trials.trace AND failures.scores = trials.scores AND failures.turned_at IS trials.turned_at"
_CLUSTERS = TypeAdapter(tuple[Cluster, ...])
_SIDES = {"right_to_wrong": "right", "both_right": "right", "wrong_to_right": "wrong", "both_wrong": "wrong"}


class AskedQuestion:
    """What failures are grouped by that is one for all trials of a question."""

    def __init__(self, row: Sequence[Any]) -> None:
        self.id, self.question, self.domain, self.difficulty, self.language, self.kind, unit, metadata = row
        self.unit: Unit = ("cluster", unit) if unit else ("question", self.question)
        self.metadata: Metadata = tuple((name, tuple(values)) for name, values in json.loads(metadata))

    def values(self, key: str) -> tuple[str, ...]:
        """As those of `Failure`, of keys that are the question's."""
        if key.startswith(METADATA):
            return self._by_name.get(key.removeprefix(METADATA), ("",))
        own: str = getattr(self, key)
        return (own,)

    @cached_property
    def _by_name(self) -> Mapping[str, tuple[str, ...]]:
        return dict(self.metadata)


class FailureRow(NamedTuple):
    """A wrong trial, as it is grouped; its texts are read where it is shown. `key` is its own in the index."""

    key: int
    trial: str
    asked: AskedQuestion
    model: str
    condition: str
    repeat: int
    verdict: str
    flip: str
    mechanism: str
    turned_at: int | None
    relation: str
    cluster: str

    @property
    def unit(self) -> Unit:
        return self.asked.unit

    @property
    def metadata(self) -> Metadata:
        return self.asked.metadata

    def values(self, key: str) -> tuple[str, ...]:
        """As those of `Failure`."""
        return (getattr(self, key),) if key in FailureRow._fields else self.asked.values(key)


class FailureTexts(NamedTuple):
    """Of one of them, cut."""

    answer: str
    expected: str
    said: str


def failures(connection: sqlite3.Connection) -> Failures[FailureRow]:
    """All that are read, in the order of the benchmark."""
    asked = {
        row[0]: AskedQuestion(row[1:])
        for row in connection.execute(
            "SELECT key, id, name, domain, difficulty, language, kind, unit, metadata FROM questions ORDER BY place"
        )
    }
    models, conditions, places = (
        dict(connection.execute(query))
        for query in (
            "SELECT key, name FROM models",
            "SELECT key, name FROM conditions",
            "SELECT name, place FROM conditions",
        )
    )
    rows = connection.execute(
        "SELECT question, model, condition, trials.key, trials.id, repeat, coalesce(verdict, ''), coalesce(flip, ''),"  # noqa: S608
        " coalesce(mechanism, ''), trials.turned_at, relation, cluster"
        " FROM failures CROSS JOIN trials ON trials.key = failures.trial JOIN questions ON questions.key = question"
        " JOIN models ON models.key = model JOIN conditions ON conditions.key = condition"
        f" WHERE {_WRONG} ORDER BY questions.place, models.name, conditions.place, repeat"
    )
    found = [
        FailureRow(
            *(key, trial, asked[question], models[model], conditions[condition], repeat, verdict),
            *(_SIDES.get(flip, ""), *rest),
        )
        for question, model, condition, key, trial, repeat, verdict, flip, *rest in rows
    ]
    counting, unscored = connection.execute(
        "SELECT sum(outcome <> 'failed' AND value NOT NULL), sum(outcome = 'failed' OR value IS NULL) FROM trials"
    ).fetchone()
    named = sorted({row.condition for row in found}, key=places.__getitem__)
    simulated = connection.execute("SELECT 1 FROM models WHERE simulated").fetchone() is not None
    wrong = len(found) + unread_failures(connection)
    clusters = _CLUSTERS.validate_json(fact(connection, "clusters") or "[]")
    baseline = fact(connection, "baseline") or ""
    return Failures(*(tuple(found), counting or 0, tuple(named), baseline, unscored or 0, simulated, wrong, clusters))


def values_of(found: Failures[FailureRow], most: int) -> dict[str, dict[str, int]]:
    """By key how many failures have each value; without keys of more values than so many."""
    by_question = Counter(row.asked for row in found.failures)
    made = {}
    for key in (*KEYS, *(f"{METADATA}{name}" for name in metadata_keys(found.failures))):
        counts = Counter[str]()
        if key in FailureRow._fields:
            counts.update(map(attrgetter(key), found.failures))
        else:
            for asked, number in by_question.items():
                for value in asked.values(key):
                    counts[value] += number
        if len(counts) <= most:
            made[key] = dict(counts)
    return made


def failure_texts(connection: sqlite3.Connection, keys: Sequence[int]) -> dict[int, FailureTexts]:
    rows = connection.execute(
        "SELECT trial, answer, expected, said FROM failures WHERE trial IN (SELECT value FROM json_each(?))",
        (json.dumps(list(keys)),),
    )
    return {key: FailureTexts(*texts) for key, *texts in rows}


# What is still to be read, and what is made of it.


def unread_failures(connection: sqlite3.Connection) -> int:
    """Wrong trials of which nothing is known yet."""
    (number,) = connection.execute(
        f"SELECT count(*) FROM trials WHERE {_WRONG} AND key NOT IN (SELECT trial FROM failures)"  # noqa: S608
    ).fetchone()
    return int(number)


def to_describe(connection: sqlite3.Connection, most: int) -> dict[str, int | None]:
    """Wrong trials that are not read as they are now, each with the event where it turned."""
    rows = connection.execute(
        f"SELECT trials.id, trials.turned_at FROM trials LEFT JOIN failures ON failures.trial = trials.key AND {_SAME}"  # noqa: S608
        f" WHERE {_WRONG} AND failures.trial IS NULL LIMIT ?",
        (most,),
    )
    return dict(rows.fetchall())


def questions_of(connection: sqlite3.Connection, trials: Iterable[str]) -> dict[str, str]:
    rows = connection.execute(
        "SELECT trials.id, questions.id FROM trials JOIN questions ON questions.key = trials.question"
        " WHERE trials.id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(trials)),),
    )
    return dict(rows.fetchall())


def put_failures(connection: sqlite3.Connection, said: Iterable[Failure]) -> None:
    connection.execute(
        f"DELETE FROM failures WHERE trial NOT IN (SELECT key FROM trials WHERE {_WRONG})"  # noqa: S608 - our own words
    )
    connection.executemany(
        "INSERT OR REPLACE INTO failures (trial, trace, scores, turned_at, relation, answer, expected, said)"
        " SELECT key, trace, scores, ?2, ?3, ?4, ?5, ?6 FROM trials WHERE id = ?1",
        (
            (each.trial, each.turned_at, *map(_cut, (each.relation, each.answer, each.expected, each.said)))
            for each in said
        ),
    )
    state(connection, "described", str(int(fact(connection, "described") or 0) + 1))


def to_cluster(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """The words of each, by trial."""
    asked = {key: frozenset(tokens_of(text)) for key, text in connection.execute("SELECT question, folded FROM asked")}
    rows = connection.execute(
        "SELECT trials.id, question, said, failures.answer FROM failures JOIN trials ON trials.key = failures.trial"
    )
    return {trial: words_of(said, answer, asked.get(question, ())) for trial, question, said, answer in rows}


def words_said(connection: sqlite3.Connection, trial: str) -> list[str]:
    """Of one of them; none of a trial that is not wrong, or not read."""
    row = connection.execute(
        "SELECT said, failures.answer, folded FROM failures JOIN trials ON trials.key = failures.trial"
        " JOIN asked ON asked.question = trials.question WHERE trials.id = ?",
        (trial,),
    ).fetchone()
    return words_of(row[0], row[1], frozenset(tokens_of(row[2]))) if row else []


def put_clusters(connection: sqlite3.Connection, found: Clustered, *, made_of: str) -> None:
    connection.executemany(
        "UPDATE failures SET cluster = ?2 WHERE trial = (SELECT key FROM trials WHERE id = ?1) AND cluster <> ?2",
        found.of.items(),
    )
    state(connection, "clusters", _CLUSTERS.dump_json(found.clusters).decode())
    state(connection, "clustered", made_of)


def unclustered(connection: sqlite3.Connection) -> str:
    """What clusters are to be made of, "" where they are made of it already, or more is to be read first."""
    described = fact(connection, "described") or ""
    if described == (fact(connection, "clustered") or "") or to_describe(connection, 1):
        return ""
    return described


def _cut(text: str) -> str:
    return text[:KEPT_CHARS].encode(errors="replace").decode()
