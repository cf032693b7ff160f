"""The tables: each text once, and one row for each request and repeat."""

import sqlite3
from functools import cache

from toolablate.traces.database import Layout, layout

APPLICATION_ID = 0x746C7270
"""`tlrp`: in the file's header, so that no other SQLite database is taken for a library."""
SCHEMA_VERSION = 1

SCHEMA = f"""
CREATE TABLE texts (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    encoding INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE replies (
    key BLOB NOT NULL,
    repeat INTEGER NOT NULL,
    model INTEGER NOT NULL REFERENCES texts (id),
    parameters INTEGER NOT NULL REFERENCES texts (id),
    tools INTEGER NOT NULL REFERENCES texts (id),
    messages TEXT NOT NULL,
    said INTEGER NOT NULL REFERENCES texts (id),
    rest INTEGER NOT NULL REFERENCES texts (id),
    none INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (key, repeat)
) WITHOUT ROWID;
CREATE INDEX replies_digest ON replies (digest);
CREATE INDEX replies_messages ON replies (model, messages);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


def create_schema(connection: sqlite3.Connection) -> None:
    """Makes an empty file a library, once, whoever else tries at the same time. Raises sqlite3.Error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if is_empty(connection):
            _put_schema(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def is_empty(connection: sqlite3.Connection) -> bool:
    return _numbers(connection) == (0, 0) and not layout(connection)


def is_library(connection: sqlite3.Connection) -> bool:
    """Whether it is laid out just as ours, with nothing in it that could act. Raises sqlite3.Error for no database."""
    return _numbers(connection) == (APPLICATION_ID, SCHEMA_VERSION) and layout(connection) == _expected_layout()


def is_ours(connection: sqlite3.Connection) -> bool:
    """Whether it is a library, or was one before it was damaged: by its number, or by a table of ours."""
    statements = {statement for *_, statement in _expected_layout() if statement is not None}
    return _numbers(connection)[0] == APPLICATION_ID or any(row[-1] in statements for row in layout(connection))


def is_newer(connection: sqlite3.Connection) -> bool:
    application, version = _numbers(connection)
    return application == APPLICATION_ID and version > SCHEMA_VERSION


def _numbers(connection: sqlite3.Connection) -> tuple[int, int]:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    return application, version


def _put_schema(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";\n"):
        connection.execute(statement)


@cache
def _expected_layout() -> Layout:
    connection = sqlite3.connect(":memory:")
    try:
        _put_schema(connection)
        return layout(connection)
    finally:
        connection.close()
