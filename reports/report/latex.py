"""A report's tables in LaTeX."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from toolablate.reports.plots.panels import plain
from toolablate.reports.report.contents import Report, simulated_note
from toolablate.reports.report.report_tables import ReportTable, blocks, caption, small_note, tables
from toolablate.reports.tables import Column
from toolablate.traces.terminal_text import one_line

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
    text = [place for place, column in enumerate(columns) if not column.right]
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
        (rf">{{\raggedright\arraybackslash}}{share}" if wraps else "r" if column.right else "l")
        for column, wraps in zip(columns, broken, strict=True)
    )
    titles = tuple(
        _title_lines(column.title, width) if column.right else (column.title,)
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
    titled = map(ems, column.title.split()) if column.right else (ems(column.title),)
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


def _title_lines(title: str, width: float) -> tuple[str, ...]:
    lines: list[str] = []
    for word in title.split():
        if lines and ems(f"{lines[-1]} {word}") <= width:
            lines[-1] = f"{lines[-1]} {word}"
        else:
            lines.append(word)
    return tuple(lines)


HEAD_CHARS, CELL_CHARS, NAME_CHARS, SENTENCE_CHARS = 200, 40, 120, 2_000
LONG_EMS = 8.0
_PIECE = re.compile(r"[a-z0-9]{7,12}(?![^\W_])[\W_]{0,3}|[^\W_]{1,6}[\W_]{0,3}|[\W_]{1,3}")
_SPECIAL: Mapping[str, str] = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": r"-{}",  # two would be a dash
    "[": r"{[}",  # after the end of a row it would be a length
    "]": r"{]}",
    "\u2212": r"\textminus{}",
    "\u2026": r"\ldots{}",
    "\u2192": r"\textrightarrow{}",
    "\ufffd": r"\textbf{?}",  # LuaTeX takes it for what cannot be read
    "\u00b7": r"\textperiodcentered{}",
}
_BEYOND = r"\providecommand{\beyondlatin}[1]{\ifdefined\Umathchar #1\else\textbf{?}\fi}"
"""Names in other scripts, whole to the engines that read Unicode, which alone know this command; a question mark to
others, which would stop."""


_STACKED = r"\providecommand{\stacked}[1]{\begin{tabular}[b]{@{}r@{}}#1\end{tabular}}"
"""A column's title on several lines."""


def as_latex(report: Report) -> str:
    """Of every table a `longtable` with its caption; the first lines say what a document needs for them. Any engine
    sets it; letters beyond Latin ones are set by LuaLaTeX and XeLaTeX, and are a bold question mark to pdfLaTeX."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str, most: int = CELL_CHARS) -> str:
    """On one line, cut in its middle to so many characters, and nothing but text to any engine."""
    line = plain(one_line(text, max_chars=SENTENCE_CHARS), most)
    return "".join(
        rf"\beyondlatin{{{''.join(run)}}}" if beyond else "".join(_SPECIAL.get(char, char) for char in run)
        for beyond, run in groupby(line, key=_is_beyond_latin)
    )


def breaking(text: str, most: int = NAME_CHARS) -> str:
    """The same, of more characters, and with places where a line may end in words that are long: after signs, and
    anywhere in a part that is long itself."""
    words = plain(one_line(text, max_chars=SENTENCE_CHARS), most).split(" ")
    return " ".join(escaped(word, most) if ems(word) <= LONG_EMS else _broken(word, most) for word in words)


def _broken(word: str, most: int) -> str:
    return r"\allowbreak{}".join(escaped(piece, most) for piece in _PIECE.findall(word))


def _is_beyond_latin(char: str) -> bool:
    return not (char in _SPECIAL or char.isascii() or (char.isalpha() and ord(char) < 0x180))


def _lines(report: Report) -> Iterator[str]:
    yield f"% {one_line(report.title, max_chars=HEAD_CHARS)}"
    yield r"% \usepackage[T1]{fontenc} \usepackage{textcomp,array,booktabs,longtable}"
    for name, value in report.setup.facts:
        yield f"% {one_line(name)}: {one_line(value, max_chars=HEAD_CHARS)}"
    note = simulated_note(report.findings)
    found = tables(report.findings, report.endings)
    lines = [line for table in found for line in ("", *_table(table, note))]
    if any("\\beyondlatin" in line for line in lines):
        yield "% Letters beyond Latin ones want LuaLaTeX or XeLaTeX, and a font that has them, such as:"
        yield r"% \usepackage{fontspec} \setmainfont{Noto Serif CJK SC}"
        yield _BEYOND
    yield _STACKED
    yield from lines


def _table(table: ReportTable, note: str) -> Iterator[str]:
    columns, found = blocks(table)
    laid = layout(columns, [row for block in found for row in block.rows])
    lengths = rf"\setlength{{\tabcolsep}}{{{laid.size.columns_apart}}}\setlength{{\LTcapwidth}}{{\linewidth}}"
    yield rf"\begingroup\{laid.size.name}{lengths}"
    yield rf"\begin{{longtable}}{{{laid.columns}}}"
    said = " ".join(each for each in (f"{caption(table)}.", note, small_note(table)) if each)
    yield rf"\caption{{{breaking(said, SENTENCE_CHARS)}}}\label{{tab:{table.name}}}\\"
    yield r"\toprule"
    yield rf"{' & '.join(map(_title, laid.titles))} \\"
    yield r"\midrule"
    yield r"\endhead"
    for place, block in enumerate(found):
        if block.heading:
            yield rf"\addlinespace {_heading(block.heading, laid)}" if place else _heading(block.heading, laid)
        yield from (_row(row, laid) for row in block.rows)
    yield r"\bottomrule"
    yield r"\end{longtable}"
    yield r"\endgroup"


def _title(lines: Sequence[str]) -> str:
    one = r" \\ ".join(map(escaped, lines))
    return rf"\stacked{{{one}}}" if len(lines) > 1 else one


def _heading(text: str, laid: Layout) -> str:
    kind = "l" if ems(text) < laid.ems else r"p{0.95\linewidth}"
    return rf"\multicolumn{{{len(laid.titles)}}}{{{kind}}}{{\textbf{{{breaking(text)}}}}} \\*"


def _row(cells: Sequence[str], laid: Layout) -> str:
    found = (breaking(cell) if wraps else escaped(cell) for cell, wraps in zip(cells, laid.broken, strict=True))
    return rf"{' & '.join(found)} \\"
