"""Brings the index to what a store says: only what differs is written, and only new traces are read."""

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import Any

from toolablate.traces.store import Observation, Outline, Outlines, Store
from toolablate.traces.viewer.index.arms import arm_places, arm_rows
from toolablate.traces.viewer.index.figures import Place, Standing, by_question, figures, standings
from toolablate.traces.viewer.index.file import fact, state
from toolablate.traces.viewer.index.records import ArmCounts, ending_of

SHOWN_CHARS = 240
MAX_ANSWER_CHARS = 20_000
"""Of an answer more is neither shown nor searched."""

_BASE = (
    *("id", "question", "model", "condition", "repeat", "outcome", "value", "verdict", "ending", "flip", "tokens"),
    *("cost_usd", "seconds", "trace", "scores"),
)
_TRACE, _SCORES = _BASE.index("trace"), _BASE.index("scores")
_OF_SAME = ", ".join(
    f"{name} = CASE WHEN trials.trace = excluded.trace AND trials.scores = excluded.scores THEN {name} END"
    for name in ("mechanism", "distraction", "method", "confidence", "turned_at")
)
_OF_TRACE = "toolset = CASE WHEN trials.trace = excluded.trace THEN toolset END"
_PUT = (
    f"INSERT INTO trials ({', '.join(_BASE)}, answer) VALUES ({', '.join('?' * (len(_BASE) + 1))})"  # noqa: S608
    f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in (*_BASE[1:], 'answer'))},"
    f" {_OF_SAME}, {_OF_TRACE}"
)


def fill(
    connection: sqlite3.Connection,
    store: Store,
    observations: Sequence[Observation],
    *,
    baseline: str,
    models: Sequence[str],
    conditions: Sequence[str],
    run: str | None,
) -> None:
    """All but the tools that trials called. Raises StoreError, sqlite3.Error."""
    with Outlines(store.path) as outlines:
        planned = outlines.trials(run=run)
        _forget_another(connection, store)
        state(connection, "baseline", baseline)
        found = {outline.trial: outline for outline in planned}
        places = arm_places(planned, observations)
        keys = {
            "models": _names(connection, "models", (*models, *(model for model, _ in places.values()))),
            "conditions": _names(connection, "conditions", (*conditions, *(name for _, name in places.values()))),
        }
        simulated = {(seen.model,) for seen in observations if seen.simulated}
        connection.executemany("UPDATE models SET simulated = 1 WHERE name = ? AND simulated = 0", simulated)
        groups = by_question(observations)
        arms = {name: standings(trials, baseline) for name, trials in groups.items()}
        questions = _put_questions(connection, store, groups, arms, found, baseline)
        rows = list(_rows(observations, found, arms, questions, keys))
        _put_trials(connection, outlines, rows)
    _put_arms(connection, arm_rows(store.counts(), observations, places.values(), arms), keys)
    _settle_unequipped(connection, store, planned)


def _forget_another(connection: sqlite3.Connection, store: Store) -> None:
    """What was computed of another store; its trials will be found to be none of this one's."""
    runs = store.runs()
    this = runs[0].id if runs else ""
    if fact(connection, "store") != this:
        connection.execute("DELETE FROM facts WHERE name = 'findings'")
        connection.execute(
            "UPDATE trials SET mechanism = NULL, distraction = NULL, method = NULL, confidence = NULL,"
            " turned_at = NULL WHERE mechanism NOT NULL"
        )
        state(connection, "store", this)


def _names(connection: sqlite3.Connection, table: str, order: Iterable[str]) -> dict[str, int]:
    """The keys of names, which get their places in the order given."""
    for place, name in enumerate(dict.fromkeys(order)):
        connection.execute(
            f"INSERT INTO {table} (name, place) VALUES (?1, ?2)"  # noqa: S608 - our names
            " ON CONFLICT (name) DO UPDATE SET place = ?2 WHERE place <> ?2",
            (name, place),
        )
    return dict(connection.execute(f"SELECT name, key FROM {table}"))  # noqa: S608 - our names


def _put_questions(
    connection: sqlite3.Connection,
    store: Store,
    groups: dict[str, list[Observation]],
    arms: dict[str, dict[Place, Standing]],
    found: dict[str, Outline],
    baseline: str,
) -> dict[str, int]:
    """Returns the keys of the questions by their names."""
    places = {identity: place for place, identity in enumerate(dict.fromkeys(each.question for each in found.values()))}
    columns = "id, place, name, domain, difficulty, language, delta, score, spread, tokens, cost_usd"
    known = {row[0]: row for row in connection.execute(f"SELECT {columns} FROM questions")}  # noqa: S608 - our names
    names = {}
    for name, trials in groups.items():
        first, identity = trials[0], found[trials[0].trial].question
        names[identity] = name
        said = (identity, places[identity], name, first.domain, first.difficulty, first.language)
        row = (*said, *astuple(figures(trials, arms[name], baseline)))
        if identity not in known:
            _put_question(connection, store, row)
        elif known[identity] != row:
            changes = ", ".join(f"{column} = ?" for column in columns.split(", ")[1:])
            connection.execute(f"UPDATE questions SET {changes} WHERE id = ?", (*row[1:], identity))  # noqa: S608
    for identity in known.keys() - names.keys():
        _drop_question(connection, identity)
    return {names[identity]: key for identity, key in connection.execute("SELECT id, key FROM questions")}


def _put_question(connection: sqlite3.Connection, store: Store, row: tuple[Any, ...]) -> None:
    question = store.question(row[0])
    key = connection.execute(
        "INSERT INTO questions (id, place, name, domain, difficulty, language, delta, score, spread, tokens, cost_usd,"
        " text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*row, question.prompt[:SHOWN_CHARS]),
    ).lastrowid
    asked = "\n".join((question.prompt, *question.choices)).casefold()
    connection.execute("INSERT INTO asked VALUES (?, ?)", (key, asked))


def _drop_question(connection: sqlite3.Connection, identity: str) -> None:
    (key,) = connection.execute("SELECT key FROM questions WHERE id = ?", (identity,)).fetchone()
    connection.execute("DELETE FROM trials WHERE question = ?", (key,))
    connection.execute("DELETE FROM asked WHERE question = ?", (key,))
    connection.execute("DELETE FROM questions WHERE key = ?", (key,))


def _rows(
    observations: Sequence[Observation],
    found: dict[str, Outline],
    arms: dict[str, dict[Place, Standing]],
    questions: dict[str, int],
    keys: dict[str, dict[str, int]],
) -> Iterable[tuple[Any, ...]]:
    models, conditions = keys["models"], keys["conditions"]
    for seen in observations:
        outline, arm = found[seen.trial], arms[seen.question][seen.model, seen.condition]
        yield (
            *(seen.trial, questions[seen.question], models[seen.model], conditions[seen.condition], seen.repeat),
            *(seen.outcome, seen.value, seen.verdict, ending_of(seen.outcome, seen.verdict), arm.flip),
            *(seen.tokens, seen.cost_usd, outline.seconds, outline.trace, outline.scores),
        )


def _put_trials(connection: sqlite3.Connection, outlines: Outlines, rows: Sequence[tuple[Any, ...]]) -> None:
    known = {row[0]: row for row in connection.execute(f"SELECT {', '.join(_BASE)} FROM trials")}  # noqa: S608
    gone = known.keys() - {row[0] for row in rows}
    connection.executemany("DELETE FROM trials WHERE id = ?", ((trial,) for trial in gone))
    changed = [row for row in rows if known.get(row[0]) != row]
    answers = _answers(connection, outlines, changed)
    connection.executemany(_PUT, ((*row, answers[row[0]]) for row in changed))


def _answers(connection: sqlite3.Connection, outlines: Outlines, changed: Sequence[tuple[Any, ...]]) -> dict[str, int]:
    """The key of each trial's answer: what was read by the scorer whose verdict it has."""
    extracted = outlines.extracted([row[0] for row in changed])
    verdicts = {row[0]: row[_BASE.index("verdict")] for row in changed}
    texts = {
        trial: next((", ".join(text) for said, text in reversed(extracted.get(trial, [])) if said == verdict), "")
        for trial, verdict in verdicts.items()
    }
    cut = {trial: text[:MAX_ANSWER_CHARS] for trial, text in texts.items()}
    new = dict.fromkeys(cut.values())
    connection.executemany(
        "INSERT INTO answers (text, folded) VALUES (?, ?) ON CONFLICT (text) DO NOTHING",
        ((text, text.casefold()) for text in new),
    )
    keys = {text: connection.execute("SELECT key FROM answers WHERE text = ?", (text,)).fetchone()[0] for text in new}
    return {trial: keys[text] for trial, text in cut.items()}


def _put_arms(connection: sqlite3.Connection, arms: Iterable[ArmCounts], keys: dict[str, dict[str, int]]) -> None:
    rows = {
        (
            *(keys["models"][arm.model], keys["conditions"][arm.condition], arm.planned, arm.ended, arm.running),
            *(arm.questions, arm.score, json.dumps(arm.endings), arm.tokens, arm.cost_usd),
        )
        for arm in arms
    }
    known = set(connection.execute("SELECT * FROM arms"))
    connection.executemany("DELETE FROM arms WHERE model = ? AND condition = ?", (row[:2] for row in known - rows))
    connection.executemany(f"INSERT INTO arms VALUES ({', '.join('?' * 10)})", rows - known)  # noqa: S608


def _settle_unequipped(connection: sqlite3.Connection, store: Store, planned: Sequence[Outline]) -> None:
    """Nothing was called where there was nothing to call: those traces need not be read."""
    without = {condition.identity() for condition in store.conditions() if not condition.tools}
    unread = {trial for (trial,) in connection.execute("SELECT id FROM trials WHERE toolset IS NULL")}
    settled = [each.trial for each in planned if each.condition in without and each.trial in unread]
    put_tools(connection, [(trial, {}) for trial in settled])


def unread(connection: sqlite3.Connection, most: int) -> list[str]:
    """Trials whose traces are to be read for the tools that they called."""
    rows = connection.execute("SELECT id FROM trials WHERE toolset IS NULL LIMIT ?", (most,))
    return [trial for (trial,) in rows]


def put_tools(connection: sqlite3.Connection, called: Iterable[tuple[str, Mapping[str, int]]]) -> None:
    """The tools that trials called, in the order of their first calls, and how many times each."""
    keys = dict(connection.execute("SELECT names, key FROM toolsets"))
    for trial, calls in called:
        names = json.dumps(list(calls), ensure_ascii=False)
        if names not in keys:
            keys[names] = connection.execute("INSERT INTO toolsets (names) VALUES (?)", (names,)).lastrowid
        connection.execute(
            "UPDATE trials SET toolset = ?, calls = ? WHERE id = ?", (keys[names], sum(calls.values()), trial)
        )
