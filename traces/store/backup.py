"""Copies of a store that is written meanwhile, each as the store is at one moment."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from toolablate.traces.database import beside, connect
from toolablate.traces.errors import StoreError
from toolablate.traces.store.file import check_layout, check_version, explain, open_reader, reading, unwritable

_PAGES, _STEPS = 1_000, 1_000_000
"""Pages to copy, and steps of SQLite's machine while the copy is checked, between two looks whether it is to stop."""

_VERSIONS_AT, _WITHOUT_WAL = 18, b"\x01\x01"
"""In the header of an SQLite file (https://www.sqlite.org/fileformat2.html#file_format_version_numbers): the copy has
that of a store which is being written, and no WAL."""

_COUNTS = "SELECT (SELECT count(*) FROM trials), (SELECT count(*) FROM traces), (SELECT count(*) FROM scores)"


_KEPT = {
    ("finished trial", "finished trials"): "SELECT id FROM trials WHERE outcome <> 'failed'",
    ("score", "scores"): (
        "SELECT trials.id, scorer, version, questions.id, target FROM scores JOIN trials ON trials.key = scores.trial"
        " JOIN questions ON questions.key = trials.question"
    ),
    ("diagnosis", "diagnoses"): (
        "SELECT trials.id, judge, wording FROM diagnoses JOIN trials ON trials.key = diagnoses.trial"
    ),
    ("label", "labels"): "SELECT trials.id, labels.digest FROM labels JOIN trials ON trials.key = labels.trial",
    ("run", "runs"): "SELECT id FROM runs",
}
"""What a store keeps, so that a copy made of it has no more, by what it is known by. Scores alone are deleted: those by
an answer key that was mended since."""

_KEYS = "SELECT id, target FROM questions"


_NO_COPY = ("not_a_store", "corrupt", "changed_layout", "older_version", "newer_version")


class BackupStopped(Exception):
    """The copy was not wanted any more."""


def lacking(store: Path, target: Path) -> str:
    """What the copy at `target` has and the store has not, counted in words: people may have put it there. "" where
    nothing is, or no copy is there. Raises StoreError for something else in that place."""
    try:
        if not target.exists():
            return ""
    except OSError as error:
        raise unwritable(target, error) from error
    told = []
    with ExitStack() as stack:
        with _telling_what_to_do():
            copy = stack.enter_context(closing(open_reader(target)))
        source = stack.enter_context(closing(open_reader(store))) if store.exists() else None
        for (one, several), query in _KEPT.items():
            with reading(store):
                known = set(source.execute(query)) if source else set()
                keys = dict(source.execute(_KEYS)) if source and one == "score" else {}
            with _telling_what_to_do(), reading(target):
                rows = [row for row in copy.execute(query) if row not in known]
                # Of a score the last two say by which answer key it was given.
                if count := sum(one != "score" or keys.get(row[-2], row[-1]) == row[-1] for row in rows):
                    told.append(f"{count:,} {one if count == 1 else several}")
    return ", ".join(told)


@contextmanager
def _telling_what_to_do() -> Iterator[None]:
    """Who reads a store can name another; what is in the place of a copy has to go."""
    try:
        yield
    except StoreError as error:
        if error.code in _NO_COPY:
            error.hint = "It is not replaced: move it away, or name another file for the backup."
        raise


def back_up(
    store: Path,
    target: Path,
    stopped: Callable[[], bool] = lambda: False,
    before_replacing: Callable[[], object] = lambda: None,
) -> None:
    """Copies the store, and puts the copy in the place of `target` once it is found whole; recorders are not held up.

    The target may be on a network file system: no other process opens the file before it has its name, and it has no
    WAL. Raises StoreError, BackupStopped where `stopped` became true, and what `before_replacing` raises; what was at
    `target` stays then.
    """
    # What a link names is replaced, and not the link: it may lie on another disk.
    target = Path(os.path.realpath(target))
    new = beside(target, ".new")
    try:
        _remove(new)
        try:
            with closing(open_reader(store)) as source:
                _copy(source, new, stopped)
            before_replacing()
            new.replace(target)
            _sync_folder(target.parent)
        finally:
            _remove(new)
    except sqlite3.Error as error:
        raise explain(error, target, "write") from error
    except OSError as error:
        raise unwritable(target, error) from error


def _copy(source: sqlite3.Connection, new: Path, stopped: Callable[[], bool]) -> None:
    """Within one transaction, or whatever others write would begin the copy anew."""

    def look(*_: int) -> None:
        if stopped():
            raise BackupStopped

    source.execute("BEGIN")
    counts = source.execute(_COUNTS).fetchone()
    # Nobody else opens it, and locks are what network file systems lack.
    with closing(connect(new, "mode=rwc&nolock=1")) as copy:
        source.backup(copy, pages=_PAGES, progress=look)
    with new.open("r+b") as file:
        file.seek(_VERSIONS_AT)
        file.write(_WITHOUT_WAL)
        file.flush()
        os.fsync(file.fileno())
    with closing(connect(new, "mode=ro&immutable=1")) as copy:
        check_version(copy, new)
        check_layout(copy, new)
        if copy.execute(_COUNTS).fetchone() != counts:
            raise _bad("does not hold what the store held when it was begun")
        # A copy of a store that is damaged is damaged as well, and must not replace one that is not.
        # What each row may hold was checked as it was written; to check it again takes a hundred times as long.
        copy.execute("PRAGMA ignore_check_constraints = ON")
        copy.set_progress_handler(stopped, _STEPS)
        try:
            found = str(copy.execute("PRAGMA quick_check(1)").fetchone()[0])
        except sqlite3.DatabaseError as error:
            look()
            found = str(error)
        if found != "ok":
            raise _bad(f"is damaged, as the store may be ({' '.join(found.split())})")


def _bad(told: str) -> StoreError:
    return StoreError(
        f"The copy {told}",
        hint="Check both disks, and the store with `toolablate verify`; the backup before it is still there.",
        code="bad_backup",
    )


def _remove(new: Path) -> None:
    for path in (new, beside(new, "-wal"), beside(new, "-journal")):
        path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """So that the name outlives a loss of power, where the file system can do that."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
