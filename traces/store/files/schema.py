"""The tables of a store, and whether an open file has them."""

import sqlite3
from functools import cache
from importlib.resources import files

from toolablate.traces.database import Layout, layout
from toolablate.traces.errors import StoreError
from toolablate.traces.store.files.errors import NAME_A_STORE

APPLICATION_ID = 0x746C6174
"""`tlat`: in the file's header, so that no other SQLite database is taken for a store."""

UNRELEASED_ID = 0x746C6162
"""Of stores that development versions wrote, in ten versions of the tables that no release has had."""

SCHEMA_VERSION = 1


def create_schema(connection: sqlite3.Connection) -> None:
    """Makes an empty database a store, in one transaction. Raises sqlite3.Error."""
    schema = (files("toolablate.traces.store.files") / "schema.sql").read_text(encoding="utf-8")
    connection.executescript(
        f"BEGIN IMMEDIATE;\n{schema}\n"
        f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {SCHEMA_VERSION};\nCOMMIT;"
    )


def check_version(connection: sqlite3.Connection, path: object) -> None:
    """Raises StoreError where what is open is no store, or of another version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application == UNRELEASED_ID:
        raise StoreError(
            f"{path} was written by a development version of toolablate, from before the first release",
            hint="Read it with that version, or run its plan again into a new store.",
            code="older_version",
        )
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} is not a toolablate store: it is an SQLite database of something else, or empty",
            hint=NAME_A_STORE,
            code="not_a_store",
        )
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != SCHEMA_VERSION:
        raise StoreError(
            f"{path} was written by a newer toolablate: its version is {version}, this one reads {SCHEMA_VERSION}",
            hint="Upgrade toolablate (pip install -U toolablate); the store was left as it was.",
            code="newer_version",
        )


def check_layout(connection: sqlite3.Connection, path: object) -> None:
    """Raises StoreError where tables are missing or changed, or something was added: a view in the place of a table
    can keep every reader busy for ever, and a trigger can change what is written."""
    found = layout(connection)
    if found == _expected_layout():
        return
    changed = sorted({f"{kind} {name}" for kind, name, *_ in set(found) ^ set(_expected_layout())})
    named = ", ".join(changed[:3]) + (" ..." if changed[3:] else "")
    raise StoreError(
        f"{path} is not laid out as a store; added, changed or missing: {named}",
        hint="Somebody changed its tables. Read a copy that nobody has changed.",
        code="changed_layout",
    )


@cache
def _expected_layout() -> Layout:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        create_schema(connection)
        return layout(connection)
    finally:
        connection.close()
