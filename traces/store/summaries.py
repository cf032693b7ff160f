"""What a comparison reads: one row for each trial, failures by reason, and what came of counterfactuals."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, make_dataclass
from itertools import groupby, starmap
from operator import itemgetter
from typing import Any

from pydantic import ValidationError

from toolablate.traces.errors import Boundary, InputError
from toolablate.traces.records import Limit, MissKind, Outcome, Refusal, Resumption, Verdict
from toolablate.traces.store.digests import INPUT_CUT
from toolablate.traces.store.status import shown_names
from toolablate.traces.store.texts import TextReader, damaged, parse
from toolablate.traces.store.trials import read_events, run_key


@dataclass(frozen=True, slots=True)
class TrialSummary:
    """One trial as a comparison sees it.

    `trial` is its id. `question`, `model` and `condition` are names as a table shows them. Where two records of a store
    share a name (a condition whose prompt was edited), each carries the beginning of its id: `cot@1a2b3c4d`.
    `value` is in [0, 1], or None where there is no score; `verdict` is None where no scorer has looked at it. `tokens`
    and `cost_usd` are None where they are unknown. `cluster` is empty for a question that stands alone; `domain`,
    `difficulty` and `language` are empty where the question does not say; `kind` is how it is answered: `choice`,
    `several` (of the choices), `number`, `spans` or `reference`. `metadata` has the question's own as texts by key: one
    for a value, several for a list. `limit` is what ran out where the outcome is `budget`.
    `lookups` counts what was asked of the web or its archive, `misses` those that were not there, by kind; `leaks`
    counts results that held the question's answer, `withheld` those of which the plan's policy kept something from the
    model. `refused` has how often each tool was called that could not be called, with why and its name. `input_cut`
    says that the question was longer than its condition allows, and was cut.
    """

    question: str
    model: str
    condition: str
    repeat: int = 0
    outcome: Outcome = "answered"
    value: float | None = None
    verdict: Verdict | None = None
    cluster: str = ""
    domain: str = ""
    difficulty: str = ""
    language: str = ""
    kind: str = ""
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tokens: int | None = None
    cost_usd: float | None = None
    simulated: bool = False
    trial: str = ""
    limit: Limit | None = None
    lookups: int = 0
    misses: tuple[tuple[MissKind, int], ...] = ()
    leaks: int = 0
    withheld: int = 0
    refused: tuple[tuple[Refusal, str, int], ...] = ()
    input_cut: bool = False


# What is not frozen yet gets its fields in half the time, 3 s less for a million. Laid out alike, it becomes a
# TrialSummary when it has them.
_Thawed = make_dataclass("_Thawed", [(each.name, each.type) for each in fields(TrialSummary)], slots=True)


def _frozen(summary: Any) -> TrialSummary:
    summary.__class__ = TrialSummary
    frozen: TrialSummary = summary
    return frozen


# The one query that a comparison needs.


# SQLite fills the bare columns of a max() from the row that holds the maximum: the newest version's score.
_SUMMARIES = """
WITH newest AS (
    SELECT trace, value, verdict, max(version) FROM scores
    WHERE (:scorers = '[]' OR scorer IN (SELECT value FROM json_each(:scorers))) AND {scored} GROUP BY trace
)
SELECT trials.question, trials.model, trials.condition, trials.repeat, traces.outcome,
    iif(traces.outcome = 'failed', NULL, newest.value), iif(traces.outcome = 'failed', NULL, newest.verdict),
    iif(coalesce(traces.input_tokens, traces.output_tokens) IS NULL, NULL,
        coalesce(traces.input_tokens, 0) + coalesce(traces.output_tokens, 0)),
    traces.cost_usd, trials.id, traces.ran_out, traces.key{more}
FROM trials
JOIN traces ON traces.key = trials.current
LEFT JOIN newest ON newest.trace = traces.key
JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL
WHERE (:run IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = :run)) AND {wanted}
ORDER BY trials.key
"""

# As above, the value is that of the newest version. A question's text is not read.
_VALUES = """
SELECT questions.id, scores.value, max(scores.version)
FROM trials
JOIN questions ON questions.key = trials.question
JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current
WHERE trials.model = (SELECT model FROM trials WHERE id = :trial)
    AND trials.condition = (SELECT key FROM conditions WHERE id = :condition)
    AND trials.outcome <> 'failed'
    AND (:scorers = '[]' OR scores.scorer IN (SELECT value FROM json_each(:scorers)))
    AND (:run IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = :run))
GROUP BY trials.key ORDER BY trials.key
"""

_MEASURES = (
    *("attempt", "started_at", "seconds", "input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"),
    "events",
)

_SCORED = """
SELECT trials.id, scores.scorer, scores.version, scores.value, scores.verdict
FROM trials JOIN scores ON scores.trial = trials.key AND scores.trace = trials.current
JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL
WHERE (:run IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = :run))
ORDER BY trials.key, scores.scorer, scores.version
"""

_KEY = 11
"""The place of a trace's key in a row of `_SUMMARIES`."""
_UNTALLIED = (0, (), 0, 0, (), False)

# By an index, so that of a large store only a few rows are looked at.
_BESIDE = (
    "IN (SELECT key FROM trials WHERE (question, model) = (SELECT question, model FROM trials WHERE id = :beside))"
)
_HAS_SCORED = "SELECT 1 FROM scores WHERE scorer = ? LIMIT 1"
_NAMESAKES = "SELECT key FROM questions WHERE name IN (SELECT name FROM questions WHERE key = ?)"


def read_summaries(
    connection: sqlite3.Connection, *, scorers: Sequence[str], run: str | None, beside: str | None = None
) -> list[TrialSummary]:
    """`beside` is the id of a trial. Raises InputError for a scorer or run that is not there or not clear,
    sqlite3.Error."""
    values, _ = _summarized(connection, scorers, run, beside)
    return list(map(_frozen, starmap(_Thawed, values)))


Columns = dict[str, Sequence[Any]]
"""By name, all of one length."""


def read_summary_columns(connection: sqlite3.Connection, *, scorers: Sequence[str], run: str | None) -> Columns:
    """The same by column, with what a comparison does not need: attempt, start (as text), seconds, tokens, events.
    Raises likewise."""
    values, measures = _summarized(connection, scorers, run, None, more=_MEASURES)
    own = tuple(TrialSummary.__dataclass_fields__)
    return _by_column(own, values) | _by_column(_MEASURES, measures)


def _by_column(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    return dict(zip(names, tuple(zip(*rows, strict=True)) or ((),) * len(names), strict=True))


def _summarized(
    connection: sqlite3.Connection,
    scorers: Sequence[str],
    run: str | None,
    beside: str | None,
    more: Sequence[str] = (),
) -> tuple[Iterable[Sequence[Any]], Iterable[Sequence[Any]]]:
    """The values of the summaries, by position since there may be a hundred thousand, and `more` columns of their
    traces."""
    check_scorers(connection, scorers)
    key = None if run is None else run_key(connection, run)
    query = _SUMMARIES.format(
        scored="true" if beside is None else f"trial {_BESIDE}",
        wanted="true" if beside is None else f"trials.key {_BESIDE}",
        more="".join(f", traces.{name}" for name in more),
    )
    rows = connection.execute(query, {"scorers": json.dumps(list(scorers)), "run": key, "beside": beside}).fetchall()
    shown = _seen(rows) if beside is None else _seen_in_all(connection, {row[0] for row in rows})
    names, models, conditions = (
        shown_names(connection, table, among)
        for table, among in zip(("questions", "models", "conditions"), shown, strict=True)
    )
    facts = _facts(connection, None if beside is None else {row[0] for row in rows})
    simulated = {row[0]: bool(row[1]) for row in connection.execute("SELECT key, simulated FROM models")}
    tallied = _tallied(connection, None if beside is None else {row[_KEY] for row in rows})
    values = (
        (
            *(names[question], models[model], conditions[condition], repeat, outcome, value, verdict),
            *facts[question],
            *(tokens, cost, simulated[model], trial, ran_out),
            *tallied.get(key, _UNTALLIED),
        )
        for question, model, condition, repeat, outcome, value, verdict, tokens, cost, trial, ran_out, key, *_ in rows
    )
    return values, (row[_KEY + 1 :] for row in rows)


def read_scored(connection: sqlite3.Connection, run: str | None) -> Columns:
    """All scores of the trials of `read_summaries`, without the texts in them. Raises InputError for a run that is not
    there, sqlite3.Error."""
    key = None if run is None else run_key(connection, run)
    rows = connection.execute(_SCORED, {"run": key})
    return _by_column(("trial", "scorer", "scorer_version", "value", "verdict"), rows)


Keys = Set[int]


def seen_conditions(connection: sqlite3.Connection) -> dict[int, str]:
    """The conditions of plans under which trials have ended, as summaries call them. Raises sqlite3.Error."""
    return shown_names(connection, "conditions", _seen_in_all(connection, ())[2])


def _seen(rows: Sequence[Any]) -> tuple[Keys, Keys, Keys]:
    """The questions, models and conditions that rows are of."""
    questions, models, conditions = ({row[column] for row in rows} for column in range(3))
    return questions, models, conditions


def _seen_in_all(connection: sqlite3.Connection, questions: Iterable[int]) -> tuple[Keys, Keys, Keys]:
    """The same of all ended trials of plans; of their questions those that share a name with `questions`."""
    of_plans = {key for (key,) in connection.execute("SELECT key FROM conditions WHERE parent IS NULL")}
    arms = [
        arm
        for arm in connection.execute("SELECT DISTINCT model, condition FROM trials WHERE outcome NOT NULL")
        if arm[1] in of_plans
    ]
    namesakes = {key for question in questions for (key,) in connection.execute(_NAMESAKES, (question,))}
    ended = {
        key
        for key in namesakes
        for (condition,) in connection.execute(
            "SELECT DISTINCT condition FROM trials WHERE question = ? AND outcome NOT NULL", (key,)
        )
        if condition in of_plans
    }
    return ended, {model for model, _ in arms}, {condition for _, condition in arms}


def _facts(connection: sqlite3.Connection, among: Keys | None) -> dict[int, tuple[Any, ...]]:
    """Cluster, domain, difficulty, language, kind and metadata of each question."""
    query, values = _among("SELECT key, cluster, domain, difficulty, language, body FROM questions", "key", among)
    rows = connection.execute(query, values).fetchall()
    reader = TextReader(connection)
    found = {}
    for key, *of_question, body in rows:
        # Without its documents, which may be long, and its other texts.
        content = parse(body)
        target, metadata = (reader.unpacked(content.get(name, {})) for name in ("target", "metadata"))
        found[key] = (*of_question, _kind_of({"target": target}), _texts(metadata))
    return found


def _texts(metadata: Mapping[str, Any]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What questions can be grouped by: texts, numbers and truth values, and lists of them."""
    lists = {key: value if isinstance(value, list) else [value] for key, value in metadata.items()}
    texts = {key: tuple(dict.fromkeys(filter(None, map(_text, values)))) for key, values in lists.items()}
    return tuple((key, values) for key, values in texts.items() if values)


def _text(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _kind_of(question: Mapping[str, Any]) -> str:
    """`choice`, `several` (a choice of several letters), `number`, `spans` or `reference`, by what a stored question
    says."""
    target = question["target"]
    several = target["kind"] == "choice" and len(target["letters"]) > 1
    return "several" if several else str(target["kind"])


def _among(query: str, column: str, keys: Keys | None) -> tuple[str, tuple[str, ...]]:
    if keys is None:
        return query, ()
    return " ".join((query, "WHERE", column, "IN (SELECT value FROM json_each(?))")), (json.dumps(list(keys)),)


def _tallied(connection: sqlite3.Connection, among: Keys | None) -> dict[int, tuple[Any, ...]]:
    """Lookups, misses, leaks, results withheld, calls refused and questions cut, as a TrialSummary has them, of the
    traces that have any."""
    lookups = _by_trace(connection, *_among("SELECT trace, miss, count FROM lookups", "trace", among))
    markers = {
        key: dict(found)
        for key, found in _by_trace(
            connection, *_among("SELECT trace, kind, count FROM markers", "trace", among)
        ).items()
    }
    return {
        key: (
            sum(count for _, count in lookups.get(key, ())),
            tuple((miss, count) for miss, count in lookups.get(key, ()) if miss),
            markers.get(key, {}).get("answer_leak", 0),
            markers.get(key, {}).get("withheld", 0),
            tuple(
                (why, tool, count)
                for kind, count in markers.get(key, {}).items()
                for why, of_tool, tool in [kind.partition(":")]
                if of_tool
            ),
            INPUT_CUT in markers.get(key, {}),
        )
        for key in lookups.keys() | markers.keys()
    }


def _by_trace(connection: sqlite3.Connection, query: str, values: Sequence[str]) -> dict[int, list[tuple[Any, int]]]:
    counted: dict[int, list[tuple[Any, int]]] = {}
    for trace, what, count in sorted(connection.execute(query, values)):
        counted.setdefault(trace, []).append((what, count))
    return counted


def read_scorers(connection: sqlite3.Connection) -> list[str]:
    return [row[0] for row in connection.execute("SELECT DISTINCT scorer FROM scores ORDER BY scorer")]


def check_scorers(connection: sqlite3.Connection, scorers: Sequence[str]) -> None:
    """Raises InputError for one that is not there, or where several are and none is named; sqlite3.Error."""
    # Each is found at once where it is there; to look for all that there are takes a look at every score.
    if scorers and all(connection.execute(_HAS_SCORED, (scorer,)).fetchone() for scorer in set(scorers)):
        return
    known = read_scorers(connection)
    if not scorers:
        query = "SELECT 1 FROM scores GROUP BY trial HAVING count(DISTINCT scorer) > 1 LIMIT 1"
        if len(known) > 1 and connection.execute(query).fetchone():
            raise InputError(
                f"Several scorers graded these trials: {', '.join(known)}",
                hint="Say which one to compare by.",
                code="several_scorers",
            )
    for scorer in set(scorers) - set(known):
        raise InputError(
            f"There are no scores by a scorer {scorer!r}",
            hint=f"Scorers in this store: {', '.join(known) or 'none'}.",
            code="unknown_scorer",
        )


def values_beside(
    connection: sqlite3.Connection, trial: str, condition: str, *, scorers: Sequence[str], run: str | None
) -> dict[str, list[float]]:
    """Raises InputError for a run that is not there or not clear, sqlite3.Error."""
    key = None if run is None else run_key(connection, run)
    values: dict[str, list[float]] = {}
    named = {"trial": trial, "condition": condition, "scorers": json.dumps(list(scorers)), "run": key}
    for question, value, _ in connection.execute(_VALUES, named):
        if value is not None:
            values.setdefault(question, []).append(value)
    return values


@dataclass(frozen=True, slots=True)
class FailureCount:
    """How many trials of one model failed for one reason.

    `boundary` and `code` are those of the last failure of each trial's trace, `message` is that of one of them,
    `trial` its id. `boundary` is None, `code` and `message` are empty, where the traces hold no failure that tells.
    """

    model: str
    boundary: Boundary | None
    code: str
    message: str
    count: int
    trial: str


# Why trials failed.


# The events of a failed trace are rows, and those of failures are not compressed.
# SQLite fills the bare columns of a min() from the row that holds the minimum: the first of the trials.
_FAILURES = """
WITH failed AS (
    SELECT trials.key AS trial, trials.id AS id, trials.model AS model, traces.key AS trace,
        (SELECT body FROM events WHERE trace = traces.key AND kind = 'failure' ORDER BY seq DESC LIMIT 1) AS body
    FROM trials JOIN traces ON traces.key = trials.current
        JOIN conditions ON conditions.key = trials.condition AND conditions.parent IS NULL
    WHERE traces.outcome = 'failed'
        AND (:run IS NULL OR trials.key IN (SELECT trial FROM run_trials WHERE run = :run))
)
SELECT model, trace, count(*), id, min(trial) FROM failed
GROUP BY model, json_extract(CAST(body AS TEXT), '$.boundary'), json_extract(CAST(body AS TEXT), '$.code')
ORDER BY count(*) DESC, min(trial)
"""


def read_failures(connection: sqlite3.Connection, run: str | None) -> tuple[FailureCount, ...]:
    """Raises InputError for a run that is not there, StoreError for a damaged event, sqlite3.Error."""
    key = None if run is None else run_key(connection, run)
    models = shown_names(connection, "models")
    counts = []
    for model, trace, count, trial, _ in connection.execute(_FAILURES, {"run": key}).fetchall():
        events = read_events(connection, trace, TextReader(connection))
        last: dict[str, Any] = next((event for event in reversed(events) if event["kind"] == "failure"), {})
        counts.append(
            FailureCount(
                model=models[model],
                boundary=last.get("boundary"),
                code=last.get("code", ""),
                message=last.get("message", ""),
                count=count,
                trial=trial,
            )
        )
    return tuple(counts)


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """What came of one trial that goes on from an event of another one.

    `trial` is its id; `resumption` names its parent, the event and the change, and is shared by its repeats. `outcome`
    is None where no attempt at it has ended. `value` is in [0, 1], or None where there is no score, as where it failed;
    `answered` is the answer as the scorer read it.
    """

    trial: str
    resumption: Resumption
    outcome: Outcome | None
    value: float | None
    verdict: Verdict | None
    answered: tuple[str, ...] = ()


# The trials that go on from others: which there are, and what came of them, without their events.


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
