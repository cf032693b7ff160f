"""Reads rows as they are copied or typed from a paper: a name, then one cell for each column.

Blanks stand between them; or one tab each, the `|` of Markdown, or the `&` of LaTeX, where a cell may also be empty.
"""

import re
from collections.abc import Iterator, Sequence

from toolablate.analysis.audit import EMPTY, Column, Printed, Row, printed
from toolablate.benchmarks.published.places import Place, quoted

KEY = "rows"
_WRITTEN = {r"\downarrow": "↓", r"\uparrow": "↑", r"\%": "%", r"\pm": "±", r"\&": "&", "$": ""}
_BOLD = re.compile(r"\\(?:textbf|mathbf|underline)\{([^{}]*)\}|\*\*([^*]*)\*\*")
_LOOSE = re.compile(r" (?=[%±]|[↑↓▲▼](?: |$))|(?<=±) ")
_AFTER_ARROW = re.compile(r"(?<=[↑↓▲▼]) ")
_ARROWS = frozenset("↑↓▲▼")
_FOOTNOTES = "*†‡"
_LINES = frozenset([r"\hline", r"\toprule", r"\midrule", r"\bottomrule"])
_LATEX_END = "\\\\"


def read_rows(text: str, columns: Sequence[Column], place: Place) -> tuple[Row, ...]:
    """One row per line; blank lines are passed over, and a heading as Markdown has it. Raises InputError."""
    rows = tuple(_rows(text, columns, place))
    if not rows:
        raise place.error("'rows' holds no row", key=KEY, hint="One row per line: a name, then its cells.")
    return rows


def _rows(text: str, columns: Sequence[Column], place: Place) -> Iterator[Row]:
    # TOML leaves out a line break behind the opening quotes, so the first row may stand one line below the key.
    below = place.lines[place.line(KEY) - 1].rstrip(" \t\\")[-3:] in ('"""', "'''")
    seen: set[str] = set()
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1 if below else 0):
        if not line.strip() or line.strip() in _LINES:
            continue
        at = number - below
        if _underlines(line) or (at + 1 < len(lines) and _underlines(lines[at + 1])):
            continue
        row = _row(line, columns, place, number)
        same = row.name.casefold()
        if same in seen:
            raise place.error(f"a row named {quoted(row.name)} stands above already", key=KEY, row=number)
        seen.add(same)
        yield row


def _underlines(line: str) -> bool:
    """Whether it is what Markdown draws below a heading."""
    return "|" in line and "---" in line and set(line) <= set("|:- \t")


def _row(line: str, columns: Sequence[Column], place: Place, number: int) -> Row:
    apart = _apart(line, len(columns))
    parts = apart or _plain(line).split()
    name, cells = parts[: -len(columns)], parts[-len(columns) :]
    joined = " ".join(name)
    if not joined or (apart and len(name) > 1):
        raise place.error(
            f"the row {quoted(line.strip())} has {len(parts)} parts; expected are a name and {len(columns)} cells",
            key=KEY,
            row=number,
            hint=f"The columns are {', '.join(column.name for column in columns)}. An empty cell is a dash: -",
        )
    if not apart and _is_cell(name[-1]):
        raise place.error(
            f"the row {quoted(line.strip())} has {quoted(name[-1])} before its {len(columns)} cells: one cell too many,"
            " or the end of the name",
            key=KEY,
            row=number,
            hint=f"A name that ends in a figure is set apart: {quoted(' | '.join([joined, *cells]))[1:-1]}",
        )
    read = tuple(_cell(cell, joined, column, place, number) for cell, column in zip(cells, columns, strict=True))
    return Row(joined, read)


def _apart(line: str, columns: int) -> list[str]:
    """The name and the cells, where more than blanks stands between them; else nothing."""
    written = line.strip(" ")
    if "|" in written:
        parts = written.strip().removeprefix("|").removesuffix("|").split("|")
    elif written.endswith(_LATEX_END):
        parts = re.split(r"(?<!\\)&", written.removesuffix(_LATEX_END))
    elif written.count("\t") == columns:
        parts = written.split("\t")
    else:
        return []
    return [_AFTER_ARROW.sub("", _plain(part)) for part in parts]


def _plain(text: str) -> str:
    """With one blank for each run of them, and signs in place of what LaTeX and Markdown write."""
    for written, sign in _WRITTEN.items():
        text = text.replace(written, sign)
    return _LOOSE.sub("", " ".join(_BOLD.sub(r"\1\2", text).split()))


def _is_cell(text: str) -> bool:
    if text in EMPTY:
        return True
    try:
        printed(text)
    except ValueError:
        return False
    return True


def _cell(text: str, row: str, column: Column, place: Place, number: int) -> Printed | None:
    text = text.rstrip(_FOOTNOTES)
    if not text or text in EMPTY:
        return None
    where = f"row {quoted(row)}, column {quoted(column.name)}: {quoted(text)}"
    try:
        read = printed(text)
    except ValueError as error:
        raise place.error(
            f"{where} {error}",
            key=KEY,
            row=number,
            hint="Allowed are figures such as 35.89, 10,606, 2.89%↓, -4.5, (+0.3) and 35.9±0.4, and - for an empty"
            " cell. Blanks, tabs or | stand between cells.",
        ) from error
    if column.kind != "delta" and not _ARROWS.isdisjoint(text):
        raise place.error(
            f"{where} has an arrow, and {quoted(column.name)} is no change",
            key=KEY,
            row=number,
            hint="Name a column of changes Δ; leave out arrows behind scores; and put | between cells whose arrows"
            " stand before their figures.",
        )
    return read
