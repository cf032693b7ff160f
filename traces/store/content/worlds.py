"""A store holds one world: what the tools of its trials stood on."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

from toolablate.traces.errors import InputError
from toolablate.traces.store.content.texts import TextReader
from toolablate.traces.store.files.locks import lives

IMPORTED = "imported"
"""The part of a world that tells that trials come from logs of other harnesses."""


_OWN = ("tool ", "intervention ")
"""How the parts begin that are digests of modules of the user's own."""

_UNDER_ANOTHER_NAME = "; or mend its module under another name (my_tools_2): its own conditions alone are then run anew"

_OF_THE_TEXT = "; this store's digest is of the module's text, as an earlier toolablate took it, and not of its code"


def require_same_world(connection: sqlite3.Connection, store: Path, world: Mapping[str, str]) -> None:
    """Refuses a run whose trials could not be compared with those that are done, or that a living recorder is at.

    Raises InputError, StoreError where a run is damaged, sqlite3.Error.
    """
    earlier = _earlier_world(connection, store)
    if IMPORTED in earlier and IMPORTED not in world:
        raise InputError(
            f"{store} holds trials that were imported from logs: their models cannot be asked, and none can join them",
            hint="name another store (--store) for what is to be run",
            code="imported",
        )
    for part in sorted(world.keys() & earlier.keys()):
        if world[part] != earlier[part]:
            raise InputError(
                f"the trials in {store} ran with {part} = {earlier[part]!r}; this plan says {world[part]!r}",
                hint="trials of different worlds cannot be compared: name another store (--store), or change it back"
                + (_UNDER_ANOTHER_NAME if part.startswith(_OWN) else "")
                + (_OF_THE_TEXT if part.startswith(_OWN) and " " not in earlier[part] else ""),
                code="other_world",
            )


def _earlier_world(connection: sqlite3.Connection, store: Path) -> dict[str, str]:
    """Where no trial is done, what earlier runs stood on binds nobody but those who are at it."""
    runs = connection.execute("SELECT key, body FROM runs ORDER BY key").fetchall()
    if not connection.execute("SELECT 1 FROM trials WHERE outcome IN ('answered', 'budget') LIMIT 1").fetchone():
        recorders = connection.execute("SELECT key, run FROM recorders WHERE run NOT NULL").fetchall()
        living = {run for recorder, run in recorders if lives(store, recorder)}
        runs = [run for run in runs if run[0] in living]
    reader = TextReader(connection)
    worlds = [reader.unpack(body).get("world", {}) for _, body in runs]
    return {part: value for world in worlds for part, value in world.items()}
