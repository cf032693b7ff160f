"""The SQLite file of a construction: what models replied, what people decided, what each stage made of it."""

import json
import sqlite3
import time
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, Literal, Self
from uuid import uuid4

from pydantic import BeforeValidator, Field, StringConstraints

from toolablate.experiments.construction.stages import Content, Dropped, Kept, worked_on
from toolablate.traces.database import (
    UNRELEASED_ID,
    WORKBENCH_ID,
    FileSchema,
    connect,
    is_damage,
    known_failure,
    network_file_system,
    transaction,
)
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import JudgeCall, Record, digest_json
from toolablate.traces.store import DriverLock

# Append-only: what was paid for or decided stays, also where a changed pipeline no longer asks for it. `failure` alone
# is of the last try: why a request could not be made.
SCHEMA = FileSchema(
    WORKBENCH_ID,
    2,
    """CREATE TABLE call(step TEXT NOT NULL, number INTEGER NOT NULL, call TEXT NOT NULL, seconds REAL NOT NULL,
 at REAL NOT NULL, PRIMARY KEY(step, number)) STRICT, WITHOUT ROWID;
CREATE TABLE step(id TEXT PRIMARY KEY, item TEXT NOT NULL, stage TEXT NOT NULL, kept INTEGER NOT NULL,
 content TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE decision(number INTEGER PRIMARY KEY, item TEXT NOT NULL, decision TEXT NOT NULL,
 at REAL NOT NULL) STRICT;
CREATE TABLE failure(step TEXT PRIMARY KEY, why TEXT NOT NULL, at REAL NOT NULL) STRICT, WITHOUT ROWID""",
)


def as_seen(text: str) -> str:
    """Whatever its encoding: compatible forms in one (NFKC), no signs that nobody sees, single blanks."""
    normal = unicodedata.normalize("NFKC", text)
    seen = (sign for sign in normal if sign.isspace() or unicodedata.category(sign) not in ("Cc", "Cf"))
    return " ".join("".join(seen).split())


def person_key(text: str) -> str:
    """By which one person is told from another, by alias or name: as it is seen, whatever the capitals."""
    return unicodedata.normalize("NFKC", as_seen(text).casefold())


Alias = Annotated[
    str,
    BeforeValidator(lambda given: as_seen(given) if isinstance(given, str) else given),
    StringConstraints(min_length=1, max_length=60),
]

Verdict = Literal["accept", "mend", "reject"]


class Decision(Record):
    """What one person says of an item as they saw it: `seen` is the digest of its content. `content` has the mended
    fields of a `mend`, `reason` why an item is rejected; `seconds` is how long it took, None where nobody measured.
    `sides` is the digest of what the page showed of those who differ, or of none; "" where it was no page."""

    item: str = Field(min_length=1)
    seen: str = Field(min_length=1)
    reviewer: Alias
    verdict: Verdict
    content: dict[str, Any] = Field(default_factory=dict)
    reason: str = ""
    seconds: float | None = Field(default=None, ge=0, strict=True)
    sides: str = ""

    @property
    def by(self) -> tuple[str, str, str]:
        """The person, whatever the capitals, and the text: of several words on it the last counts."""
        return self.item, self.seen, person_key(self.reviewer)


@dataclass(frozen=True, slots=True)
class Paid:
    """Requests of one step: how many, US dollars (None where one is unknown), seconds of waiting for replies."""

    requests: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Paid") -> "Paid":
        unknown = self.cost_usd is None or other.cost_usd is None
        cost = None if unknown else (self.cost_usd or 0.0) + (other.cost_usd or 0.0)
        return Paid(self.requests + other.requests, cost, self.seconds + other.seconds)


class Workbench:
    """Opened for building by one process at a time; `write=False` only reads, also while another writes. With
    `beside=True` decisions are kept beside others who keep some, and beside a build. One thread at a time may use it.

    Raises InputError where the file is none, is on a network file system or is in use; StoreError where it cannot be
    read or written.
    """

    def __init__(self, path: Path, *, write: bool = True, beside: bool = False) -> None:
        self.path = path
        self._write, self._beside = write, beside
        self._lock: DriverLock | None = None
        self._made: list[Decision] = []
        self._made_on: defaultdict[str, list[tuple[Decision, float]]] = defaultdict(list)
        self._read_until = 0

    def __enter__(self) -> Self:
        if (self._beside or not self._write) and not self.path.exists():
            raise InputError(
                f"there is no workbench at {self.path}", hint="run `toolablate build` first", code="no_workbench"
            )
        if self._write:
            self._make_room()
        try:
            with self._explained():
                self._connection = connect(self.path, "mode=rwc" if self._write else "mode=ro")
                self._open()
        except BaseException:
            self._let_go()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        self._let_go()

    def _make_room(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}", code="unwritable") from None
        if kind := network_file_system(self.path.parent):
            raise InputError(
                f"workbench: {self.path} is on a network file system ({kind}), where SQLite loses data",
                hint="name a file on a local disk",
                code="network_file_system",
            )
        if self._beside:
            return
        lock = DriverLock(self.path)
        try:
            lock.__enter__()
        except StoreError as error:
            if error.code != "driven":
                raise
            raise InputError(
                f"{self.path} is being written by another process",
                hint="wait for its end; `build status` can read meanwhile",
                code="file_in_use",
            ) from None
        self._lock = lock

    def _let_go(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _open(self) -> None:
        if self._write and SCHEMA.is_empty(self._connection):
            SCHEMA.create(self._connection)
        if not SCHEMA.fits(self._connection):
            application, _ = SCHEMA.numbers(self._connection)
            self._connection.close()
            if application in (UNRELEASED_ID, WORKBENCH_ID):
                raise InputError(
                    f"{self.path} was written by a development version of toolablate, from before the first release",
                    hint="go on with it in that version, or name another `workbench`, where all is asked for anew",
                    code="older_version",
                )
            raise InputError(
                f"{self.path} is not a workbench", hint="name one that `toolablate build` wrote", code="not_a_workbench"
            )
        if self._write:
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            known = known_failure(error)
            if known is None and is_damage(error):
                raise InputError(
                    f"{self.path} is not a workbench, or damaged: {error}",
                    hint="name one that `toolablate build` wrote",
                    code="not_a_workbench",
                ) from None
            raise StoreError(
                f"Cannot use the workbench {self.path}: {known.reason if known else error}",
                hint=known.hint if known else "copy the file, and try on the copy",
                code=known.code if known else "sqlite_error",
            ) from error

    def _run(self, sql: str, *given: object) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._connection.execute(sql, given).fetchall()

    # What is paid for, and what came of it.

    def keep_call(self, step: str, call: JudgeCall, seconds: float) -> None:
        """Durable when it returns."""
        (number,) = self._run("SELECT count(*) FROM call WHERE step = ?", step)[0]
        self._run("INSERT INTO call VALUES (?, ?, ?, ?, ?)", step, number, call.to_json(), seconds, time.time())

    def calls(self, step: str) -> tuple[JudgeCall, ...]:
        found = self._run("SELECT call FROM call WHERE step = ? ORDER BY number", step)
        return tuple(JudgeCall.from_json(text) for (text,) in found)

    def timed_calls(self, step: str) -> list[tuple[JudgeCall, float]]:
        """With the seconds that each took."""
        found = self._run("SELECT call, seconds FROM call WHERE step = ? ORDER BY number", step)
        return [(JudgeCall.from_json(text), seconds) for text, seconds in found]

    def paid(self) -> dict[str, Paid]:
        """By step."""
        found: dict[str, Paid] = {}
        for step, cost, kind, seconds in self._run(
            "SELECT step, call ->> '$.cost_usd', json_type(call, '$.cost_usd'), seconds FROM call"
        ):
            known = None if kind in (None, "null") else float(cost)
            found[step] = found.get(step, Paid()) + Paid(1, known, seconds)
        return found

    def keep_step(self, step: str, item: str, stage: str, outcome: Kept | Dropped) -> None:
        content = outcome.content if isinstance(outcome, Kept) else asdict(outcome)
        kept = isinstance(outcome, Kept)
        self._run(
            "INSERT OR IGNORE INTO step VALUES (?, ?, ?, ?, ?, ?)", step, item, stage, kept, _json(content), time.time()
        )

    def steps(self, stage: str) -> dict[str, Kept | Dropped]:
        """By the id of the step."""
        return {
            step: Kept(json.loads(text)) if kept else Dropped(**json.loads(text))
            for step, kept, text in self._run("SELECT id, kept, content FROM step WHERE stage = ?", stage)
        }

    def texts(self, stage: str) -> dict[str, set[str]]:
        """By item, the digests of all that the stage ever made of it."""
        found: defaultdict[str, set[str]] = defaultdict(set)
        for item, text in self._run("SELECT item, content FROM step WHERE stage = ? AND kept", stage):
            found[item].add(content_digest(json.loads(text)))
        return dict(found)

    def step_count(self, stage: str) -> int:
        return int(self._run("SELECT count(*) FROM step WHERE stage = ?", stage)[0][0])

    def keep_failure(self, key: str, why: str) -> None:
        """Why the request of this key could not be made, the last time that it was tried."""
        self._run("INSERT OR REPLACE INTO failure VALUES (?, ?, ?)", key, why, time.time())

    def failures(self) -> dict[str, str]:
        """By the key of the request; also of requests that were made later."""
        return dict(self._run("SELECT step, why FROM failure"))

    def canary(self) -> str:
        """By which filters of training data know what is published: made at random once, the same ever after. It is
        kept as a step of no item, which no stage has. "" where none is kept and the workbench is only read: nothing was
        published of it."""
        if not (found := self.steps(_CANARY)):
            if not self._write:
                return ""
            self.keep_step(_CANARY, "", _CANARY, Kept({_CANARY: str(uuid4())}))
            found = self.steps(_CANARY)
        kept = found[_CANARY]
        assert isinstance(kept, Kept)
        return f"toolablate benchmark data, not for training: {kept.content[_CANARY]}"

    # What people said.

    def decide(self, decisions: Iterable[Decision], require: Callable[[Sequence[Decision]], None] | None = None) -> int:
        """Keeps those that are new; a person's later word on the same content counts. Returns how many. `require` is
        given what was decided on their items before, while nobody else can decide; where it raises, nothing is kept."""
        new = 0
        decisions = [*decisions]
        with self._explained(), transaction(self._connection):
            before = [each for item in {each.item: None for each in decisions} for each, _ in self.history(item)]
            if require is not None:
                require(before)
            latest = {each.by: each.to_json() for each in before}
            for each in decisions:
                if latest.get(each.by) != (text := each.to_json()):
                    latest[each.by] = text
                    self._connection.execute(
                        "INSERT INTO decision(item, decision, at) VALUES (?, ?, ?)", (each.item, text, time.time())
                    )
                    new += 1
        return new

    def decisions(self) -> list[Decision]:
        """In the order in which they were made."""
        self._read_decisions()
        return [*self._made]

    def history(self, item: str) -> list[tuple[Decision, float]]:
        """All that was ever said of an item, with the time of each, in seconds since 1970."""
        self._read_decisions()
        return [*self._made_on.get(item, ())]

    def _read_decisions(self) -> None:
        """Those that anybody made since the last time: each is read once, since none is ever changed."""
        sql = "SELECT number, item, decision, at FROM decision WHERE number > ? ORDER BY number"
        for number, item, text, at in self._run(sql, self._read_until):
            decision = Decision.from_json(text)
            self._made.append(decision)
            self._made_on[item].append((decision, at))
            self._read_until = number

    def others_wrote(self) -> int:
        """Another number once anybody else has written."""
        return int(self._run("PRAGMA data_version")[0][0])


_CANARY = "canary"


def _json(content: Content) -> str:
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def content_digest(content: Content) -> str:
    """Of what people decide on: a corrected licence leaves their decisions as they are."""
    return digest_json(json.loads(_json(worked_on(content))))
