"""The tables of a report in LaTeX, to be put into a paper: they want the packages booktabs and longtable."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from toolablate.traces.plots.text import plain
from toolablate.traces.report.notes import simulated_note
from toolablate.traces.report.records import Report
from toolablate.traces.report.tables import Table, blocks, caption, small_note, tables
from toolablate.traces.terminal.plain import one_line

HEAD_CHARS, CELL_CHARS, SENTENCE_CHARS = 200, 40, 2_000
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


def _is_beyond_latin(char: str) -> bool:
    return not (char in _SPECIAL or char.isascii() or (char.isalpha() and ord(char) < 0x180))


def _lines(report: Report) -> Iterator[str]:
    yield f"% {one_line(report.title, max_chars=HEAD_CHARS)}"
    yield r"% \usepackage[T1]{fontenc} \usepackage{textcomp} \usepackage{booktabs} \usepackage{longtable}"
    for name, value in report.setup.facts:
        yield f"% {one_line(name)}: {one_line(value, max_chars=HEAD_CHARS)}"
    note = simulated_note(report.findings)
    found = tables(report.findings, report.endings)
    lines = [line for table in found for line in ("", *_table(table, note))]
    if any("\\beyondlatin" in line for line in lines):
        yield "% Letters beyond Latin ones want LuaLaTeX or XeLaTeX, and a font that has them, such as:"
        yield r"% \usepackage{fontspec} \setmainfont{Noto Serif CJK SC}"
        yield _BEYOND
    yield from lines


def _table(table: Table, note: str) -> Iterator[str]:
    yield r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}"
    columns, found = blocks(table)
    yield rf"\begin{{longtable}}{{{''.join('r' if column.figures else 'l' for column in columns)}}}"
    said = " ".join(each for each in (f"{caption(table)}.", note, small_note(table)) if each)
    yield rf"\caption{{{escaped(said, SENTENCE_CHARS)}}}\label{{tab:{table.name}}}\\"
    yield r"\toprule"
    yield _row(column.title for column in columns)
    yield r"\midrule"
    yield r"\endhead"
    for place, block in enumerate(found):
        if block.heading:
            heading = rf"\multicolumn{{{len(columns)}}}{{l}}{{\textbf{{{escaped(block.heading)}}}}} \\*"
            yield rf"\addlinespace {heading}" if place else heading
        yield from map(_row, block.rows)
    yield r"\bottomrule"
    yield r"\end{longtable}"
    yield r"\endgroup"


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(map(escaped, cells))} \\"
