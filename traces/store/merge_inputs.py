"""What a merge joins: stores, each at one moment, and whether they are of one plan."""

import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Condition, Run
from toolablate.traces.store.file import open_reader, reading
from toolablate.traces.store.texts import TextReader
from toolablate.traces.store.writing import IMPORTED, fingerprint_of_runs

PARTS = ("questions", "conditions", "models")
SHOWN = 5
"""Differences that a message tells."""

_KEPT, _BEFORE = 80, 10
"""Characters of a value that is another in two stores, and before the first that is."""


class Attempt(NamedTuple):
    source: int
    key: int
    number: int
    started: str
    outcome: str | None
    digest: bytes | None

    @property
    def finished(self) -> bool:
        return self.outcome in ("answered", "budget")

    def is_same(self, other: "Attempt") -> bool:
        """Also where one store was copied while the attempt was under way."""
        if self.digest and other.digest:
            return self.digest == other.digest
        return (self.number, self.started) == (other.number, other.started)


class Input:
    """An input, read only. Opening raises StoreError."""

    def __init__(self, number: int, path: Path, stack: ExitStack) -> None:
        self.number = number
        self.path = path
        self.connection = open_reader(path)
        stack.callback(self.connection.close)
        # One moment of the store, whatever a recorder adds meanwhile.
        self.rows("BEGIN")
        self.trials: dict[str, tuple[Any, ...]] = {
            row[0]: row
            for row in self.rows("SELECT id, key, question, model, condition, repeat FROM trials ORDER BY key")
        }
        self.attempts: dict[str, list[Attempt]] = defaultdict(list)
        for trial, *attempt in self.rows(
            "SELECT trials.id, traces.key, attempt, started_at, traces.outcome, traces.digest FROM traces"
            " JOIN trials ON trials.key = traces.trial ORDER BY traces.trial, attempt"
        ):
            self.attempts[trial].append(Attempt(number, *attempt))
        self.runs = [
            (key, self.record(Run, body)) for key, body in self.rows("SELECT key, body FROM runs ORDER BY key")
        ]

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.reading():
            return self.connection.execute(query, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Damage is told with the name of the store."""
        try:
            with reading(self.path):
                yield
        except StoreError as error:
            if error.code == "corrupt" and str(self.path) not in error.message:
                error.message = f"Cannot merge {self.path}. {error.message}"
            raise

    def record(self, kind: Any, body: bytes) -> Any:
        with self.reading():
            return kind.model_validate(TextReader(self.connection).unpack(body))

    @cached_property
    def named(self) -> dict[str, dict[str, dict[str, bytes]]]:
        """Of questions, conditions and models by the name that a plan gives them the ids, with each one's record: a
        store has two of one name where its plan was changed between two runs."""
        found: dict[str, dict[str, dict[str, bytes]]] = {}
        for table in PARTS:
            of_plans = " WHERE parent IS NULL" if table == "conditions" else ""
            named = found[table] = defaultdict(dict)
            for name, identity, body in self.rows(f"SELECT name, id, body FROM {table}{of_plans} ORDER BY key"):  # noqa: S608
                named[name][identity] = body
        return found

    def last(self, table: str, name: str) -> dict[str, Any]:
        """The record that has this name since the last change of the plan."""
        with self.reading():
            *_, body = self.named[table][name].values()
            found: dict[str, Any] = TextReader(self.connection).unpack(body)
            return found

    def ids(self, table: str) -> frozenset[str]:
        return frozenset(identity for several in self.named[table].values() for identity in several)

    @property
    def counts(self) -> dict[str, int]:
        return {table: len(self.ids(table)) for table in PARTS}

    def parent(self, trial: str) -> tuple[str, int] | None:
        """The trial and attempt that a counterfactual goes on from."""
        return self._parents.get(self.trials[trial][4])

    @cached_property
    def _parents(self) -> dict[int, tuple[str, int]]:
        rows = self.rows("SELECT key, body FROM conditions WHERE parent NOT NULL")
        resumed = {key: self.record(Condition, body).resumed for key, body in rows}
        return {key: (each.trial, each.attempt) for key, each in resumed.items() if each}


def require_joinable(one: Input, other: Input) -> None:
    """Raises InputError where both are one store, ran in different environments, or give one name to two things."""
    if one.path.samefile(other.path):
        raise InputError(f"{other.path} is named twice", hint="name each store once", code="usage")
    ours, theirs = (fingerprint_of_runs(each.connection) for each in (one, other))
    differing = [part for part in sorted(ours.keys() & theirs.keys()) if ours[part] != theirs[part]]
    differing += sorted((ours.keys() ^ theirs.keys()) & {IMPORTED})
    if differing:
        told = "; ".join(f"{part} = {ours.get(part)!r} and {theirs.get(part)!r}" for part in differing)
        raise InputError(
            f"the trials in {one.path} and {other.path} ran in different environments: {told}{_of_plans(one, other)}",
            hint="trials of two environments cannot be compared: run one of them again as the other",
            code="other_environment",
        )
    for table in PARTS:
        for name in one.named[table].keys() & other.named[table].keys():
            here, there = one.named[table][name], other.named[table][name]
            if not here.keys() & there.keys():
                told = _difference(one.last(table, name), other.last(table, name))
                raise InputError(
                    f"{one.path} and {other.path} have two {table} named {name!r}: {told}{_of_plans(one, other)}",
                    hint=_RUN_ALIKE,
                    code="other_plan",
                )


_RUN_ALIKE = (
    "only stores of one plan can be joined: run one of them again, into a new store, with the plan and the --set values"
    " of the other"
)


def _of_plans(one: Input, other: Input) -> str:
    """The keys in which the plans of their last runs differ, as --set names them; nothing where it may be another plan
    altogether."""
    ours, theirs = _keys_of_plan(one), _keys_of_plan(other)
    differing = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    if not (ours and theirs and 0 < len(differing) <= SHOWN):
        return ""
    told = (f"{key} = {' and '.join(_cut(ours.get(key, _UNSET), theirs.get(key, _UNSET)))}" for key in differing)
    return f". Their plans differ in {'; '.join(told)}"


_UNSET = "nothing"


def _keys_of_plan(store: Input) -> dict[str, str]:
    """With their values as Python writes them. Nothing where no plan called for the trials."""
    text = next((run.plan for _, run in reversed(store.runs) if run.plan), "")
    try:
        return dict(_leaves(json.loads(text) if text.startswith("{") else tomllib.loads(text), ""))
    except (ValueError, RecursionError):
        return {}


def _leaves(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if not isinstance(value, dict | list) or not value:
        yield place, repr(value)
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from _leaves(each, f"{place}.{key}" if place else str(key))


def _difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
    return "; ".join(f"{key} = {' and '.join(_cut(repr(one.get(key)), repr(other.get(key))))}" for key in keys[:SHOWN])


def _cut(*texts: str) -> Iterator[str]:
    """From where they differ on, where they are long."""
    at = next((number for number, several in enumerate(zip(*texts, strict=False)) if len(set(several)) > 1), 0)
    start = at - _BEFORE if at > _KEPT // 2 else 0
    for text in texts:
        yield f"{'...' if start else ''}{text[start : start + _KEPT]}{'...' if len(text) > start + _KEPT else ''}"


def require_one_plan(inputs: Sequence[Input]) -> None:
    """Parts of a plan are split by question, condition or model, so that two of these are in common; parts that are
    split by more are joined by a third store, or known by the text of their plan. Raises InputError for a store that is
    no part of what the others are."""
    joined, left = [inputs[0]], list(inputs[1:])
    while left:
        of_them = [each for each in left if any(_of_one_plan(each, other) for other in joined)]
        if not of_them:
            common = [table[:-1] for table in PARTS if inputs[0].ids(table) & left[0].ids(table)]
            raise InputError(
                f"{inputs[0].path} and {left[0].path} are of different plans: they have no"
                f" {' and no '.join(table[:-1] for table in PARTS if table[:-1] not in common)} in common"
                f"{_of_plans(inputs[0], left[0])}",
                hint=f"{_RUN_ALIKE}; parts of other texts of it need two of questions, conditions and models in common",
                code="other_plan",
            )
        joined += of_them
        left = [each for each in left if each not in of_them]


def _of_one_plan(one: Input, other: Input) -> bool:
    if {run.plan for _, run in one.runs if run.plan} & {run.plan for _, run in other.runs}:
        return True
    return sum(bool(one.ids(table) & other.ids(table)) for table in PARTS) >= 2
