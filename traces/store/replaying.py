"""Whether a replayed run gave the same as the run that was recorded."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from toolablate.traces.errors import InputError
from toolablate.traces.records import Trace
from toolablate.traces.records.difference import first_difference
from toolablate.traces.store._digests import replay_content, replay_digest
from toolablate.traces.store._errors import reading
from toolablate.traces.store._open import open_reader
from toolablate.traces.store.store import Store


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """Where the traces of one trial first differ: `path` as in `events[3].reply.message.content`, and what stands there
    in the two stores, shortened."""

    trial: str
    path: str
    here: str
    there: str


@dataclass(frozen=True, slots=True)
class SameReport:
    """How the trials of two stores compare. `same` counts those whose replay digests are equal; `failed` those that
    infrastructure spoiled in both, each in its own way; `only_here` and `only_there` those that have ended in one."""

    here: str
    there: str
    same: int
    failed: int
    only_here: int
    only_there: int
    differences: tuple[TraceDifference, ...]

    @property
    def ok(self) -> bool:
        return not self.differences


def same_as(here: str | PathLike[str], there: str | PathLike[str]) -> SameReport:
    """Compares what a replay has to give again, for all trials that have ended in both stores.

    Raises InputError where there are none; StoreError where one is no store, or damaged.
    """
    left, right = _ended(Path(here)), _ended(Path(there))
    both = sorted(left & right)
    if not both:
        raise InputError(
            f"{here} and {there} have no trial in common that has ended in both",
            hint="A replay has the same questions, models and conditions, by a plan that differs in its mode alone.",
            code="nothing_in_common",
        )
    same = failed = 0
    differences = []
    with Store(here) as one, Store(there) as other:
        for trial in both:
            ours, theirs = one.trace(trial), other.trace(trial)
            if replay_digest(ours) == replay_digest(theirs):
                same += 1
            elif ours.outcome == theirs.outcome == "failed":
                failed += 1
            else:
                differences.append(_difference(trial, ours, theirs))
    return SameReport(str(here), str(there), same, failed, len(left - right), len(right - left), tuple(differences))


def _ended(store: Path) -> frozenset[str]:
    with closing(open_reader(store)) as connection, reading(store):
        return _ids(connection)


def _ids(connection: sqlite3.Connection) -> frozenset[str]:
    return frozenset(identity for (identity,) in connection.execute("SELECT id FROM trials WHERE current NOT NULL"))


def _difference(trial: str, ours: Trace, theirs: Trace) -> TraceDifference:
    found = first_difference(replay_content(ours), replay_content(theirs))
    assert found is not None
    return TraceDifference(trial, found.path, *found.shown())
