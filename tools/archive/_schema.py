"""The index: one SQLite file over everything, and the contents that are no HTTP exchange."""

import sqlite3
from functools import cache

from toolablate.traces.database import Layout, layout

APPLICATION_ID = 0x746C7765
"""`tlwe`: in the file's header, so that no other SQLite database is taken for an index."""
SCHEMA_VERSION = 1

SCHEMA = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blobs (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    encoding INTEGER NOT NULL,
    body BLOB NOT NULL
);
CREATE TABLE entries (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    failed INTEGER NOT NULL,
    captured_at INTEGER NOT NULL,
    request TEXT NOT NULL,
    blob INTEGER NOT NULL REFERENCES blobs (id),
    digest BLOB NOT NULL,
    UNIQUE (kind, key, failed, captured_at)
);
CREATE TABLE files (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    failed INTEGER NOT NULL,
    captured_at INTEGER NOT NULL,
    url TEXT NOT NULL,
    near TEXT NOT NULL,
    status INTEGER NOT NULL,
    location TEXT NOT NULL,
    content_type TEXT NOT NULL,
    payload BLOB NOT NULL,
    file INTEGER NOT NULL REFERENCES files (id),
    position INTEGER NOT NULL,
    response_bytes INTEGER NOT NULL,
    request_bytes INTEGER NOT NULL,
    content BLOB NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (key, failed, captured_at)
);
CREATE INDEX exchanges_near ON exchanges (near);
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {SCHEMA_VERSION};
"""


def create_schema(connection: sqlite3.Connection) -> None:
    """Makes an empty file an index, once, whoever else tries at the same time. Raises sqlite3.Error."""
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            _put_schema(connection)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _put_schema(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";\n"):
        connection.execute(statement)


def is_index(connection: sqlite3.Connection) -> bool:
    """Whether it is laid out just as ours, with nothing in it that could act. Raises sqlite3.Error for no database."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    return (application, version) == (APPLICATION_ID, SCHEMA_VERSION) and layout(connection) == _expected_layout()


@cache
def _expected_layout() -> Layout:
    connection = sqlite3.connect(":memory:")
    try:
        _put_schema(connection)
        return layout(connection)
    finally:
        connection.close()
