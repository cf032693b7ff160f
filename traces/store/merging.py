"""Joins stores of one plan that ran apart into one new store."""

import contextlib
import os
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import Label, Run, Score, digest_text
from toolablate.traces.store.digests import content_digest, listing_digest, record_content, trace_digest
from toolablate.traces.store.file import (
    Gate,
    build_aside,
    is_there,
    make_folder,
    require_local_disk,
    unwritable,
)
from toolablate.traces.store.merge_inputs import SHOWN, Attempt, Input, require_joinable, require_one_plan
from toolablate.traces.store.texts import (
    Bases,
    TextReader,
    TextWriter,
    damaged,
    decode,
    expand_row,
    put_block,
    read_block,
    shrink_row,
)
from toolablate.traces.store.trials import TRACE_QUERY, read_trace
from toolablate.traces.store.verification import VerifyReport, verify

Tell = Callable[[int, int], object]
"""Is told how many trials are copied, of how many."""


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What came of a merge. `parts` counts by input its questions, conditions and models, `taken` the finished trials
    whose record is from there; `same` are those that several inputs had with one record. `left_out` tells what lost to
    the first input that had it. `renamed` counts questions, models and conditions whose names or prices differ: those
    of the first input count. `checked` is what `verify` found of the output."""

    output: str
    parts: dict[str, dict[str, int]]
    taken: dict[str, int]
    same: int
    left_out: tuple[str, ...]
    renamed: int
    checked: VerifyReport


def merge(
    inputs: Sequence[str | PathLike[str]],
    output: str | PathLike[str],
    *,
    keep_first: bool = False,
    tell: Tell | None = None,
) -> MergeReport:
    """Joins stores into a new one, verifies it and gives it its name; a merge that ends before leaves nothing there.

    A trial that is finished in one store and not in another is taken from the first; one with the same record in both
    is there once. Attempts of all are kept, those of the record that counts with their numbers. Of two different
    records of one thing that of the first input counts where `keep_first`.

    Raises InputError for stores that cannot be joined: another environment or plan, one store twice, two
    records of one thing; StoreError for an output that is there or cannot be written, and for a damaged input.
    """
    into = Path(output)
    if is_there(into):
        raise _exists(into)
    require_local_disk(into)
    with ExitStack() as stack:
        sources = [Input(number, Path(path), stack) for number, path in enumerate(inputs)]
        for number, source in enumerate(sources):
            for other in sources[:number]:
                require_joinable(other, source)
        require_one_plan(sources)
        choice = _Choice(sources)
        _require_decided(choice.conflicts, keep_first)
        made = make_folder(into)
        try:
            with Gate(into), build_aside(into) as (connection, building):
                joining = _Joining(connection, sources, choice)
                joining.write(tell or (lambda *_: None))
                _require_decided(joining.conflicts, keep_first)
                connection.close()
                checked = _verified(building, into)
                _name(building, into)
        except BaseException:
            for folder in made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
    taken = {str(source.path): choice.homes.count(source.number) for source in sources}
    left_out = (*choice.conflicts, *joining.conflicts)
    parts = {str(source.path): source.counts for source in sources}
    return MergeReport(str(into), parts, taken, choice.same, left_out, joining.renamed, checked)


def _exists(output: Path) -> StoreError:
    return StoreError(
        f"There is a file at {output} already", hint="Name another: a merge writes over nothing.", code="exists"
    )


def _require_decided(conflicts: Sequence[str], keep_first: bool) -> None:
    if conflicts and not keep_first:
        more = f"; and {len(conflicts) - SHOWN:,} more" if len(conflicts) > SHOWN else ""
        raise InputError(
            f"the stores have different records of one thing: {'; '.join(conflicts[:SHOWN])}{more}",
            hint="--keep first keeps what the store that is named first has; name the one that is to count first",
            code="conflict",
        )


def _verified(building: Path, output: Path) -> VerifyReport:
    checked = verify(building)
    if not checked.ok:
        problem = checked.problems[0]
        raise StoreError(
            f"The joined store would be damaged: {problem.where}: {problem.what}",
            hint="Run `toolablate verify` on each of the stores: one of them is.",
            code="corrupt",
        )
    return replace(checked, path=str(output))


def _name(building: Path, output: Path) -> None:
    """Gives it its name, on the disk, unless something has that meanwhile."""
    with building.open("rb") as file:
        os.fsync(file.fileno())
    try:
        # A link never replaces a file, as renaming would.
        os.link(building, output)
        folder = os.open(output.absolute().parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except FileExistsError:
        raise _exists(output) from None
    except OSError as error:
        raise unwritable(output, error) from error


# Which attempts at a trial are kept, in which order.


class _Choice:
    """`conflicts` tells in words of trials with two finished records, of which the first input's counts; `homes` is the
    input of each finished trial, `same` counts those that several inputs had."""

    def __init__(self, sources: Sequence[Input]) -> None:
        self._sources = sources
        self._kept: dict[str, list[Attempt]] = {}
        self._same_as: dict[tuple[int, int], Attempt] = {}
        self.conflicts: list[str] = []
        self.homes: list[int] = []
        self.same = 0
        for source in sources:
            for trial in source.trials:
                self.of(trial)

    def of(self, trial: str) -> list[Attempt]:
        """Those that are kept, in the order of their new numbers."""
        if trial not in self._kept:
            self._kept[trial] = self._chosen(trial)
        return self._kept[trial]

    def is_there(self, source: Input, trial: str) -> bool:
        """False for a counterfactual that names its parent's attempt by a number that is now another's or nobody's."""
        parent = source.parent(trial)
        if parent is None:
            return True
        identity, number = parent
        if identity not in source.trials or not self.is_there(source, identity):
            return False
        own = next((each for each in source.attempts[identity] if each.number == number), None)
        return own is not None and self.kept(own) in self.of(identity)[number - 1 : number]

    def kept(self, attempt: Attempt) -> Attempt:
        """The one that is copied for it."""
        while (found := self._same_as.get(attempt[:2])) is not None:
            attempt = found
        return attempt

    def _chosen(self, trial: str) -> list[Attempt]:
        holders = [each for each in self._sources if trial in each.trials and self.is_there(each, trial)]
        several = [source.attempts.get(trial, []) for source in holders]
        ended = [next((each for each in attempts if each.finished), None) for attempts in several]
        first = next((number for number, each in enumerate(ended) if each is not None), 0)
        kept = list(several[first]) if several else []
        counts = ended[first] if ended else None
        if counts is not None:
            self.homes.append(counts.source)
        for number, attempts in enumerate(several):
            end = ended[number]
            if end is not None and counts is not None and end.digest != counts.digest:
                names = " and ".join(str(self._sources[each.source].path) for each in (counts, end))
                self.conflicts.append(f"trial {trial[:12]} finished in {names}")
            elif number != first:
                self._add(kept, attempts)
        self.same += counts is not None and sum(end is not None and end.digest == counts.digest for end in ended) > 1
        return kept

    def _add(self, kept: list[Attempt], attempts: Sequence[Attempt]) -> None:
        for attempt in attempts:
            place = next((place for place, each in enumerate(kept) if each.is_same(attempt)), None)
            if place is None:
                kept.append(attempt)
            elif attempt.digest and not kept[place].digest:
                self._same_as[kept[place][:2]] = attempt
                kept[place] = attempt
            else:
                self._same_as[attempt[:2]] = kept[place]


# How it is written: rows are copied as they lie, with the keys of the new store.


_REFERENCE = re.compile(rb'(?<=[\[,:])"~([tj])([0-9]+)"(?=[\],}])')
"""In a packed record (see texts.py). No text looks so: within one, a quotation mark has a backslash before it."""

_NAMED = {
    "questions": "id, name, domain, difficulty, language, cluster, target, digest, body",
    "models": "id, name, simulated, digest, body",
    "conditions": "id, name, parent, digest, body",
}
_TRACE = (
    "started_at, environment, outcome, ran_out, seconds, input_tokens, output_tokens, cached_tokens,"
    " cache_write_tokens, reasoning_tokens, cost_usd, events, digest"
)


class _Moved:
    """Texts of an input by their keys in the output, where each is put when it is first met."""

    def __init__(self, source: Input, connection: sqlite3.Connection, texts: TextWriter) -> None:
        self._source = source
        self._connection = connection
        self._texts = texts
        self._keys: dict[tuple[bytes, int], int] = {}

    def body(self, packed: bytes) -> bytes:
        """A packed record with the output's references. Raises StoreError where a text is missing or damaged."""
        return _REFERENCE.sub(self._reference, packed)

    def key(self, kind: bytes, old: int) -> int:
        """`kind` is `t` for a text, `j` for one that is JSON and may refer to others."""
        if (kind, old) not in self._keys:
            self._keys[kind, old] = self._put(kind, old)
        return self._keys[kind, old]

    def _reference(self, found: "re.Match[bytes]") -> bytes:
        return b'"~%b%d"' % (found[1], self.key(found[1], int(found[2])))

    def _put(self, kind: bytes, old: int) -> int:
        rows = self._source.rows("SELECT digest, encoding, body FROM texts WHERE key = ?", (old,))
        if not rows:
            with self._source.reading():
                raise damaged(f"text {old} is missing")
        digest, encoding, body = rows[0]
        if kind == b"j":
            with self._source.reading():
                plain = decode(old, encoding, body).encode()
                try:
                    moved = self.body(plain)
                except RecursionError:
                    raise damaged("a record refers to itself") from None
            if moved != plain:
                return self._texts.put(moved.decode())
        self._connection.execute(
            "INSERT INTO texts (digest, encoding, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            (digest, encoding, body),
        )
        (key,) = self._connection.execute("SELECT key FROM texts WHERE digest = ?", (digest,)).fetchone()
        return int(key)


class _Joining:
    """`conflicts` tells in words what the inputs differ in besides trials, `renamed` counts what differs in names or
    prices alone."""

    def __init__(self, connection: sqlite3.Connection, sources: Sequence[Input], choice: _Choice) -> None:
        self._connection = connection
        self._sources = sources
        self._choice = choice
        self._texts = TextWriter(connection)
        self._bases = Bases(connection)
        self._moved = [_Moved(source, connection, self._texts) for source in sources]
        self._keys: dict[tuple[int, str, int], int] = {}
        self._trials: dict[str, int] = {}
        self._traces: dict[tuple[int, int], int] = {}
        self._other_keys: set[str] = set()
        self.conflicts: list[str] = []
        self.renamed = 0

    def write(self, tell: Tell) -> None:
        """Raises StoreError for a damaged input, sqlite3.Error."""
        # Nobody sees the file before it is whole.
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        self._connection.execute("BEGIN")
        for source in self._sources:
            for table, of_plans in (("questions", ""), ("models", ""), ("conditions", " WHERE parent IS NULL")):
                self._put_named(source, table, of_plans)
        planned = [(source, trial) for source in self._sources for trial in source.trials]
        for done, (source, trial) in enumerate(planned, start=1):
            if trial not in self._trials and self._choice.is_there(source, trial):
                self._put_trial(source, trial)
            tell(done, len(planned))
        for source in self._sources:
            self._put_said(source, "scores", ("scorer", "version"), ("value", "verdict"))
            self._put_said(source, "diagnoses", ("judge", "wording"), ())
            self._put_designs(source)
        self._put_labels()
        self._put_runs()
        self._connection.execute("COMMIT")

    def _put_named(self, source: Input, table: str, which: str, values: Sequence[int] = ()) -> None:
        names = _NAMED[table].split(", ")
        for old, *row in source.rows(f"SELECT key, {_NAMED[table]} FROM {table}{which} ORDER BY key", values):  # noqa: S608
            given = dict(zip(names, row, strict=True))
            known = self._connection.execute(
                f"SELECT key, digest, name{', target' if table == 'questions' else ''} FROM {table} WHERE id = ?",  # noqa: S608
                (given["id"],),
            ).fetchone()
            if known is None:
                given["body"] = self._moved[source.number].body(given["body"])
                key = self._insert(table, given)
            else:
                key = known[0]
                if table == "questions" and known[3] != given["target"]:
                    self._other_keys.add(given["id"])
                    self.conflicts.append(f"the answer key of question {known[2]!r} is another in {source.path}")
                else:
                    self.renamed += known[1] != given["digest"]
            self._keys[source.number, table, old] = key

    def _insert(self, table: str, row: dict[str, Any]) -> int:
        cursor = self._connection.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",  # noqa: S608 - our names
            tuple(row.values()),
        )
        return int(cursor.lastrowid or 0)

    def _put_trial(self, source: Input, trial: str) -> None:
        _, _, question, model, condition, repeat = source.trials[trial]
        if (source.number, "conditions", condition) not in self._keys:
            self._put_named(source, "conditions", " WHERE key = ?", (condition,))
        keys = {
            table[:-1]: self._keys.get((source.number, table, old))
            for table, old in (("questions", question), ("models", model), ("conditions", condition))
        }
        if None in keys.values():
            with source.reading():
                raise damaged(f"trial {trial} names a question, model or condition that is missing")
        key = self._trials[trial] = self._insert("trials", {"id": trial, **keys, "repeat": repeat})
        current: Attempt | None = None
        for number, attempt in enumerate(self._choice.of(trial), start=1):
            self._traces[attempt[:2]] = self._put_attempt(key, attempt, number)
            if attempt.outcome and (current is None or not current.finished):
                current = attempt
        if current is not None:
            self._connection.execute(
                "UPDATE trials SET current = ?, outcome = ? WHERE key = ?",
                (self._traces[current[:2]], current.outcome, key),
            )

    def _put_attempt(self, trial: int, attempt: Attempt, number: int) -> int:
        source, moved = self._sources[attempt.source], self._moved[attempt.source]
        ((*found,),) = source.rows(f"SELECT {_TRACE} FROM traces WHERE key = ?", (attempt.key,))  # noqa: S608 - our own
        row = dict(zip(_TRACE.split(", "), found, strict=True))
        row["environment"] = moved.key(b"j", row["environment"])
        if number != attempt.number and attempt.digest:
            row["digest"] = self._renumbered(source, attempt, number)
        key = self._insert("traces", {"trial": trial, "attempt": number, **row})
        with source.reading():
            block = read_block(source.connection, attempt.key)
        if block is not None:
            put_block(self._connection, self._bases, key, moved.body(block))
        events = "SELECT seq, kind, body FROM events WHERE trace = ?"
        for seq, kind, body in source.rows(events, (attempt.key,)):
            with source.reading():
                plain = expand_row(body)
            packed = shrink_row(moved.body(plain).decode())
            self._insert("events", {"trace": key, "seq": seq, "kind": kind, "body": packed})
        for table, name in (("lookups", "miss"), ("markers", "kind")):
            counts = f"SELECT {name}, count FROM {table} WHERE trace = ?"  # noqa: S608 - our names
            for of, count in source.rows(counts, (attempt.key,)):
                self._insert(table, {"trace": key, name: of, "count": count})
        return key

    def _renumbered(self, source: Input, attempt: Attempt, number: int) -> bytes:
        """The digest of an attempt under another number, which is part of its content."""
        (row,) = source.rows(f"{TRACE_QUERY} WHERE traces.key = ?", (attempt.key,))
        with source.reading():
            trace = read_trace(source.connection, row, TextReader(source.connection))
        return bytes.fromhex(trace_digest(trace.model_copy(update={"attempt": number})))

    def _new_trace(self, source: Input, trial: str, old: int) -> int | None:
        """Of a trace that something was said of; None where it is left out."""
        own = next((each for each in source.attempts.get(trial, ()) if each.key == old), None)
        return None if own is None else self._traces.get(self._choice.kept(own)[:2])

    def _put_said(self, source: Input, table: str, by: tuple[str, str], columns: tuple[str, ...]) -> None:
        names = ("trial", "trace", "digest", "body", *by, *columns)
        told = ", ".join(f"said.{name}" for name in names[1:])
        for trial, question, *row in source.rows(
            f"SELECT trials.id, questions.id, {told} FROM {table} AS said"  # noqa: S608 - our names
            " JOIN trials ON trials.key = said.trial JOIN questions ON questions.key = trials.question"
        ):
            given = dict(zip(names, (self._trials.get(trial), *row), strict=True))
            given["trace"] = self._new_trace(source, trial, given["trace"])
            if given["trace"] is None or (table == "scores" and self._is_outdated(source, question, given["body"])):
                continue
            given["body"] = self._moved[source.number].body(given["body"])
            where = f"trial = ? AND {by[0]} = ? AND {by[1]} = ?"
            same = (given["trial"], given[by[0]], given[by[1]])
            known = self._connection.execute(f"SELECT * FROM {table} WHERE {where}", same).fetchone()  # noqa: S608
            if known is not None:
                known = dict(zip(self._columns(table), known, strict=True))
                if (
                    "unscored" not in (given.get("verdict"), known.get("verdict"))
                    and known["digest"] != given["digest"]
                ):
                    self.conflicts.append(f"{table} of trial {trial[:12]} by {given[by[0]]} differ in {source.path}")
                if known.get("verdict") != "unscored":
                    continue
                self._connection.execute(f"DELETE FROM {table} WHERE {where}", same)  # noqa: S608
            self._insert(table, given)

    def _columns(self, table: str) -> list[str]:
        return [row[1] for row in self._connection.execute(f"PRAGMA table_info({table})")]

    def _is_outdated(self, source: Input, question: str, body: bytes) -> bool:
        """A score by an answer key that does not count."""
        if question not in self._other_keys:
            return False
        (target,) = self._connection.execute(
            "SELECT lower(hex(target)) FROM questions WHERE id = ?", (question,)
        ).fetchone()
        return source.record(Score, body).target not in ("", target)

    def _put_designs(self, source: Input) -> None:
        for identity, digest, body in source.rows("SELECT id, digest, body FROM designs ORDER BY key"):
            if not self._connection.execute("SELECT 1 FROM designs WHERE id = ?", (identity,)).fetchone():
                moved = self._moved[source.number].body(body)
                self._insert("designs", {"id": identity, "digest": digest, "body": moved})

    def _put_labels(self) -> None:
        """In the order in which they were given, since the last of a person counts."""
        given = [
            (source.record(Label, row[-1]).at, source, row)
            for source in self._sources
            for row in source.rows(
                "SELECT trials.id, trace, person, labels.digest, labels.body FROM labels"
                " JOIN trials ON trials.key = labels.trial ORDER BY labels.key"
            )
        ]
        known = set()
        for _, source, (trial, old, person, digest, body) in sorted(given, key=lambda each: each[0]):
            trace = self._new_trace(source, trial, old)
            if trace is not None and (trial, digest) not in known:
                known.add((trial, digest))
                moved = self._moved[source.number].body(body)
                row = {"trial": self._trials[trial], "trace": trace, "person": person, "digest": digest, "body": moved}
                self._insert("labels", row)

    def _put_runs(self) -> None:
        """In the order in which they began; at the end one of all trials that the inputs' last runs called for, where
        none of them called for all."""
        runs = [(run, source, key) for source in self._sources for key, run in source.runs]
        known: dict[str, Run] = {}
        wanted: dict[int, frozenset[int]] = {}
        for run, source, key in sorted(runs, key=lambda each: each[0].started_at):
            listed = "SELECT trials.id FROM run_trials JOIN trials ON trials.key = trial WHERE run = ?"
            trials = frozenset(self._trials[trial] for (trial,) in source.rows(listed, (key,)))
            wanted[source.number] = trials
            if run.id not in known:
                known[run.id] = run
                self._put_run(run, trials)
            elif known[run.id] != run:
                self.conflicts.append(f"run {run.id} is another one in {source.path}")
        together = frozenset().union(*wanted.values())
        if known and together != trials:
            last = [source.runs[-1][1] for source in self._sources if source.runs]
            self._put_run(_run_of_all(last), together)

    @cached_property
    def _ids(self) -> dict[int, str]:
        return {key: identity for identity, key in self._trials.items()}

    def _put_run(self, run: Run, trials: frozenset[int]) -> None:
        content = record_content(run)
        row = {
            "id": run.id,
            "trials": len(trials),
            "listed": listing_digest(self._ids[key] for key in sorted(trials)),
            "digest": content_digest(content),
            "body": self._texts.pack(content),
        }
        key = self._insert("runs", row)
        self._connection.executemany(
            "INSERT INTO run_trials (run, trial) VALUES (?, ?)", ((key, trial) for trial in sorted(trials))
        )


def _run_of_all(runs: Sequence[Run]) -> Run:
    """What the command line calls the latest run, so that it compares all sites; the same for the same inputs."""
    latest = max(runs, key=lambda run: run.started_at)
    return latest.model_copy(
        update={
            "id": digest_text("\n".join(run.id for run in runs)),
            "plan": runs[0].plan,
            "baseline": runs[0].baseline,
            "scorers": tuple(dict.fromkeys(scorer for run in runs for scorer in run.scorers)),
            "fingerprint": {part: value for run in runs for part, value in run.fingerprint.items()},
        }
    )
