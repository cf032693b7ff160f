"""SQLite files that may come from someone else, and that several processes use at once."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

BUSY_SECONDS = 60.0
"""How long others that write are waited for."""

Result = TypeVar("Result")

Layout = tuple[tuple[str | None, ...], ...]
"""Type, name, table and SQL of all that a database's schema has, by name."""


def connect(path: Path, options: str, *, busy_seconds: float = BUSY_SECONDS) -> sqlite3.Connection:
    """A connection in which nothing in the file's schema may run functions or name other files, for use in any thread
    and with transactions by hand. `options` are those of SQLite's URIs (`mode=ro`). Raises sqlite3.Error."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?{options}",
        uri=True,
        isolation_level=None,
        timeout=busy_seconds,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def patiently(act: Callable[[], Result], seconds: float = BUSY_SECONDS) -> Result:
    """Repeats what SQLite refuses at once, without waiting: changing to a WAL while others do the same."""
    until = time.monotonic() + seconds
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            busy = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
            if not busy or time.monotonic() > until:
                raise
            time.sleep(0.01)


def layout(connection: sqlite3.Connection) -> Layout:
    """What its schema says, so that a file can be held to the tables that it should have. Raises sqlite3.Error."""
    return tuple(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name"))
