import sqlite3
from collections import Counter

SHORT_ID = 8


def labels(connection: sqlite3.Connection, table: str) -> dict[int, str]:
    """How each row is called: by its name, or by its name and the beginning of its id where names are shared.

    `table` is one of our own. Raises sqlite3.Error.
    """
    rows = connection.execute(f"SELECT key, name, id FROM {table}").fetchall()  # noqa: S608 - our names
    shared = Counter(name for _, name, _ in rows)
    return {key: name if shared[name] == 1 else f"{name}@{identity[:SHORT_ID]}" for key, name, identity in rows}
