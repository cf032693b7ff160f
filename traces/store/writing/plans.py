"""How runs and their trials are entered, those that go on from others, and what is to be replayed."""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from toolablate.traces.errors import StoreError
from toolablate.traces.records import Condition, Model, Question, Record, ReplayDesign, Run, Trial
from toolablate.traces.store.content.digests import content_digest, listing_digest, record_content
from toolablate.traces.store.content.worlds import require_same_world
from toolablate.traces.store.writing.attempts import unplanned
from toolablate.traces.store.writing.said import drop_scores_of_another_target
from toolablate.traces.store.writing.writer import Desk


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
            drop_scores_of_another_target(desk, question)
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
            _put_condition(desk, condition)
        keys = _put_trials(desk, trials)
        key = _put_run(desk, run, keys)
        desk.connection.execute("UPDATE recorders SET run = ? WHERE key = ?", (key, recorder))

    return write


def _put_condition(desk: Desk, condition: Condition) -> None:
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


def _put_trials(desk: Desk, trials: Sequence[Trial]) -> dict[int, str]:
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


def resume(
    world: Mapping[str, str], conditions: Sequence[Condition], trials: Sequence[Trial], *, store: Path
) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        require_same_world(desk.connection, store, world)
        for condition in conditions:
            _put_condition(desk, condition)
        _put_trials(desk, trials)

    return write


def keep_design(design: ReplayDesign) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        content = record_content(design)
        desk.connection.execute(
            # One that is asked for again gets a new key, behind all others.
            "INSERT OR REPLACE INTO designs (id, digest, body) VALUES (?, ?, ?)",
            (design.identity(), content_digest(content), desk.texts.pack(content)),
        )

    return write


def finished_trials(desk: Desk) -> frozenset[str]:
    """Counterfactuals among them."""
    rows = desk.connection.execute("SELECT id FROM trials WHERE outcome <> 'failed'")
    return frozenset(row[0] for row in rows)
