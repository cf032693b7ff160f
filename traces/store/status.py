"""How far a store's trials are, and who runs them; read without importing any record."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from os import PathLike
from pathlib import Path

from toolablate.traces.store.file import lives, open_reader, reading, uptime
from toolablate.traces.store.workers import NoWorker, WorkerStanding, read_workers

SHORT_ID = 8


def shown_names(connection: sqlite3.Connection, table: str, among: Container[int] | None = None) -> dict[int, str]:
    """How each row is called: by its name, or by its name and the beginning of its id where names are shared.

    `table` is one of our own; `among` holds the keys of the rows that are shown together, by default all. Raises
    sqlite3.Error.
    """
    found = connection.execute(f"SELECT key, name, id FROM {table}").fetchall()  # noqa: S608 - our names
    rows = [row for row in found if among is None or row[0] in among]
    shared = Counter(name for _, name, _ in rows)
    return {key: name if shared[name] == 1 else f"{name}@{identity[:SHORT_ID]}" for key, name, identity in rows}


# How far a store's trials are, and who is at them. Light to import: `status` reads nothing else.


_UNSCORED = """
SELECT count(*) FROM trials WHERE outcome IN ('answered', 'budget')
    AND condition NOT IN (SELECT key FROM conditions WHERE parent NOT NULL)
    AND NOT EXISTS (SELECT 1 FROM scores WHERE scores.trial = trials.key AND scores.trace = trials.current)
"""


_SPENT = """
SELECT count(*), sum(cost_usd), count(*) - count(cost_usd),
    coalesce(sum(coalesce(input_tokens, 0) + coalesce(output_tokens, 0)), 0)
FROM traces WHERE outcome NOT NULL
"""


@dataclass(frozen=True, slots=True)
class TrialCounts:
    """Trials of plans of one model under one condition, by what became of them; the five add up to `planned`.

    `running`: a living recorder has begun it, be it for the first time or after failures. `pending`: never begun, or by
    a recorder that is gone without having ended it.
    """

    model: str
    condition: str
    planned: int
    answered: int
    budget: int
    failed: int
    running: int
    pending: int


@dataclass(frozen=True, slots=True)
class LivingRecorder:
    """A process that writes the store: its id on its machine (or in its container), since when, how many trials it is
    at, how many attempts it has ended and what its run waits for, in words."""

    pid: int
    since: datetime
    running: int
    ended: int
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spending:
    """What attempts that have ended took, replays and failed ones among them: `usd` is None where no cost is known,
    `unpriced` counts attempts whose cost is not; `tokens` are those that are known, in and out."""

    attempts: int = 0
    usd: float | None = None
    unpriced: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Standing:
    """A store at one moment. `unscored` counts trials of plans that have ended and have no score, by no scorer;
    `workers` are those of a run on a cluster, which has `no_worker` while none of them is ready."""

    at: datetime
    counts: tuple[TrialCounts, ...]
    recorders: tuple[LivingRecorder, ...]
    unscored: int = 0
    spent: Spending = Spending()
    workers: tuple[WorkerStanding, ...] = ()
    no_worker: NoWorker | None = None

    @property
    def ended_per_minute(self) -> float | None:
        """Attempts that the living recorders end per minute, since each began; None before the first."""
        rates = [each.ended / max((self.at - each.since).total_seconds(), 1.0) for each in self.recorders]
        return sum(rates) * 60 or None

    @property
    def seconds_left(self) -> float | None:
        """Until no trial is running or pending, at the rate so far; None where nothing can be said, as while no worker
        is ready."""
        if self.no_worker is not None:
            return None
        left, rate = sum(row.running + row.pending for row in self.counts), self.ended_per_minute
        return left / rate * 60 if rate and left else None


def standing(path: str | PathLike[str]) -> Standing:
    """Raises StoreError where the path holds no store that can be read."""
    store = Path(path)
    connection = open_reader(store)
    try:
        with reading(store):
            return read_standing(connection, store)
    finally:
        connection.close()


def read_standing(connection: sqlite3.Connection, store: Path) -> Standing:
    """Raises sqlite3.Error."""
    with at_one_moment(connection):
        return _read(connection, store)


@contextmanager
def at_one_moment(connection: sqlite3.Connection) -> Iterator[None]:
    """What is read within is of one moment of the store, whatever is written meanwhile; also where it is nested."""
    if connection.in_transaction:
        yield
        return
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


def _read(connection: sqlite3.Connection, store: Path) -> Standing:
    rows = connection.execute("SELECT key, pid, clock, ended, waits_for FROM recorders ORDER BY key").fetchall()
    living = [row for row in rows if lives(store, row[0])]
    running, at_work = _running(connection, {row[0] for row in living})
    at, clock = datetime.now(UTC), uptime()
    workers, no_worker = read_workers(store)
    return Standing(
        at=at,
        counts=_counts(connection, running),
        unscored=connection.execute(_UNSCORED).fetchone()[0],
        spent=Spending(*connection.execute(_SPENT).fetchone()),
        workers=workers,
        no_worker=no_worker,
        recorders=tuple(
            LivingRecorder(
                pid, at - timedelta(seconds=max(clock - since, 0)), at_work[key], ended, tuple(waits_for.splitlines())
            )
            for key, pid, since, ended, waits_for in living
        ),
    )


_Arm = tuple[int, int]


def _running(connection: sqlite3.Connection, living: set[int]) -> tuple[dict[_Arm, Counter[str | None]], Counter[int]]:
    """What is claimed by living recorders: by model and condition the outcomes so far, and the trials of each."""
    by_arm: dict[_Arm, Counter[str | None]] = defaultdict(Counter)
    by_recorder: Counter[int] = Counter()
    for recorder, model, condition, outcome in connection.execute(
        "SELECT recorder, model, condition, outcome FROM claims JOIN trials ON trials.key = claims.trial"
    ):
        if recorder in living:
            by_arm[model, condition][outcome] += 1
            by_recorder[recorder] += 1
    return by_arm, by_recorder


def _counts(connection: sqlite3.Connection, running: dict[_Arm, Counter[str | None]]) -> tuple[TrialCounts, ...]:
    found: dict[_Arm, Counter[str | None]] = defaultdict(Counter)
    for model, condition, outcome, count in connection.execute(
        "SELECT model, condition, outcome, count(*) FROM trials GROUP BY model, condition, outcome"
    ):
        found[model, condition][outcome] = count
    of_plans = {key for (key,) in connection.execute("SELECT key FROM conditions WHERE parent IS NULL")}
    models, conditions = shown_names(connection, "models"), shown_names(connection, "conditions", of_plans)
    counted = []
    for (model, condition), all_of in sorted(found.items()):
        if condition not in conditions:
            continue
        at_work = running.get((model, condition), Counter())
        left = {outcome: all_of[outcome] - at_work[outcome] for outcome in ("answered", "budget", "failed", None)}
        counted.append(
            TrialCounts(
                model=models[model],
                condition=conditions[condition],
                planned=all_of.total(),
                answered=left["answered"],
                budget=left["budget"],
                failed=left["failed"],
                running=at_work.total(),
                pending=left[None],
            )
        )
    return tuple(counted)
