import sqlite3
from collections import Counter
from collections.abc import Container

SHORT_ID = 8


def shown_names(connection: sqlite3.Connection, table: str, among: Container[int] | None = None) -> dict[int, str]:
    """How each row is called: by its name, or by its name and the beginning of its id where names are shared.

    `table` is one of our own; `among` holds the keys of the rows that are shown together, by default all. Raises
    sqlite3.Error.
    """
    found = connection.execute(f"SELECT key, name, id FROM {table}").fetchall()  # noqa: S608 - our names
    rows = [row for row in found if among is None or row[0] in among]
    shared = Counter(name for _, name, _ in rows)
    return {key: name if shared[name] == 1 else f"{name}@{identity[:SHORT_ID]}" for key, name, identity in rows}
