"""Rows of the index as what pages show."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, get_args

from toolablate.analysis.pairing import mean
from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.traces.records import Mechanism
from toolablate.viewer.index.file import fact
from toolablate.viewer.index.ordering import level, natural
from toolablate.viewer.index.records import ArmCounts, Facets, Glance, QuestionRow, TrialRow
from toolablate.viewer.index.selecting import trials_where

ANSWER_CHARS = 200

_TRIALS = """
SELECT trials.question, trials.flip, trials.id, questions.id, models.name, conditions.name, trials.repeat,
    trials.outcome, trials.value, trials.verdict, substr(answers.text, 1, {answer}), toolsets.names, trials.calls,
    trials.tokens, trials.cost_usd, trials.seconds, trials.mechanism, trials.distraction, trials.method,
    trials.confidence, trials.turned_at, trials.label
FROM trials JOIN questions ON questions.key = trials.question JOIN models ON models.key = trials.model
JOIN conditions ON conditions.key = trials.condition JOIN answers ON answers.key = trials.answer
LEFT JOIN toolsets ON toolsets.key = trials.toolset
WHERE {where}
ORDER BY trials.question, models.place, conditions.place, trials.repeat, trials.key
"""
_PLACES = """
SELECT trials.id, models.place, conditions.place, trials.repeat, trials.key FROM trials
JOIN models ON models.key = trials.model JOIN conditions ON conditions.key = trials.condition
"""


def version(connection: sqlite3.Connection) -> int:
    return int(fact(connection, "version") or 0)


def arms(connection: sqlite3.Connection) -> tuple[ArmCounts, ...]:
    rows = connection.execute(
        "SELECT models.name, conditions.name, planned, ended, running, questions, score, endings, tokens, cost_usd"
        " FROM arms JOIN models ON models.key = arms.model JOIN conditions ON conditions.key = arms.condition"
        " ORDER BY models.place, conditions.place"
    )
    return tuple(ArmCounts(*(*row[:7], json.loads(row[7]), *row[8:])) for row in rows)


def question_rows(connection: sqlite3.Connection, keys: Sequence[int]) -> tuple[QuestionRow, ...]:
    """With all their trials, whether those are selected or not."""
    wanted = json.dumps(list(keys))
    columns = "key, id, name, domain, difficulty, language, text"
    among = "IN (SELECT value FROM json_each(?))"
    found = connection.execute(f"SELECT {columns} FROM questions WHERE key {among}", (wanted,))  # noqa: S608
    said = {row[0]: row[1:] for row in found}
    rows = list(_trials(connection, f"trials.question {among}", (wanted,)))
    glances = {key: tuple(_glances(of_one)) for key, of_one in groupby(rows, key=lambda row: row[0])}
    return tuple(QuestionRow(*(*said[key], glances.get(key, ()))) for key in keys)


def trials_that_begin(connection: sqlite3.Connection, prefix: str) -> list[TrialRow]:
    """At most two."""
    found = connection.execute(
        "SELECT id FROM trials WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT 2", (prefix,)
    ).fetchall()
    return [row for (trial,) in found for _, _, row in _trials(connection, "trials.id = ?", (trial,))]


def neighbours(
    connection: sqlite3.Connection,
    trial: str,
    questions: Sequence[int],
    selection: Selection,
    order: Sequence[int],
) -> tuple[str | None, str | None]:
    """Among the selected trials of these questions; `order` has these in their order, and maybe others between them."""
    found = connection.execute("SELECT question FROM trials WHERE id = ?", (trial,)).fetchone()
    if found is None or found[0] not in order:
        return None, None
    here, chosen = order.index(found[0]), frozenset(questions)
    (this,) = connection.execute(f"{_PLACES} WHERE trials.id = ?", (trial,))
    beside = _selected(connection, order[here], selection)
    before = [row[0] for row in beside if row[1:] < this[1:]]
    after = [row[0] for row in beside if row[1:] > this[1:]]
    if not before:
        earlier = next((key for key in reversed(order[:here]) if key in chosen), None)
        before = [] if earlier is None else [row[0] for row in _selected(connection, earlier, selection)]
    if not after:
        later = next((key for key in order[here + 1 :] if key in chosen), None)
        after = [] if later is None else [row[0] for row in _selected(connection, later, selection)]
    return (before[-1] if before else None), (after[0] if after else None)


def first(connection: sqlite3.Connection, questions: Sequence[int], selection: Selection) -> str | None:
    """The id of the first selected trial of these questions, which are those selected, in order."""
    return _selected(connection, questions[0], selection)[0][0] if questions else None


def place(
    connection: sqlite3.Connection, trial: str, questions: Sequence[int], ends: Sequence[int], selection: Selection
) -> int | None:
    """From 1 on, among the selected trials of these questions, of which `ends` are up to the end of each."""
    found = connection.execute("SELECT question FROM trials WHERE id = ?", (trial,)).fetchone()
    if found is None or found[0] not in questions:
        return None
    own = [row[0] for row in _selected(connection, found[0], selection)]
    return ends[questions.index(found[0])] - len(own) + own.index(trial) + 1 if trial in own else None


def fitting(connection: sqlite3.Connection, questions: Sequence[str], selection: Selection) -> frozenset[str]:
    """The ids of the selected trials of these questions, which are named by their ids."""
    where, values = trials_where(selection)
    rows = connection.execute(
        "SELECT trials.id FROM trials WHERE question IN (SELECT key FROM questions WHERE id IN"  # noqa: S608
        f" (SELECT value FROM json_each(?))) AND {where}",
        (json.dumps(list(questions)), *values),
    )
    return frozenset(identity for (identity,) in rows)


def _selected(connection: sqlite3.Connection, question: int, selection: Selection) -> list[tuple[Any, ...]]:
    where, values = trials_where(selection)
    rows = connection.execute(f"{_PLACES} WHERE question = ? AND {where}", (question, *values))
    return sorted(rows, key=lambda row: row[1:])


def facets(connection: sqlite3.Connection) -> Facets:
    tools = _counted(
        connection,
        "SELECT json_each.value, sum(number) FROM (SELECT toolset, count(*) AS number"
        " FROM trials WHERE toolset NOT NULL GROUP BY toolset) JOIN toolsets ON toolsets.key = toolset"
        " JOIN json_each(names) GROUP BY 1",
    )
    domains, difficulties = (
        _counted(connection, f"SELECT {column}, count(*) FROM questions GROUP BY 1")  # noqa: S608 - our names
        for column in ("domain", "difficulty")
    )
    of_trials = {
        column: _counted(connection, f"SELECT {column}, count(*) FROM trials WHERE {column} NOT NULL GROUP BY 1")  # noqa: S608
        for column in ("ending", "flip", "mechanism", "label")
    }
    return Facets(
        models=_named(connection, "model"),
        conditions=_named(connection, "condition"),
        baseline=fact(connection, "baseline") or "",
        domains=_said(domains, sorted(domains, key=lambda name: (not name, natural(name)))),
        difficulties=_said(difficulties, sorted(difficulties, key=level)),
        endings=_in_order(of_trials["ending"], get_args(Ending)),
        flips=_in_order(of_trials["flip"], get_args(Turn)),
        mechanisms=_in_order(of_trials["mechanism"], get_args(Mechanism)),
        labels=_in_order(of_trials["label"], get_args(Mechanism)),
        tools=_in_order(tools, sorted(tools, key=lambda name: (-tools[name], name))),
        simulated=frozenset(name for (name,) in connection.execute("SELECT name FROM models WHERE simulated")),
    )


def _trials(
    connection: sqlite3.Connection, where: str, values: Sequence[Any]
) -> Iterator[tuple[int, Turn | None, TrialRow]]:
    """The key of its question and how its arm stands for that, with each."""
    for row in connection.execute(_TRIALS.format(answer=ANSWER_CHARS, where=where), values):
        yield row[0], row[1], TrialRow(*(*row[2:11], tuple(json.loads(row[11] or "[]")), *row[12:]))


def _glances(rows: Iterable[tuple[int, Turn | None, TrialRow]]) -> Iterator[Glance]:
    """Of one question."""
    for (model, condition), of_arm in groupby(rows, key=lambda row: (row[2].model, row[2].condition)):
        trials = list(of_arm)
        values = [row.value for _, _, row in trials if row.outcome != "failed" and row.value is not None]
        yield Glance(
            model=model,
            condition=condition,
            trials=tuple(row for _, _, row in trials),
            score=mean(values) if values else None,
            flip=trials[0][1],
        )


def _counted(connection: sqlite3.Connection, query: str) -> dict[str, int]:
    return dict(connection.execute(query))


def _named(connection: sqlite3.Connection, what: str) -> dict[str, int]:
    return _counted(
        connection,
        f"SELECT name, number FROM {what}s JOIN (SELECT {what} AS of, count(*) AS number FROM trials GROUP BY 1)"  # noqa: S608
        " ON of = key ORDER BY place",
    )


def _said(found: Mapping[str, int], order: Iterable[str]) -> dict[str, int]:
    """Nothing where no question says anything."""
    return {name: found[name] for name in order} if any(found) else {}


def _in_order(found: Mapping[str, int], order: Iterable[Any]) -> dict[Any, int]:
    return {name: found[name] for name in order if name in found}
