"""The schema, its version and the way from one version to the next."""

import sqlite3

from toolablate.traces.errors import StoreError
from toolablate.traces.store.files.errors import NAME_A_STORE

APPLICATION_ID = 0x746C6162
"""`tlab`: in the file's header, so that no other SQLite database is taken for a store."""


def migrations() -> tuple[str, ...]:
    """The SQL that leads from version n to n + 1, in order. Files are only ever added."""
    from importlib.resources import files

    folder = files("toolablate.traces.store.files") / "migrations"
    found = sorted((entry for entry in folder.iterdir() if entry.name.endswith(".sql")), key=lambda entry: entry.name)
    return tuple(entry.read_text(encoding="utf-8") for entry in found[:SCHEMA_VERSION])


SCHEMA_VERSION = 10

FIRST_SHARED_VERSION = 3
"""Since then several recorders write a store; before, one held the gate for as long as it wrote."""


def migrate(connection: sqlite3.Connection, steps: tuple[str, ...]) -> None:
    """Brings an open store to the last version, each step in one transaction. Raises sqlite3.Error."""
    version = schema_version(connection)
    for number, step in enumerate(steps[version:], start=version + 1):
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{step}\n"
                f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};\nCOMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def schema_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_version(connection: sqlite3.Connection, path: object, *, newest: int = SCHEMA_VERSION) -> int:
    """The version of what is open; raises StoreError where it is no store or newer than this program."""
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    if application != APPLICATION_ID:
        raise StoreError(
            f"{path} is not a toolablate store: it is an SQLite database of something else, or empty",
            hint=NAME_A_STORE,
            code="not_a_store",
        )
    version = schema_version(connection)
    if version > newest:
        raise StoreError(
            f"{path} was written by a newer toolablate: its version is {version}, this one knows up to {newest}",
            hint="Upgrade toolablate (pip install -U toolablate); the store was left as it was.",
            code="newer_version",
        )
    return version
