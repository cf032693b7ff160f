"""What is written, by subject: plans, attempts and their events, scores, diagnoses and labels."""

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import (
    Answer,
    Condition,
    Diagnosis,
    Environment,
    Label,
    Model,
    Question,
    Record,
    ReplayDesign,
    Run,
    Score,
    Trace,
    Trial,
)
from toolablate.traces.store.digests import (
    content_digest,
    listing_digest,
    may_count,
    record_content,
    tallies,
    write_tallies,
)
from toolablate.traces.store.file import lives
from toolablate.traces.store.texts import TextReader, TracePacker, seal, shrink_row
from toolablate.traces.store.writer import Desk

# How an attempt at a trial is written: begun under a claim, its events, its end.


@dataclass(slots=True)
class Attempt:
    """An attempt at a trial by one recorder. `trial_key`, `key` and `number` are known once the writer has begun it."""

    trial: Trial
    started_at: datetime
    environment: Environment
    recorder: int
    trial_key: int = 0
    key: int = 0
    number: int = 0
    packer: TracePacker = field(default_factory=TracePacker)


def begin(attempt: Attempt, store: Path) -> Callable[[Desk], bool]:
    """Claims the trial and begins the attempt; False where it is finished or a living recorder is at it."""

    def write(desk: Desk) -> bool:
        row = desk.connection.execute(
            "SELECT trials.key, trials.outcome, claims.recorder,"
            " (SELECT coalesce(max(attempt), 0) + 1 FROM traces WHERE trial = trials.key)"
            " FROM trials LEFT JOIN claims ON claims.trial = trials.key WHERE trials.id = ?",
            (attempt.trial.id,),
        ).fetchone()
        if row is None:
            raise unplanned(attempt.trial.id)
        trial, outcome, holder, number = row
        if outcome in ("answered", "budget"):
            return False
        if holder is not None and (holder == attempt.recorder or lives(store, holder)):
            return False
        environment = desk.texts.put_json(record_content(attempt.environment))
        cursor = desk.connection.execute(
            "INSERT INTO traces (trial, attempt, started_at, environment) VALUES (?, ?, ?, ?)",
            (trial, number, attempt.started_at.isoformat(), environment),
        )
        attempt.trial_key, attempt.key, attempt.number = int(trial), int(cursor.lastrowid or 0), int(number)
        desk.connection.execute(
            "INSERT OR REPLACE INTO claims (trial, trace, recorder) VALUES (?, ?, ?)",
            (trial, attempt.key, attempt.recorder),
        )
        return True

    return write


def unplanned(trial: str) -> StoreError:
    return StoreError(
        f"Trial {trial} is not planned in this store",
        hint="Enter the run with Recorder.plan first.",
        code="unknown_trial",
    )


def event(attempt: Attempt, seq: int, content: dict[str, Any]) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        desk.connection.execute(
            "INSERT INTO events (trace, seq, kind, body) VALUES (?, ?, ?, ?)",
            (attempt.key, seq, content["kind"], shrink_row(attempt.packer.pack(content, desk.texts))),
        )

    return write


def finish(attempt: Attempt, trace: Trace, digest: str) -> Callable[[Desk], None]:
    """The row's end, its tallies, which trace counts for the trial, and the end of the claim, in one transaction.

    The events of one that counts become a block; a failed one is read by SQL, and is not kept for long.
    """
    # Of most events nothing need be made into JSON again.
    found = tallies(map(record_content, filter(may_count, trace.events)))
    usage, last = trace.usage, next(reversed(trace.events), None)
    ended = (
        trace.outcome,
        trace.seconds,
        usage.input_tokens,
        usage.output_tokens,
        usage.cached_tokens,
        usage.reasoning_tokens,
        usage.cache_write_tokens,
        trace.cost_usd,
        len(trace.events),
        bytes.fromhex(digest),
        last.limit if isinstance(last, Answer) else None,
        attempt.key,
    )

    def write(desk: Desk) -> None:
        desk.connection.execute(
            "UPDATE traces SET outcome = ?, seconds = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?,"
            " reasoning_tokens = ?, cache_write_tokens = ?, cost_usd = ?, events = ?, digest = ?, ran_out = ?"
            " WHERE key = ?",
            ended,
        )
        write_tallies(desk.connection, attempt.key, found)
        if trace.outcome != "failed":
            seal(desk.connection, desk.bases, attempt.key)
        desk.connection.execute(
            "UPDATE trials SET current = ?1, outcome = ?3 WHERE key = ?2"
            " AND (?3 <> 'failed' OR outcome IS NULL OR outcome = 'failed')",
            (attempt.key, attempt.trial_key, trace.outcome),
        )
        desk.connection.execute("DELETE FROM claims WHERE trial = ? AND trace = ?", (attempt.trial_key, attempt.key))
        desk.connection.execute("UPDATE recorders SET ended = ended + 1 WHERE key = ?", (attempt.recorder,))

    return write


# What is said of finished traces: by scorers, by judges of failures, by people.


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
        "SELECT trials.key, current, outcome, lower(hex(target)) FROM trials"
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
    return int(row[0]), int(row[1]), str(row[3])


def drop_scores_of_another_target(desk: Desk, question: Question) -> None:
    """After a mended answer key no score of the question stands, under whatever condition or scorer. One of a checklist
    stays as one only begun: what a mapper extracted, and what was judged by a reference that is the same, still holds.
    """
    find = "SELECT key, lower(hex(target)) FROM questions WHERE id = ?"
    row = desk.connection.execute(find, (question.identity(),)).fetchone()
    if row is not None and row[1] != question.key_identity():
        of_question = "FROM scores WHERE trial IN (SELECT key FROM trials WHERE question = ?)"
        reader = TextReader(desk.connection)
        bodies = desk.connection.execute(f"SELECT body {of_question}", (row[0],)).fetchall()
        made = [Score.model_validate(reader.unpack(body)) for (body,) in bodies]
        desk.connection.execute(f"DELETE {of_question}", (row[0],))
        score([_begun(each) for each in made if each.mapping is not None])(desk)


def _begun(given: Score) -> Score:
    return Score(
        trial=given.trial,
        scorer=given.scorer,
        scorer_version=given.scorer_version,
        verdict="unscored",
        reason="begun: the reference was mended",
        mapping=given.mapping,
        judgement=given.judgement,
    )


def diagnose(diagnoses: Sequence[Diagnosis]) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        for given in diagnoses:
            trial, trace, _ = scorable(desk.connection, given.trial)
            content = record_content(given)
            desk.connection.execute(
                "INSERT OR REPLACE INTO diagnoses (trial, judge, wording, trace, digest, body)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (trial, given.judge, given.wording, trace, content_digest(content), desk.texts.pack(content)),
            )

    return write


def keep_label(label: Label) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        trial, trace, _ = scorable(desk.connection, label.trial)
        content = record_content(label)
        desk.connection.execute(
            "INSERT INTO labels (trial, trace, person, digest, body) VALUES (?, ?, ?, ?, ?)",
            (trial, trace, label.person, content_digest(content), desk.texts.pack(content)),
        )

    return write


# A store holds one environment: what the tools of its trials stood on.


IMPORTED = "imported"
"""The part of a fingerprint that tells that trials come from logs of other harnesses."""


_OWN = ("tool ", "intervention ")
"""How the parts begin that are digests of modules of the user's own."""

_UNDER_ANOTHER_NAME = "; or mend its module under another name (my_tools_2): its own conditions alone are then run anew"


def require_same_environment(connection: sqlite3.Connection, store: Path, fingerprint: Mapping[str, str]) -> None:
    """Refuses a run whose trials could not be compared with those that are done, or that a living recorder is at.

    Raises InputError, StoreError where a run is damaged, sqlite3.Error.
    """
    earlier = _earlier_fingerprint(connection, store)
    if IMPORTED in earlier and IMPORTED not in fingerprint:
        raise InputError(
            f"{store} has imported trials: their models cannot be called, and no trials can be added",
            hint="name another store (--store) for what is to be run",
            code="imported",
        )
    for part in sorted(fingerprint.keys() & earlier.keys()):
        if fingerprint[part] != earlier[part]:
            raise InputError(
                f"the trials in {store} ran with {part} = {earlier[part]!r}; this plan says {fingerprint[part]!r}",
                hint="trials of two environments cannot be compared: name another store (--store), or change it back"
                + (_UNDER_ANOTHER_NAME if part.startswith(_OWN) else ""),
                code="other_environment",
            )


def _earlier_fingerprint(connection: sqlite3.Connection, store: Path) -> dict[str, str]:
    """Where no trial is done, what earlier runs stood on binds nobody but those who are at it."""
    runs = connection.execute("SELECT key, body FROM runs ORDER BY key").fetchall()
    if not connection.execute("SELECT 1 FROM trials WHERE outcome IN ('answered', 'budget') LIMIT 1").fetchone():
        recorders = connection.execute("SELECT key, run FROM recorders WHERE run NOT NULL").fetchall()
        living = {run for recorder, run in recorders if lives(store, recorder)}
        runs = [run for run in runs if run[0] in living]
    return _together(connection, [body for _, body in runs])


def fingerprint_of_runs(connection: sqlite3.Connection) -> dict[str, str]:
    """What all runs of a store stood on, done or not. Raises StoreError where one is damaged, sqlite3.Error."""
    return _together(connection, [body for (body,) in connection.execute("SELECT body FROM runs ORDER BY key")])


def _together(connection: sqlite3.Connection, runs: Sequence[bytes]) -> dict[str, str]:
    reader = TextReader(connection)
    fingerprints = [reader.unpack(body).get("fingerprint", {}) for body in runs]
    return {part: value for fingerprint in fingerprints for part, value in fingerprint.items()}


# How runs and their trials are entered, those that go on from others, and what is to be replayed.


PLANNING_KIB = 131_072
"""Of SQLite's cache while trials are entered, in place of its 2,000 by default."""

MANY_TRIALS = 5_000
"""From so many on a new store's indexes are made when its trials are in."""


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
        require_same_environment(desk.connection, store, run.fingerprint)
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
    questions, models, conditions = (_keys(desk.connection, table) for table in ("questions", "models", "conditions"))
    number = max(keys.values(), default=0)
    planned: dict[int, str] = {}

    def new() -> Iterator[tuple[int, str, int, int, int, int]]:
        """Row by row, since a plan may call for a million."""
        nonlocal number
        for trial in trials:
            identity = trial.id
            key = keys.get(identity)
            if key is None:
                key = keys[identity] = number = number + 1
                try:
                    of = questions[trial.question], models[trial.model], conditions[trial.condition]
                except KeyError as missing:
                    kinds = {trial.question: "question", trial.model: "model", trial.condition: "condition"}
                    kind = kinds[missing.args[0]]
                    raise StoreError(
                        f"Trial {identity} names the {kind} {missing.args[0]}, which is not in the store",
                        hint=f"Enter the {kind}s of a run together with its trials.",
                        code="unknown_reference",
                    ) from None
                yield key, identity, *of, trial.repeat
            planned[key] = identity

    # Ids come in no order, and their index grows to 50 bytes a trial: what is not held is read again for each.
    desk.connection.execute(f"PRAGMA cache_size = -{PLANNING_KIB}")
    try:
        first = not keys and len(trials) >= MANY_TRIALS
        with _indexed_afterwards(desk.connection) if first else nullcontext():
            # A row by a statement: of one that enters several, SQLite keeps each page as it was, to undo it alone.
            desk.connection.executemany(
                "INSERT INTO trials (key, id, question, model, condition, repeat) VALUES (?, ?, ?, ?, ?, ?)", new()
            )
    finally:
        desk.connection.execute("PRAGMA cache_size = -2000")
    return planned


@contextmanager
def _indexed_afterwards(connection: sqlite3.Connection) -> Iterator[None]:
    """Makes the indexes of `trials` when its rows are in: to sort a million takes half of what it takes to put each in
    its place. Within the transaction of who calls, so that nobody sees the table without them."""
    indexes = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'trials' AND sql NOT NULL"
    ).fetchall()
    for name, _ in indexes:
        connection.execute(f"DROP INDEX {name}")
    yield
    for _, made in indexes:
        connection.execute(made)


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
        "INSERT INTO run_trials (run, trial) SELECT ?, key FROM trials WHERE key BETWEEN ? AND ? ORDER BY key",
        ((cursor.lastrowid, *stretch) for stretch in _stretches(planned)),
    )
    return int(cursor.lastrowid or 0)


def _stretches(keys: Sequence[int]) -> Iterator[tuple[int, int]]:
    """First and last of keys that follow one another; `keys` rise."""
    if not keys:
        return
    first = last = keys[0]
    for key in keys[1:]:
        if key != last + 1:
            yield first, last
            first = key
        last = key
    yield first, last


def _keys(connection: sqlite3.Connection, table: str) -> dict[str, int]:
    return dict(connection.execute(f"SELECT id, key FROM {table}"))  # noqa: S608 - our names


def resume(
    fingerprint: Mapping[str, str], conditions: Sequence[Condition], trials: Sequence[Trial], *, store: Path
) -> Callable[[Desk], None]:
    def write(desk: Desk) -> None:
        require_same_environment(desk.connection, store, fingerprint)
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
    return frozenset(chain.from_iterable(desk.connection.execute("SELECT id FROM trials WHERE outcome <> 'failed'")))
