r"""How wide the columns of a table in LaTeX are: names wrap where a table would be wider than its page.

Widths are guessed in ems of a Roman font: what is set is known to LaTeX alone. Columns of figures are as wide as they
are, under titles on several lines; those of text share what is left of \linewidth.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolablate.reports.report.table import Column

ENOUGH_EMS, LEAST_EMS = 9.0, 4.0
"""What a column of text wants; letters are smaller where it would have less."""
_NARROW, _BROAD = frozenset(" !'(),.:;I[]`fijlrt|"), frozenset("%+<=>mw~&\u2026\u2212\ufffd")


@dataclass(frozen=True, slots=True)
class Size:
    """Of letters. `line` is that of the narrowest of the usual documents, 345 pt of `article`, `between` what is
    between two columns; in ems of this size."""

    name: str
    line: float
    columns_apart: str
    between: float


SIZES = (Size("footnotesize", 40.0, "3pt", 0.71), Size("scriptsize", 43.0, "2pt", 0.5))


@dataclass(frozen=True, slots=True)
class Layout:
    """`columns` is the argument of `longtable`; `titles` are the lines of each title; text of columns that are `broken`
    wraps. `ems` is how wide the table is about."""

    size: Size
    columns: str
    titles: tuple[tuple[str, ...], ...]
    broken: tuple[bool, ...]
    ems: float


def layout(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> Layout:
    widths = [_width(column, [row[place] for row in rows]) for place, column in enumerate(columns)]
    text = [place for place, column in enumerate(columns) if not column.figures]
    for size in SIZES:
        between = size.between * len(columns)
        room = size.line - between - sum(width for place, width in enumerate(widths) if place not in text)
        most = _shared([widths[place] for place in text], room)
        if most >= min(ENOUGH_EMS, max(widths[place] for place in text)):
            break
    broken = [place in text and widths[place] > most for place in range(len(columns))]
    whole = between + sum(width for width, wraps in zip(widths, broken, strict=True) if not wraps)
    share = rf"p{{{1 / max(1, sum(broken)):.3f}\dimexpr\linewidth-{whole:.1f}em\relax}}"
    kinds = (
        (rf">{{\raggedright\arraybackslash}}{share}" if wraps else "r" if column.figures else "l")
        for column, wraps in zip(columns, broken, strict=True)
    )
    titles = tuple(
        _lines(column.title, width) if column.figures else (column.title,)
        for column, width in zip(columns, widths, strict=True)
    )
    return Layout(size, "".join(kinds), titles, tuple(broken), size.line if any(broken) else whole)


def ems(text: str) -> float:
    return sum(map(_letter, text))


def _letter(char: str) -> float:
    if char in _BROAD:
        return 0.82
    if char in "WM@" or ord(char) >= 0x1100:
        return 1.04
    return 0.34 if char in _NARROW else 0.72 if char.isupper() else 0.5


def _width(column: Column, cells: Iterable[str]) -> float:
    titled = map(ems, column.title.split()) if column.figures else (ems(column.title),)
    return max(*titled, *map(ems, cells), 0.0)


def _shared(widths: Sequence[float], room: float) -> float:
    """The width from which columns wrap, so that all have room: short ones leave theirs to the long ones."""
    left = room
    for place, width in enumerate(sorted(widths)):
        fair = left / (len(widths) - place)
        if width > fair:
            return max(fair, LEAST_EMS)
        left -= width
    return max([*widths, LEAST_EMS])


def _lines(title: str, width: float) -> tuple[str, ...]:
    lines: list[str] = []
    for word in title.split():
        if lines and ems(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return tuple(lines)
