"""A table of a report: columns, rows, and how they are read."""

from dataclasses import dataclass
from itertools import groupby

SMALL = "*"
MODEL = "Model"


@dataclass(frozen=True, slots=True)
class Column:
    """`figures` are set to the right."""

    title: str
    figures: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Cells are foreign text, not escaped. `name` is fit for an anchor; `section` is the heading of all that stand
    under it, `title` that of this one, "" where it is alone; `figures` are the names of plates that show the same.
    `notes` say how to read it."""

    name: str
    section: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    figures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that share a heading; "" where there is none."""

    heading: str
    rows: tuple[tuple[str, ...], ...]


def caption(table: Table) -> str:
    return f"{table.section}: {table.title}" if table.title else table.section


def blocks(table: Table) -> tuple[tuple[Column, ...], tuple[Block, ...]]:
    """Columns and rows without that of models, of which each has a block: names are long, and a table is narrow."""
    if table.columns[0].title != MODEL:
        return table.columns, (Block("", table.rows),)
    return table.columns[1:], tuple(
        Block(model, tuple(row[1:] for row in rows)) for model, rows in groupby(table.rows, key=lambda row: row[0])
    )


def small_note(table: Table) -> str:
    """What the star of a table means; "" where it has none."""
    places = [place for place, column in enumerate(table.columns) if column.title.endswith("interval")]
    starred = any(row[place].endswith(SMALL) for row in table.rows for place in places)
    return (
        f"{SMALL}: too few independent questions, or too few that differ, to rely on the interval." if starred else ""
    )
