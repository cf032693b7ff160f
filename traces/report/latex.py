"""The tables of a report in LaTeX, to be put into a paper: they want the packages booktabs and longtable."""

from collections.abc import Iterable, Iterator, Mapping

from toolablate.traces.report.notes import simulated_note
from toolablate.traces.report.records import Report
from toolablate.traces.report.tables import Table, caption, small_note, tables
from toolablate.traces.terminal.plain import one_line

CELL_CHARS = 200
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
    "\u00b7": r"\textperiodcentered{}",
}
_UNKNOWN = r"\textbf{?}"


def as_latex(report: Report) -> str:
    """Of every table a `longtable` with its caption; the first lines say what a document needs for them. A character
    beyond Latin letters, which engines of old stop at, is a bold question mark."""
    return "\n".join(_lines(report)) + "\n"


def escaped(text: str) -> str:
    """On one line, and nothing but text to any engine."""
    return "".join(_character(char) for char in one_line(text, max_chars=CELL_CHARS))


def _character(char: str) -> str:
    if char in _SPECIAL:
        return _SPECIAL[char]
    if char.isascii() or (char.isalpha() and ord(char) < 0x180):
        return char
    return _UNKNOWN


def _lines(report: Report) -> Iterator[str]:
    yield f"% {one_line(report.title, max_chars=CELL_CHARS)}"
    yield r"% \usepackage[T1]{fontenc} \usepackage{textcomp} \usepackage{booktabs} \usepackage{longtable}"
    for name, value in report.setup.facts:
        yield f"% {one_line(name)}: {one_line(value, max_chars=CELL_CHARS)}"
    note = simulated_note(report.findings)
    for table in tables(report.findings, report.endings):
        yield ""
        yield from _table(table, note)


def _table(table: Table, note: str) -> Iterator[str]:
    yield r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}"
    yield rf"\begin{{longtable}}{{{''.join('r' if column.figures else 'l' for column in table.columns)}}}"
    said = " ".join(each for each in (f"{caption(table)}.", note, small_note(table)) if each)
    yield rf"\caption{{{escaped_long(said)}}}\label{{tab:{table.name}}}\\"
    yield r"\toprule"
    yield _row(column.title for column in table.columns)
    yield r"\midrule"
    yield r"\endhead"
    for row in table.rows:
        yield _row(row)
    yield r"\bottomrule"
    yield r"\end{longtable}"
    yield r"\endgroup"


def escaped_long(text: str) -> str:
    """The same of a sentence of ours."""
    return "".join(_character(char) for char in one_line(text, max_chars=2_000))


def _row(cells: Iterable[str]) -> str:
    return rf"{' & '.join(map(escaped, cells))} \\"
