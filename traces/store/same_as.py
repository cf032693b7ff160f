"""Whether a replayed run gave the same as the run that was recorded."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from toolablate.traces.errors import InputError
from toolablate.traces.records import Failure, Trace
from toolablate.traces.records.difference import first_difference
from toolablate.traces.store.digests import replay_content, replay_digest
from toolablate.traces.store.file import open_reader, reading
from toolablate.traces.store.store import Store
from toolablate.traces.store.trials import PLANNED

Kind = Literal["other", "answered_later"]


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """Where the traces of one trial first differ: `path` as in `events[3].reply.message.content`, and what stands there
    in the two stores, shortened.

    `answered_later`: it failed there for want of a reply and went on here, the same up to that place. The reply was
    recorded later, when another trial asked for it.
    """

    trial: str
    path: str
    here: str
    there: str
    kind: Kind = "other"


@dataclass(frozen=True, slots=True)
class SameReport:
    """How the trials of two stores compare. `same` counts those whose replay digests are equal; `failed` those that
    failed in both with the same code, whose events are not compared; `only_here` and `only_there` those that have ended
    in one store alone, which is a difference unless the stores may be `partial`."""

    here: str
    there: str
    same: int
    failed: int
    only_here: int
    only_there: int
    differences: tuple[TraceDifference, ...]
    partial: bool = False

    @property
    def ok(self) -> bool:
        """Whether something was compared, and nothing differed."""
        whole = self.partial or not (self.only_here or self.only_there)
        return whole and self.same > 0 and not self.differences


def same_as(here: str | PathLike[str], there: str | PathLike[str], *, partial: bool = False) -> SameReport:
    """Compares what a replay (`here`) has to give again, for all trials that have ended in both stores.

    Raises InputError where there are none; StoreError where one is no store, or damaged.
    """
    left, right = _ended(Path(here)), _ended(Path(there))
    both = sorted(left & right)
    if not both:
        raise InputError(
            f"{here} and {there} have no finished trial in common",
            hint="A replay has the same questions, models and conditions, by a plan that differs in its mode alone.",
            code="nothing_in_common",
        )
    found = list(_compared(both, here, there))
    return SameReport(
        str(here),
        str(there),
        same=found.count("same"),
        failed=found.count("failed"),
        only_here=len(left - right),
        only_there=len(right - left),
        differences=tuple(each for each in found if isinstance(each, TraceDifference)),
        partial=partial,
    )


def _compared(
    trials: list[str], here: str | PathLike[str], there: str | PathLike[str]
) -> Iterator[TraceDifference | Literal["same", "failed"]]:
    with Store(here) as one, Store(there) as other:
        for trial in trials:
            ours, theirs = one.trace(trial), other.trace(trial)
            if replay_digest(ours) == replay_digest(theirs):
                yield "same"
            elif not ours.outcome == theirs.outcome == "failed":
                kind: Kind = "answered_later" if _answered_later(ours, theirs) else "other"
                yield _difference(trial, replay_content(ours), replay_content(theirs), kind)
            elif _end(ours) != _end(theirs):
                yield _difference(trial, {"failure": _end(ours)}, {"failure": _end(theirs)})
            else:
                yield "failed"


def _ended(store: Path) -> frozenset[str]:
    with closing(open_reader(store)) as connection, reading(store):
        return _ids(connection)


def _ids(connection: sqlite3.Connection) -> frozenset[str]:
    rows = connection.execute(f"SELECT id FROM trials WHERE current NOT NULL AND {PLANNED}")  # noqa: S608 - our own
    return frozenset(identity for (identity,) in rows)


def _last_failure(trace: Trace) -> Failure | None:
    return next((event for event in reversed(trace.events) if event.kind == "failure"), None)


def _end(trace: Trace) -> dict[str, Any]:
    """Why it failed, as far as it does not depend on the moment: messages tell waits and addresses."""
    failure = _last_failure(trace)
    return {} if failure is None else {"boundary": failure.boundary, "code": failure.code}


def _answered_later(ours: Trace, theirs: Trace) -> bool:
    """Whether theirs ended at a model that did not reply, and ours is the same up to that place and got further."""
    failure = _last_failure(theirs) if theirs.outcome == "failed" else None
    if failure is None or failure.boundary != "model" or theirs.events[-1] is not failure:
        return False
    came_to: list[Any] = replay_content(theirs)["events"][:-1]
    return bool(replay_content(ours)["events"][: len(came_to)] == came_to)


def _difference(trial: str, ours: Any, theirs: Any, kind: Kind = "other") -> TraceDifference:
    found = first_difference(ours, theirs)
    assert found is not None
    return TraceDifference(trial, found.path, *found.shown(), kind)
