"""Reads rows as they are copied or typed from a paper: a name, then one cell for each column."""

import re
from collections.abc import Iterator, Sequence

from toolablate.benchmarks.published.places import Place, quoted
from toolablate.traces.analysis.audit import EMPTY, Column, Printed, Row, printed

KEY = "rows"
_WRITTEN = {r"\downarrow": "↓", r"\uparrow": "↑", r"\%": "%"}
_LOOSE = re.compile(r"\s+(?=%|[↑↓▲▼](?:\s|$))")


def read_rows(text: str, columns: Sequence[Column], place: Place) -> tuple[Row, ...]:
    """One row per line; blank lines are passed over. Raises InputError."""
    rows = tuple(_rows(text, columns, place))
    if not rows:
        raise place.error("'rows' holds no row", key=KEY, hint="One row per line: a name, then its cells.")
    return rows


def _rows(text: str, columns: Sequence[Column], place: Place) -> Iterator[Row]:
    # TOML leaves out a line break behind the opening quotes, so the first row may stand one line below the key.
    below = place.lines[place.line(KEY) - 1].rstrip(" \t\\")[-3:] in ('"""', "'''")
    seen: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1 if below else 0):
        if not line.strip():
            continue
        row = _row(line, columns, place, number)
        same = row.name.casefold()
        if same in seen:
            raise place.error(f"a row named {quoted(row.name)} stands above already", key=KEY, row=number)
        seen[same] = number
        yield row


def _row(line: str, columns: Sequence[Column], place: Place, number: int) -> Row:
    for written, sign in _WRITTEN.items():
        line = line.replace(written, sign)
    parts = _LOOSE.sub("", line).split()
    name, cells = parts[: -len(columns)], parts[-len(columns) :]
    if not name:
        raise place.error(
            f"the row {quoted(line.strip())} has {len(parts)} parts; expected are a name and {len(columns)} cells",
            key=KEY,
            row=number,
            hint=f"The columns are {', '.join(column.name for column in columns)}. An empty cell is a dash: -",
        )
    joined = " ".join(name)
    read = tuple(_cell(cell, joined, column, place, number) for cell, column in zip(cells, columns, strict=True))
    return Row(joined, read)


def _cell(text: str, row: str, column: Column, place: Place, number: int) -> Printed | None:
    if text in EMPTY:
        return None
    try:
        return printed(text)
    except ValueError as error:
        raise place.error(
            f"row {quoted(row)}, column {quoted(column.name)}: {quoted(text)} {error}",
            key=KEY,
            row=number,
            hint="Allowed are figures such as 35.89, 10,606, 2.89%↓, -4.5 and (+0.3), and - for an empty cell.",
        ) from error
