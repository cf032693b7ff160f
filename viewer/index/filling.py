"""The index is filled from a store and kept up to date with it."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolablate.analysis.pairing import mean
from toolablate.traces.store import Outline, Outlines, Store, TrialCounts, TrialSummary
from toolablate.viewer.index.file import fact, state
from toolablate.viewer.index.records import (
    ArmCounts,
    Place,
    QuestionFigures,
    QuestionStanding,
    by_question,
    ending_of,
    figures,
    standings,
)

SHORT_ID = 8


def arm_places(outlines: Mapping[str, Outline], summaries: Iterable[TrialSummary]) -> dict[tuple[str, str], Place]:
    """What the models and conditions of planned trials are called, by their ids: as summaries call them, and where
    no trial of theirs has ended by a name that is not taken."""
    models: dict[str, str] = {}
    conditions: dict[str, str] = {}
    for seen in summaries:
        outline = outlines[seen.trial]
        models[outline.model], conditions[outline.condition] = seen.model, seen.condition
    named = {
        (outline.model, outline.condition): (outline.model_name, outline.condition_name)
        for outline in outlines.values()
    }
    for (model, condition), (model_name, condition_name) in named.items():
        if model not in models:
            models[model] = _free(model_name, model, models)
        if condition not in conditions:
            conditions[condition] = _free(condition_name, condition, conditions)
    return {(model, condition): (models[model], conditions[condition]) for model, condition in named}


def arm_rows(
    counts: Iterable[TrialCounts],
    summaries: Iterable[TrialSummary],
    planned: Mapping[Place, int],
    standings: Mapping[str, Mapping[Place, QuestionStanding]],
) -> list[ArmCounts]:
    """By the store's counts, the ended trials, how many are planned of each arm, and how each question's arms stand."""
    running = {(row.model, row.condition): row.running for row in counts}
    ended: dict[Place, list[TrialSummary]] = defaultdict(list)
    for seen in summaries:
        ended[seen.model, seen.condition].append(seen)
    scores: dict[Place, list[float]] = defaultdict(list)
    for arms in standings.values():
        for place, arm in arms.items():
            if arm.score is not None:
                scores[place].append(arm.score)
    return [
        _arm(place, number, running.get(place, 0), ended[place], scores[place]) for place, number in planned.items()
    ]


def _arm(place: Place, planned: int, running: int, ended: Sequence[TrialSummary], scores: Sequence[float]) -> ArmCounts:
    tokens = [seen.tokens for seen in ended if seen.tokens is not None]
    costs = [seen.cost_usd for seen in ended if seen.cost_usd is not None]
    return ArmCounts(
        model=place[0],
        condition=place[1],
        planned=planned,
        ended=len(ended),
        running=running,
        questions=len({seen.question for seen in ended}),
        score=mean(scores) if scores else None,
        endings=Counter(ending_of(seen.outcome, seen.verdict) for seen in ended),
        tokens=sum(tokens) if tokens else None,
        cost_usd=sum(costs) if costs else None,
    )


def _free(name: str, identity: str, taken: Mapping[str, str]) -> str:
    return f"{name}@{identity[:SHORT_ID]}" if name in taken.values() else name


# What is to stand in the index, worked out before the index is held for writing.


@dataclass(frozen=True, slots=True)
class StoreContents:
    """`store` is the id of its first run, which copies share and no other store has. `outlines` are planned trials by
    their ids; `groups`, `standings` and `figures` are of questions, by name. `models` and `conditions` are labels in
    the order in which they are shown; `unequipped` the ids of conditions without tools."""

    store: str
    baseline: str
    models: tuple[str, ...]
    conditions: tuple[str, ...]
    summaries: Sequence[TrialSummary]
    outlines: Mapping[str, Outline]
    groups: Mapping[str, Sequence[TrialSummary]]
    standings: Mapping[str, Mapping[Place, QuestionStanding]]
    figures: Mapping[str, QuestionFigures]
    arms: Sequence[ArmCounts]
    unequipped: frozenset[str]


def gather(
    store: Store,
    outlines: Outlines,
    summaries: Sequence[TrialSummary],
    *,
    baseline: str,
    models: Sequence[str],
    conditions: Sequence[str],
    run: str | None,
) -> StoreContents:
    """Raises InputError for a run that is not there, StoreError."""
    planned = {outline.trial: outline for outline in outlines.trials(run=run)}
    places = arm_places(planned, summaries)
    numbers = Counter((outline.model, outline.condition) for outline in planned.values())
    groups = by_question(summaries)
    arms = {name: standings(trials, baseline) for name, trials in groups.items()}
    runs = store.runs()
    return StoreContents(
        store=runs[0].id if runs else "",
        baseline=baseline,
        models=tuple(dict.fromkeys((*models, *(model for model, _ in places.values())))),
        conditions=tuple(dict.fromkeys((*conditions, *(condition for _, condition in places.values())))),
        summaries=summaries,
        outlines=planned,
        groups=groups,
        standings=arms,
        figures={name: figures(trials, arms[name], baseline) for name, trials in groups.items()},
        arms=arm_rows(store.counts(), summaries, {places[arm]: number for arm, number in numbers.items()}, arms),
        unequipped=frozenset(condition.identity() for condition in store.conditions() if not condition.has_tools),
    )


SHOWN_CHARS = 240
MAX_ANSWER_CHARS = 20_000
"""Of an answer more is neither shown nor searched."""

_BASE = (
    *("id", "question", "model", "condition", "repeat", "outcome", "value", "verdict", "ending", "flip", "tokens"),
    *("cost_usd", "seconds", "trace", "scores"),
)
_VERDICT = _BASE.index("verdict")
_KEPT = ", ".join(
    f"{name} = CASE WHEN trials.trace = excluded.trace AND trials.scores = excluded.scores THEN {name} END"
    for name in ("mechanism", "distraction", "method", "confidence", "turned_at")
)
"""What was said of a trial does not hold for another trace, or another score."""
_PUT = (
    f"INSERT INTO trials ({', '.join(_BASE)}, answer) VALUES ({', '.join('?' * (len(_BASE) + 1))})"  # noqa: S608
    f" ON CONFLICT (id) DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in (*_BASE[1:], 'answer'))},"
    f" {_KEPT}, toolset = CASE WHEN trials.trace = excluded.trace THEN toolset END"
)
_QUESTION = (
    *("id", "place", "name", "called", "domain", "difficulty", "language", "kind", "unit", "metadata", "delta"),
    *("score", "spread", "tokens", "cost_usd"),
)

Keys = Mapping[str, int]


def fill(connection: sqlite3.Connection, store: Store, outlines: Outlines, gathered: StoreContents) -> None:
    """All but labels and the tools that trials called. Raises StoreError, sqlite3.Error."""
    _forget_another(connection, gathered.store)
    state(connection, "baseline", gathered.baseline)
    models = _put_names(connection, "models", gathered.models)
    conditions = _put_names(connection, "conditions", gathered.conditions)
    simulated = json.dumps(sorted({seen.model for seen in gathered.summaries if seen.simulated}))
    connection.execute(
        "UPDATE models SET simulated = NOT simulated WHERE simulated <> (name IN (SELECT value FROM json_each(?)))",
        (simulated,),
    )
    questions = _put_questions(connection, store, gathered)
    _put_trials(connection, outlines, list(_rows(gathered, questions, models, conditions)))
    _put_arms(connection, gathered.arms, models, conditions)
    _settle_unequipped(connection, gathered)


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


def _forget_another(connection: sqlite3.Connection, store: str) -> None:
    """What was computed of another store; its trials will be found to be none of this one's."""
    if fact(connection, "store") != store:
        connection.execute("DELETE FROM facts WHERE name = 'findings'")
        connection.execute("UPDATE trials SET trace = '' WHERE trace <> ''")
        state(connection, "store", store)


def _put_names(connection: sqlite3.Connection, table: str, order: Sequence[str]) -> dict[str, int]:
    """Their keys; they get their places in the order given."""
    connection.executemany(
        f"INSERT INTO {table} (name, place) VALUES (?1, ?2)"  # noqa: S608 - our names
        " ON CONFLICT (name) DO UPDATE SET place = ?2 WHERE place <> ?2",
        ((name, place) for place, name in enumerate(order)),
    )
    return dict(connection.execute(f"SELECT name, key FROM {table}"))  # noqa: S608 - our names


def _put_questions(connection: sqlite3.Connection, store: Store, gathered: StoreContents) -> dict[str, int]:
    """The keys of the questions by their names."""
    outlines = gathered.outlines
    places = {identity: place for place, identity in enumerate({each.question: None for each in outlines.values()})}
    known = {row[0]: row for row in connection.execute(f"SELECT {', '.join(_QUESTION)} FROM questions")}  # noqa: S608
    change = f"UPDATE questions SET {', '.join(f'{name} = ?' for name in _QUESTION[1:])} WHERE id = ?"  # noqa: S608
    names = {}
    for name, trials in gathered.groups.items():
        first, identity = trials[0], outlines[trials[0].trial].question
        names[identity] = name
        called = name.casefold()
        said = (identity, places[identity], name, called, first.domain, first.difficulty, first.language)
        about = (first.kind, first.cluster, json.dumps(first.metadata, ensure_ascii=False))
        row = (*said, *about, *gathered.figures[name])
        if identity not in known:
            _put_question(connection, store, row)
        elif known[identity] != row:
            connection.execute(change, (*row[1:], identity))
    for identity in known.keys() - names.keys():
        _drop_question(connection, identity)
    return {names[identity]: key for identity, key in connection.execute("SELECT id, key FROM questions")}


def _put_question(connection: sqlite3.Connection, store: Store, row: tuple[Any, ...]) -> None:
    question = store.question(row[0])
    key = connection.execute(
        f"INSERT INTO questions ({', '.join(_QUESTION)}, text) VALUES ({', '.join('?' * (len(_QUESTION) + 1))})",  # noqa: S608
        (*row, question.prompt[:SHOWN_CHARS]),
    ).lastrowid
    asked = "\n".join((question.prompt, *question.choices)).casefold()
    connection.execute("INSERT INTO asked VALUES (?, ?)", (key, asked))


def _drop_question(connection: sqlite3.Connection, identity: str) -> None:
    (key,) = connection.execute("SELECT key FROM questions WHERE id = ?", (identity,)).fetchone()
    connection.execute("DELETE FROM trials WHERE question = ?", (key,))
    connection.execute("DELETE FROM asked WHERE question = ?", (key,))
    connection.execute("DELETE FROM questions WHERE key = ?", (key,))


def _rows(gathered: StoreContents, questions: Keys, models: Keys, conditions: Keys) -> Iterator[tuple[Any, ...]]:
    for seen in gathered.summaries:
        outline = gathered.outlines[seen.trial]
        flip = gathered.standings[seen.question][seen.model, seen.condition].flip
        yield (
            *(seen.trial, questions[seen.question], models[seen.model], conditions[seen.condition], seen.repeat),
            *(seen.outcome, seen.value, seen.verdict, ending_of(seen.outcome, seen.verdict), flip),
            *(seen.tokens, seen.cost_usd, outline.seconds, outline.trace, outline.scores),
        )


def _put_trials(connection: sqlite3.Connection, outlines: Outlines, rows: Sequence[tuple[Any, ...]]) -> None:
    known = {row[0]: row for row in connection.execute(f"SELECT {', '.join(_BASE)} FROM trials")}  # noqa: S608
    gone = known.keys() - {row[0] for row in rows}
    connection.executemany("DELETE FROM trials WHERE id = ?", ((trial,) for trial in gone))
    changed = [row for row in rows if known.get(row[0]) != row]
    answers = _put_answers(connection, outlines, {row[0]: row[_VERDICT] for row in changed})
    connection.executemany(_PUT, ((*row, answers[row[0]]) for row in changed))


def _put_answers(
    connection: sqlite3.Connection, outlines: Outlines, verdicts: Mapping[str, str | None]
) -> dict[str, int]:
    """The key of each trial's answer: what was read by the newest scorer that gave the verdict it has."""
    extracted = outlines.extracted(verdicts)
    texts = {
        trial: next((", ".join(read) for said, read in reversed(extracted.get(trial, ())) if said == verdict), "")
        for trial, verdict in verdicts.items()
    }
    cut = {trial: text[:MAX_ANSWER_CHARS] for trial, text in texts.items()}
    new = set(cut.values())
    connection.executemany(
        "INSERT INTO answers (text, folded) VALUES (?, ?) ON CONFLICT (text) DO NOTHING",
        ((text, text.casefold()) for text in new),
    )
    find = "SELECT key FROM answers WHERE text = ?"
    keys = {text: connection.execute(find, (text,)).fetchone()[0] for text in new}
    return {trial: keys[text] for trial, text in cut.items()}


def _put_arms(connection: sqlite3.Connection, arms: Iterable[ArmCounts], models: Keys, conditions: Keys) -> None:
    rows = {
        (
            *(models[arm.model], conditions[arm.condition], arm.planned, arm.ended, arm.running, arm.questions),
            *(arm.score, json.dumps(arm.endings, sort_keys=True), arm.tokens, arm.cost_usd),
        )
        for arm in arms
    }
    known = set(connection.execute("SELECT * FROM arms"))
    connection.executemany("DELETE FROM arms WHERE model = ? AND condition = ?", (row[:2] for row in known - rows))
    connection.executemany(f"INSERT INTO arms VALUES ({', '.join('?' * 10)})", rows - known)  # noqa: S608 - our own


def _settle_unequipped(connection: sqlite3.Connection, gathered: StoreContents) -> None:
    """Nothing was called where there was nothing to call: those traces need not be read."""
    waiting = connection.execute("SELECT id FROM trials WHERE toolset IS NULL").fetchall()
    settled = [trial for (trial,) in waiting if gathered.outlines[trial].condition in gathered.unequipped]
    put_tools(connection, [(trial, {}) for trial in settled])
