"""What a recorder writes, as functions that run inside the writer's transaction."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Condition, Model, Question, Record, Run, Score, Trial
from toolablate.traces.store._attempts import unplanned
from toolablate.traces.store._digests import content_digest, listing_digest, record_content
from toolablate.traces.store._texts import TextReader
from toolablate.traces.store._worlds import require_same_world
from toolablate.traces.store._writer import Desk


def plan(
    run: Run,
    questions: Sequence[Question],
    models: Sequence[Model],
    conditions: Sequence[Condition],
    trials: Sequence[Trial],
    *,
    store: Path,
    recorder: int,
) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        require_same_world(desk.connection, store, run.world)
        for question in questions:
            _drop_scores_of_another_target(desk, question)
            _put(
                desk,
                "questions",
                question,
                question.identity(),
                name=question.id,
                domain=question.domain,
                difficulty=question.difficulty,
                language=question.language,
                cluster=question.cluster,
                target=bytes.fromhex(question.key_identity()),
            )
        for model in models:
            simulated = int(model.provider == "simulated")
            _put(desk, "models", model, model.identity(), name=model.name, simulated=simulated)
        for condition in conditions:
            put_condition(desk, condition)
        keys = put_trials(desk, trials)
        key = _put_run(desk, run, keys)
        desk.connection.execute("UPDATE recorders SET run = ? WHERE key = ?", (key, recorder))

    return write


def _drop_scores_of_another_target(desk: Desk, question: Question) -> None:
    """After a mended answer key no score of the question stands, under whatever condition or scorer."""
    find = "SELECT key, target, body FROM questions WHERE id = ?"
    row = desk.connection.execute(find, (question.identity(),)).fetchone()
    if row is not None and _target_of(desk.connection, row[1], row[2]) != question.key_identity():
        desk.connection.execute(
            "DELETE FROM scores WHERE trial IN (SELECT key FROM trials WHERE question = ?)", (row[0],)
        )


def _target_of(connection: sqlite3.Connection, target: bytes | None, body: bytes) -> str:
    """The identity of a question's present answer key; an older toolablate kept it in the question alone, and knew no
    rubrics."""
    return (target or content_digest(TextReader(connection).unpack(body)["target"])).hex()


def put_condition(desk: Desk, condition: Condition) -> None:
    """Raises StoreError where its trials would go on from one that is not there."""
    parent = condition.resumed.trial if condition.resumed else None
    if parent and not desk.connection.execute("SELECT 1 FROM trials WHERE id = ?", (parent,)).fetchone():
        raise unplanned(parent)
    _put(desk, "conditions", condition, condition.identity(), name=condition.name, parent=parent)


def _put(desk: Desk, table: str, record: Record, identity: str, **columns: str | int | bytes | None) -> None:
    content = record_content(record)
    values = {"id": identity, **columns, "digest": content_digest(content), "body": desk.texts.pack(content)}
    names = [name for name in values if name not in ("id", "body")]
    updates = ", ".join(f"{name} = excluded.{name}" for name in (*names, "body"))
    held, given = ", ".join(f"{table}.{name}" for name in names), ", ".join(f"excluded.{name}" for name in names)
    desk.connection.execute(
        f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})"  # noqa: S608 - our names
        f" ON CONFLICT (id) DO UPDATE SET {updates} WHERE ({held}) IS NOT ({given})",
        tuple(values.values()),
    )


def put_trials(desk: Desk, trials: Sequence[Trial]) -> dict[int, str]:
    """Ids of the trials by their keys."""
    keys = _keys(desk.connection, "trials")
    new = {trial.id: trial for trial in trials if trial.id not in keys}
    known = {table: _keys(desk.connection, table) for table in ("questions", "models", "conditions")} if new else {}

    def key(table: str, identity: str, trial: Trial) -> int:
        try:
            return known[table][identity]
        except KeyError:
            raise StoreError(
                f"Trial {trial.id} names the {table[:-1]} {identity}, which is not in the store",
                hint=f"Enter the {table} of a run together with its trials.",
                code="unknown_reference",
            ) from None

    last = max(keys.values(), default=0)
    rows = [
        (
            number,
            trial.id,
            key("questions", trial.question, trial),
            key("models", trial.model, trial),
            key("conditions", trial.condition, trial),
            trial.repeat,
        )
        for number, trial in enumerate(new.values(), start=last + 1)
    ]
    desk.connection.executemany(
        "INSERT INTO trials (key, id, question, model, condition, repeat) VALUES (?, ?, ?, ?, ?, ?)", rows
    )
    keys.update((identity, number) for number, identity in enumerate(new, start=last + 1))
    return {keys[trial.id]: trial.id for trial in trials}


def _put_run(desk: Desk, run: Run, trials: dict[int, str]) -> int:
    content = record_content(run)
    digest = content_digest(content)
    row = desk.connection.execute("SELECT digest FROM runs WHERE id = ?", (run.id,)).fetchone()
    if row is not None:
        raise StoreError(f"The store has a run {run.id} already", hint="Give each run an id of its own.", code="exists")
    planned = sorted(trials)
    listed = listing_digest(trials[key] for key in planned)
    cursor = desk.connection.execute(
        "INSERT INTO runs (id, trials, listed, digest, body) VALUES (?, ?, ?, ?, ?)",
        (run.id, len(planned), listed, digest, desk.texts.pack(content)),
    )
    desk.connection.executemany(
        "INSERT INTO run_trials (run, trial) VALUES (?, ?)", ((cursor.lastrowid, trial) for trial in planned)
    )
    return int(cursor.lastrowid or 0)


def _keys(connection: sqlite3.Connection, table: str) -> dict[str, int]:
    return dict(connection.execute(f"SELECT id, key FROM {table}"))  # noqa: S608 - our names


PLANNED = "condition NOT IN (SELECT key FROM conditions WHERE parent NOT NULL)"
"""Of a row of `trials`: a plan called for it, and it is no counterfactual."""


def finished_trials(desk: Desk) -> frozenset[str]:
    """Counterfactuals among them."""
    rows = desk.connection.execute("SELECT id FROM trials WHERE outcome <> 'failed'")
    return frozenset(row[0] for row in rows)


def read_finished(connection: sqlite3.Connection, *, planned: bool = True) -> frozenset[str]:
    """Of the trials of plans, or of the counterfactuals."""
    which = PLANNED if planned else f"NOT {PLANNED}"
    rows = connection.execute(f"SELECT id FROM trials WHERE outcome <> 'failed' AND {which}")  # noqa: S608 - our own
    return frozenset(row[0] for row in rows)


def read_unscored(
    connection: sqlite3.Connection, scorer: str | None = None, version: int | None = None
) -> frozenset[str]:
    rows = connection.execute(
        "SELECT id FROM trials WHERE outcome <> 'failed'"
        " AND NOT EXISTS (SELECT 1 FROM scores WHERE scores.trial = trials.key AND scores.trace = trials.current"
        " AND (?1 IS NULL OR scores.scorer = ?1) AND (?2 IS NULL OR scores.version = ?2))",
        (scorer, version),
    )
    return frozenset(row[0] for row in rows)


def score(scores: Sequence[Score]) -> Callable[[Desk], frozenset[str]]:
    """Leaves out scores by a target that the question has no more; gives the ids of their trials."""

    def write(desk: Desk) -> frozenset[str]:
        outdated = set()
        for given in scores:
            trial, trace, target = scorable(desk.connection, given.trial)
            if given.target not in ("", target):
                outdated.add(given.trial)
                continue
            content = record_content(given)
            desk.connection.execute(
                "INSERT OR REPLACE INTO scores (trial, scorer, version, trace, value, verdict, digest, body)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    trial,
                    given.scorer,
                    given.scorer_version,
                    trace,
                    given.value,
                    given.verdict,
                    content_digest(content),
                    desk.texts.pack(content),
                ),
            )
        return frozenset(outdated)

    return write


def scorable(connection: sqlite3.Connection, identity: str) -> tuple[int, int, str]:
    row = connection.execute(
        "SELECT trials.key, current, outcome, target, questions.body FROM trials"
        " JOIN questions ON questions.key = question WHERE trials.id = ?",
        (identity,),
    ).fetchone()
    if row is None:
        raise unplanned(identity)
    if row[2] not in ("answered", "budget"):
        raise StoreError(
            f"Trial {identity} has no finished trace that could be scored",
            hint="A trial that infrastructure spoiled is run again, never scored.",
            code="not_scorable",
        )
    return int(row[0]), int(row[1]), _target_of(connection, row[3], row[4])
