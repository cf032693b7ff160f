"""Who writes a store, and which trials each is at: several recorders share them, and none is done twice."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from toolablate.traces.store.files.locks import LifeLock, life_file, lives
from toolablate.traces.store.files.opening import begin_writing
from toolablate.traces.store.files.uptime import uptime
from toolablate.traces.store.writing.writer import Desk


class Membership:
    """A recorder among those of a store, from when it registers until it leaves. Both happen inside the gate."""

    def __init__(self, connection: sqlite3.Connection, store: Path) -> None:
        """Raises sqlite3.Error, and StoreError where its lock cannot be had."""
        self._store = store
        sweep(connection, store)
        begin_writing(connection)
        cursor = connection.execute("INSERT INTO recorders (pid, clock) VALUES (?, ?)", (os.getpid(), uptime()))
        connection.execute("COMMIT")
        self.key = int(cursor.lastrowid or 0)
        self._lock = LifeLock(store, self.key)

    def leave(self, connection: sqlite3.Connection) -> None:
        """Gives back what it claims. On a full disk its row stays, and counts for nothing, since its lock is free."""
        self.release()
        with contextlib.suppress(sqlite3.Error):
            sweep(connection, self._store)

    def release(self) -> None:
        self._lock.release()


def sweep(connection: sqlite3.Connection, store: Path) -> None:
    """Removes what dead recorders have left: their claims, their rows and the files of their locks."""
    dead = [key for (key,) in connection.execute("SELECT key FROM recorders") if not lives(store, key)]
    if not dead:
        return
    begin_writing(connection)
    for key in dead:
        connection.execute("DELETE FROM claims WHERE recorder = ?", (key,))
        connection.execute("DELETE FROM recorders WHERE key = ?", (key,))
    connection.execute("COMMIT")
    for key in dead:
        life_file(store, key).unlink(missing_ok=True)


def is_deserted(connection: sqlite3.Connection, store: Path) -> bool:
    """Whether no recorder lives. Raises sqlite3.Error."""
    return not any(lives(store, key) for (key,) in connection.execute("SELECT key FROM recorders"))


def taken(store: Path, recorder: int) -> Callable[[Desk], frozenset[str]]:
    """Ids of the trials that other living recorders are at."""

    def read(desk: Desk) -> frozenset[str]:
        rows = desk.connection.execute(
            "SELECT trials.id, recorder FROM claims JOIN trials ON trials.key = claims.trial WHERE recorder <> ?",
            (recorder,),
        ).fetchall()
        living = {key for key in {row[1] for row in rows} if lives(store, key)}
        return frozenset(identity for identity, key in rows if key in living)

    return read
