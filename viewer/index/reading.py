"""Queries of the index."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple, get_args

from pydantic import ConfigDict, RootModel, ValidationError

from toolablate.analysis.findings import Findings
from toolablate.analysis.pairing import mean
from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.traces.records import MECHANISM_BOOK, Attribution, Label, Mechanism, Outcome
from toolablate.viewer.index.file import fact, state
from toolablate.viewer.index.records import (
    ArmCounts,
    Counts,
    Facets,
    Glance,
    QuestionFigures,
    QuestionRow,
    Sort,
    TrialRow,
    figures,
    standings,
    trials_where,
)

_COLUMNS: dict[Sort, str] = {"order": "place", "tokens": "tokens", "cost": "cost_usd"}
_DIGITS = re.compile(r"(\d{1,18})", re.ASCII)
_LEVELS = (
    *({"trivial", "very easy"}, {"easy", "simple", "low"}, {"medium", "moderate", "middle", "intermediate", "normal"}),
    *({"hard", "difficult", "high"}, {"very hard", "expert", "extreme"}),
)

_ORDERED = """
SELECT question, models.name, conditions.name, outcome, value, tokens, cost_usd
FROM trials JOIN models ON models.key = model JOIN conditions ON conditions.key = condition
WHERE {where} ORDER BY question
"""

NaturalKey = tuple[Any, ...]


class _Trial(NamedTuple):
    model: str
    condition: str
    outcome: Outcome
    value: float | None
    tokens: int | None
    cost_usd: float | None


def natural(name: str) -> NaturalKey:
    """Sorts `q2` before `q10`, and whatever the case."""
    return (*(_part(part) for part in _DIGITS.split(name.casefold())), (-1, name))


def level(difficulty: str) -> tuple[int, NaturalKey]:
    """Sorts easy before medium before hard; words that say no such thing come after, those with numbers by number, and
    what says nothing last."""
    said = difficulty.casefold().strip()
    place = next((place for place, words in enumerate(_LEVELS) if said in words), len(_LEVELS))
    return place + (not said), natural(difficulty)


def ordered(connection: sqlite3.Connection, sort: Sort, shown: Selection, *, descending: bool) -> list[int]:
    """The keys of all questions; those that have nothing to be sorted by are last either way, and equals stand as in
    the benchmark. Figures are those of the arms that are `shown`: models and conditions, all where none are named.
    Raises sqlite3.Error."""
    column = _COLUMNS.get(sort, sort)
    rows = connection.execute(f"SELECT key, {column} FROM questions ORDER BY place, key").fetchall()  # noqa: S608
    if column in QuestionFigures._fields and shown != Selection():
        found = _figures(connection, shown)
        rows = [(key, getattr(found[key], column) if key in found else None) for key, _ in rows]
    there = [row for row in rows if row[1] is not None and row[1] != ""]
    there.sort(key=_by(sort), reverse=descending)
    return [*(key for key, _ in there), *(key for key, value in rows if value is None or value == "")]


def _figures(connection: sqlite3.Connection, shown: Selection) -> dict[int, QuestionFigures]:
    """By the keys of the questions, of the shown arms alone."""
    where, values = trials_where(shown)
    baseline = fact(connection, "baseline") or ""
    query = _ORDERED.format(where=where)
    found: dict[int, QuestionFigures] = {}
    for key, of_one in groupby(connection.execute(query, values), key=lambda row: row[0]):
        trials = [_Trial(*row[1:]) for row in of_one]
        found[key] = figures(trials, standings(trials, baseline), baseline)
    return found


def _by(sort: Sort) -> Callable[[tuple[int, Any]], Any]:
    if sort == "difficulty":
        return lambda row: level(row[1])
    if sort in ("name", "domain"):
        return lambda row: natural(row[1])
    return lambda row: row[1]


def _part(text: str) -> tuple[int, int | str]:
    return (0, int(text)) if _DIGITS.fullmatch(text) else (1, text)


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


# How many questions each value of a filter would show.


_OWN = "SELECT {column}, count(*) FROM (SELECT DISTINCT question, {column} FROM trials WHERE {where}) GROUP BY 1"
_NAMED = (
    "SELECT name, number FROM (SELECT {column} AS named, count(*) AS number"
    " FROM (SELECT DISTINCT question, {column} FROM trials WHERE {where}) GROUP BY 1) JOIN {column}s ON key = named"
)
_ASKED = "SELECT {column}, count(*) FROM questions WHERE key IN (SELECT question FROM trials WHERE {where}) GROUP BY 1"
_CALLED = (
    "SELECT value, count(*) FROM (SELECT DISTINCT question, value"
    " FROM (SELECT DISTINCT question, {column} AS called FROM trials WHERE {where})"
    " JOIN toolsets ON toolsets.key = called"
    " JOIN json_each(names)) GROUP BY 1"
)
_QUERIES = {
    "models": (_NAMED, "model"),
    "conditions": (_NAMED, "condition"),
    "domains": (_ASKED, "domain"),
    "difficulties": (_ASKED, "difficulty"),
    "endings": (_OWN, "ending"),
    "flips": (_OWN, "flip"),
    "mechanisms": (_OWN, "mechanism"),
    "labels": (_OWN, "label"),
    "tools": (_CALLED, "toolset"),
}


def counts(connection: sqlite3.Connection, selection: Selection) -> Counts:
    """Raises sqlite3.Error."""
    found = {}
    for field, (query, column) in _QUERIES.items():
        anything: dict[str, Any] = {field: ()}
        where, values = trials_where(replace(selection, **anything))
        rows = connection.execute(query.format(column=column, where=where), values)
        found[field] = {value: number for value, number in rows if value is not None}
    return found


# What was said of trials and of the store as a whole: labels, attributions, findings.


_SAID = ("mechanism", "distraction", "method", "confidence", "turned_at")
_CHANGE = f"UPDATE trials SET ({', '.join(_SAID)}) = (?2, ?3, ?4, ?5, ?6) WHERE id = ?1"  # noqa: S608 - our own words
_DIFFERS = f" AND ({', '.join(_SAID)}) IS NOT (?2, ?3, ?4, ?5, ?6)"


def put_findings(connection: sqlite3.Connection, findings: Findings) -> None:
    state(connection, "findings", _findings_type()(findings).model_dump_json())


def findings(connection: sqlite3.Connection) -> Findings | None:
    """None where there are none, or none that this version reads."""
    text = fact(connection, "findings")
    if text is None:
        return None
    try:
        return _findings_type().model_validate_json(text).root
    except ValidationError:
        return None


def put_attributions(connection: sqlite3.Connection, attributions: Sequence[Attribution]) -> None:
    named = {each.trial for each in attributions}
    before = [trial for (trial,) in connection.execute("SELECT id FROM trials WHERE mechanism NOT NULL")]
    gone = ((trial, *(None for _ in _SAID)) for trial in before if trial not in named)
    said = ((each.trial, *(getattr(each, name) for name in _SAID)) for each in attributions)
    connection.executemany(_CHANGE + _DIFFERS, (*gone, *said))


def mirror_labels(connection: sqlite3.Connection, labels: Iterable[Label]) -> None:
    """All that the store has, in the order in which they were given."""
    rows = {(label.trial, _person(label), label.book): (number, _code(label)) for number, label in enumerate(labels)}
    wanted = {(*key, *value) for key, value in rows.items()}
    known = set(connection.execute("SELECT trial, person, book, number, mechanism FROM labels"))
    gone = (row[:3] for row in known - wanted)
    connection.executemany("DELETE FROM labels WHERE trial = ? AND person = ? AND book = ?", gone)
    connection.executemany("INSERT INTO labels VALUES (?, ?, ?, ?, ?)", wanted - known)
    labelled = "SELECT trial FROM labels UNION SELECT id FROM trials WHERE label NOT NULL"
    connection.execute(f"UPDATE trials SET label = {_LAST} WHERE id IN ({labelled}) AND label IS NOT {_LAST}")  # noqa: S608


def put_label(connection: sqlite3.Connection, label: Label) -> None:
    (number,) = connection.execute("SELECT coalesce(max(number), -1) + 1 FROM labels").fetchone()
    connection.execute(
        "INSERT OR REPLACE INTO labels (trial, person, book, number, mechanism) VALUES (?, ?, ?, ?, ?)",
        (label.trial, _person(label), label.book, number, _code(label)),
    )
    connection.execute(f"UPDATE trials SET label = {_LAST} WHERE id = ?", (label.trial,))  # noqa: S608 - our own words


def _person(label: Label) -> str:
    """What decides between labels stands beside what the same person said of their own; no name begins so."""
    return f"\x1f{label.person}" if label.adjudicated else label.person


def _code(label: Label) -> str | None:
    """A code of another codebook stands in the column of mechanisms as well, so that the trial counts as labelled."""
    return label.said[0] if label.said else None


_LAST = (
    "(SELECT labels.mechanism FROM labels WHERE labels.trial = trials.id"  # noqa: S608 - our own words
    f" AND labels.book = '{MECHANISM_BOOK}' AND labels.mechanism NOT NULL ORDER BY labels.number DESC LIMIT 1)"
)


@cache
def _findings_type() -> type[RootModel[Findings]]:
    """Made when it is first needed: it takes a tenth of a second."""

    class _IndexFindings(RootModel[Findings]):
        model_config = ConfigDict(ser_json_inf_nan="constants", frozen=True)

    return _IndexFindings
