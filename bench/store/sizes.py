"""Where a store's bytes are, and how many an Inspect log takes for the same traces."""

import json
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

AIM = 0.5
"""Of the bytes of the same traces as an Inspect log."""


@dataclass(frozen=True, slots=True)
class InspectLog:
    """What Inspect's own recorder made of so many of the traces, and the milliseconds that it takes to read one."""

    version: str
    samples: int
    bytes: int
    seconds: float
    read_ms: float


def bytes_by_table(store: Path) -> dict[str, int]:
    """Whole pages, the largest first; a table's indexes are its own, and pages that nothing uses are `(free)`."""
    with closing(sqlite3.connect(store)) as connection:
        (page,) = connection.execute("PRAGMA page_size").fetchone()
        (free,) = connection.execute("PRAGMA freelist_count").fetchone()
        rows = connection.execute(
            "SELECT coalesce(made.tbl_name, dbstat.name), sum(pgsize) FROM dbstat"
            " LEFT JOIN sqlite_master AS made ON made.name = dbstat.name GROUP BY 1 ORDER BY 2 DESC"
        )
        return {**dict(rows), "(free)": page * free}


def write_inspect_log(python: str, lines: Path, log: Path) -> InspectLog:
    """Raises CalledProcessError where that Python has no inspect_ai that can do it."""
    program = Path(__file__).with_name("inspect_log.py")
    done = subprocess.run([python, program, lines, log], check=True, stdout=subprocess.PIPE, text=True)
    return InspectLog(**json.loads(done.stdout))
