"""The full-text index of a store: a file beside the viewer's index, filled from finished traces."""

import json
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from toolablate.analysis.event_texts import texts_of
from toolablate.traces.database import ContentDamaged, FileSchema, connect, decoded, digest_bytes, encoded, patiently
from toolablate.traces.errors import StoreError
from toolablate.traces.kept import file_for, kept_folder, stamp_of
from toolablate.traces.store import Outlines, Store
from toolablate.viewer.finding.tokens import to_index

CALLS = 1024
"""Kinds of calls (a tool with a status) that are told apart; models invent names of tools."""
OTHER = CALLS - 1

SHARED = 1 << 60
SHARED_CHARS = 2_000
"""A text of such a length is indexed once for all trials that have it: pages, long outputs."""

COLUMNS = ("code", "output", "page", "reply", "answer")
BETWEEN = " \ue000 "
"""Between two texts of a document, so that no phrase goes from one to the next: a sign that is no letter, so that no
query has it."""

AT_ONCE = 500
_SPARE = 1_000
_APPLICATION_ID, _VERSION = 0x746C6678, 1
"""`tlfx`; a file of another version is made anew."""

Tell = Callable[[int, int], None]


def index_place(store: Path) -> Path | None:
    """Of a store's texts, whatever of its trials is looked at: in `$XDG_CACHE_HOME/toolablate/find`, by default below
    `~/.cache`. None where nothing can be kept."""
    folder = kept_folder("find")
    return None if folder is None else folder / file_for(str(store.resolve()))


class Unfinished(NamedTuple):
    """Trials whose traces are not in the index yet, of `all` that have one."""

    left: int
    all: int


class TextIndex:
    """Words of all current traces of plans, by trial, field and kind of call. Safe to be used by several threads and
    processes; what cannot be read is made anew, empty.

    FTS5 rather than tantivy: a run that goes on adds to it from one process while others read, and all may be killed,
    which SQLite's transactions allow, while tantivy's folder has one writer; it is one file among the user's caches,
    as the viewer's index; and which trials and calls are meant are joins beside it. It has no texts, only words and
    their places: snippets are read from the store, where texts are compressed.

    A document is what one trial has of one kind of call, so that `tool:python status:error log` looks where all three
    hold. A hundred thousand trials have some hundred thousand documents instead of millions of texts: what stands in
    all of them is found in a fraction of a second.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def open(cls, path: Path) -> "TextIndex":
        """Raises StoreError where it is not there and cannot be made."""
        index = cls(path)
        index._ensure()
        return index

    def refresh(self, store: Path, *, most: int | None = None, tell: Tell | None = None) -> Unfinished:
        """Takes in what is new in the store, of at most so many traces. Raises StoreError."""
        stamp = stamp_of(store)
        with Store(store) as opened, Outlines(store) as outlines:
            ended = {each.trial: (each.trace, each.question) for each in outlines.trials() if each.trace}
            with self.writing() as connection:
                waiting = _settle(connection, ended)
                _put_questions(connection, opened, {question for _, question in ended.values()})
            done = 0
            wanted = waiting[:most]
            for start in range(0, len(wanted), AT_ONCE):
                trials = wanted[start : start + AT_ONCE]
                read = dict(outlines.events(trials))
                made = [(trial, ended[trial][0], _documents(read.get(trial, ()))) for trial in trials]
                with self.writing() as connection:
                    _put(connection, made)
                done += len(trials)
                if tell is not None:
                    tell(done, len(waiting))
        left = len(waiting) - done
        with self.writing() as connection:
            put_fact(connection, "stamp", repr(stamp.files) if stamp.settled and not left else "")
        return Unfinished(left, len(ended))

    def is_current(self, store: Path) -> bool:
        """Whether it was complete for the store as it is now: costs next to nothing."""
        with self.reading() as connection:
            return fact(connection, "stamp") == repr(stamp_of(store).files)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One moment of it. Raises StoreError."""
        with self._opened("mode=ro") as connection:
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """What is written within is there at its end, or nothing of it. Raises StoreError."""
        with self._opened("mode=rw") as connection:
            # What the system loses where the power goes is made again.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def _opened(self, options: str) -> Iterator[sqlite3.Connection]:
        try:
            with closing(self._connected(options)) as connection:
                yield connection
        except sqlite3.DatabaseError as error:
            if not isinstance(error, sqlite3.OperationalError):
                self._remove()
            raise StoreError(
                f"Cannot use the index of texts {self.path}: {error}",
                hint="Try again: it is made anew. Its folder has to be writable and have space left.",
                code="cannot_write",
            ) from error

    def _connected(self, options: str) -> sqlite3.Connection:
        if not self.path.exists():
            # A cache may be cleared while it is in use.
            self._ensure()
        return connect(self.path, options)

    def _ensure(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._fits():
                self._remove()
            self.path.touch(mode=0o600)
            with closing(connect(self.path, "mode=rwc")) as connection:
                patiently(lambda: connection.execute("PRAGMA journal_mode = WAL").fetchone())
                _schema().create(connection)
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"Cannot write the index of texts {self.path}: {error}",
                hint="Its folder has to be writable and have space left.",
                code="cannot_write",
            ) from None

    def _fits(self) -> bool:
        """Whether it is one of ours, or will become one. Raises sqlite3.OperationalError where nobody can tell."""
        if not self.path.exists():
            return True
        try:
            with closing(connect(self.path, "mode=rw")) as connection:
                return _schema().is_empty(connection) or _schema().fits(connection)
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return False

    def _remove(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)


@cache
def _schema() -> FileSchema:
    sql = (files("toolablate.viewer.finding") / "schema.sql").read_text(encoding="utf-8")
    return FileSchema(_APPLICATION_ID, _VERSION, sql.rstrip().rstrip(";"))


def fact(connection: sqlite3.Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def put_fact(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


# What a trial has, as documents.


Documents = Mapping[tuple[str, str], Mapping[str, Sequence[str]]]
"""By tool and status: the texts of each column."""


def _documents(events: Sequence[Mapping[str, Any]]) -> Documents:
    found: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for each in texts_of(events):
        found[each.tool, each.status][each.column].append(each.text)
    return found


def _settle(connection: sqlite3.Connection, ended: Mapping[str, tuple[str, str]]) -> list[str]:
    """Forgets what is not current any more; returns the trials that are to be read."""
    known = dict(connection.execute("SELECT trial, trace FROM entries WHERE live"))
    gone = [trial for trial, trace in known.items() if ended.get(trial, ("",))[0] != trace]
    connection.executemany("UPDATE entries SET live = 0 WHERE live AND trial = ?", ((trial,) for trial in gone))
    (dead,) = connection.execute("SELECT count(*) FROM entries WHERE NOT live").fetchone()
    if dead > max(_SPARE, len(known)):
        _clear(connection)
        return list(ended)
    gone_ones = set(gone)
    return [trial for trial in ended if trial not in known or trial in gone_ones]


def _clear(connection: sqlite3.Connection) -> None:
    """More of it is of the past than not: another store lies there now, or all was run again."""
    connection.execute("INSERT INTO words (words) VALUES ('delete-all')")
    for table in ("entries", "documents", "shared", "places"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - our names


def _put_questions(connection: sqlite3.Connection, store: Store, wanted: Iterable[str]) -> None:
    known = {row[0] for row in connection.execute("SELECT id FROM questions")}
    for identity in sorted(set(wanted) - known):
        question = store.question(identity)
        text = "\n".join((question.prompt, *question.choices)).encode(errors="replace").decode()
        number = connection.execute("INSERT INTO questions (id, text) VALUES (?, ?)", (identity, text)).lastrowid
        connection.execute("INSERT INTO asked (rowid, question) VALUES (?, ?)", (number, to_index(text)))


def _put(connection: sqlite3.Connection, made: Iterable[tuple[str, str, Documents]]) -> None:
    calls = {(tool, status): key for key, tool, status in connection.execute("SELECT key, tool, status FROM calls")}
    for trial, trace, documents in made:
        # Another process may have been faster.
        if connection.execute("SELECT 1 FROM entries WHERE live AND trial = ?", (trial,)).fetchone():
            continue
        number = connection.execute(
            "INSERT INTO entries (trial, trace, live) VALUES (?, ?, 1)", (trial, trace)
        ).lastrowid
        assert number is not None
        by_call: dict[int, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for call, columns in documents.items():
            for column, texts in columns.items():
                by_call[_call_key(connection, calls, call)][column] += texts
        for key, columns in by_call.items():
            _put_document(connection, number * CALLS + key, columns)


def _call_key(connection: sqlite3.Connection, calls: dict[tuple[str, str], int], call: tuple[str, str]) -> int:
    if call == ("", ""):
        return 0
    tool, status = call
    shown = tool.encode(errors="replace").decode(), status
    if shown not in calls:
        if len(calls) >= OTHER - 1:
            return OTHER
        calls[shown] = len(calls) + 1
        connection.execute("INSERT INTO calls VALUES (?, ?, ?)", (calls[shown], *shown))
    return calls[shown]


def _put_document(connection: sqlite3.Connection, document: int, columns: Mapping[str, Sequence[str]]) -> None:
    connection.execute("INSERT INTO documents VALUES (?)", (document,))
    own = []
    for column in COLUMNS:
        short = []
        for text in columns.get(column, ()):
            if len(text) < SHARED_CHARS:
                short.append(to_index(text))
            else:
                _put_shared(connection, document, column, text)
        own.append(BETWEEN.join(short))
    if any(own):
        connection.execute(
            f"INSERT INTO words (rowid, {', '.join(COLUMNS)}) VALUES (?, ?, ?, ?, ?, ?)",  # noqa: S608
            (document, *own),
        )


def _put_shared(connection: sqlite3.Connection, document: int, column: str, text: str) -> None:
    digest = digest_bytes(f"{column} {text}".encode(errors="surrogatepass"))
    row = connection.execute("SELECT key FROM shared WHERE digest = ?", (digest,)).fetchone()
    if row is None:
        key = connection.execute("INSERT INTO shared (digest) VALUES (?)", (digest,)).lastrowid or 0
        connection.execute(
            f"INSERT INTO words (rowid, {column}) VALUES (?, ?)",  # noqa: S608 - our names
            (SHARED + key, to_index(text)),
        )
    else:
        (key,) = row
    connection.execute("INSERT OR IGNORE INTO places VALUES (?, ?)", (key, document))


# The trials of a selection, so that a search need not read them from the store.


def put_scope(connection: sqlite3.Connection, scope: str, stamp: str, columns: Mapping[str, Any]) -> None:
    encoding, body = encoded(json.dumps(columns, ensure_ascii=True, separators=(",", ":")).encode())
    row = (scope, stamp, digest_bytes(body), bytes([encoding]) + body)
    connection.execute("INSERT OR REPLACE INTO scopes VALUES (?, ?, ?, ?)", row)


def read_scope(connection: sqlite3.Connection, scope: str) -> tuple[str, Mapping[str, Any]] | None:
    """With the stamp of the store that it was made of; None where there is none that can be read."""
    row = connection.execute("SELECT stamp, body FROM scopes WHERE scope = ?", (scope,)).fetchone()
    if row is None:
        return None
    try:
        found: Mapping[str, Any] = json.loads(decoded("a scope", row[1][0], row[1][1:]))
    except (ContentDamaged, ValueError, IndexError):
        return None
    return row[0], found
