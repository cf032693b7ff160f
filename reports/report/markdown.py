"""A report as Markdown, in GitHub's dialect: its tables, and its figures as files beside it."""

import re
import urllib.parse
from collections.abc import Iterator, Mapping

from toolablate.reports.report.contents import Report, how_to_read, notes_of, simulated_note
from toolablate.reports.report.html import in_short
from toolablate.reports.report.report_tables import ReportTable, caption, small_note, tables
from toolablate.traces.terminal_text import one_line

CELL_CHARS = 600
_SPECIAL = re.compile(r"[\\`*_{}\[\]#!|<>~&$@]|:(?=//|[a-zA-Z+-][\w+-]*:)|(?<=www)\.")


def as_markdown(report: Report, figures: Mapping[str, str] | None = None) -> str:
    """`figures` are paths of images by the names of plates, relative to the file. What is foreign is escaped: it
    makes no markup, link, mention or formula."""
    return "\n".join(_lines(report, figures or {})) + "\n"


def escaped(text: str) -> str:
    """On one line, and nothing but text."""
    return _SPECIAL.sub(lambda found: f"\\{found[0]}", one_line(text, max_chars=CELL_CHARS))


def _lines(report: Report, figures: Mapping[str, str]) -> Iterator[str]:
    yield f"# {escaped(report.title)}"
    yield ""
    if note := simulated_note(report.findings):
        yield f"> **{escaped(note)}**"
        yield ""
    for name, value in report.setup.facts:
        yield f"- {escaped(name)}: {escaped(value)}"
    if short := tuple(in_short(report.findings)):
        yield from ("", "## In short", "")
        yield from (f"- {escaped(each)}" for each in short)
    shown: set[str] = set()
    for table in tables(report.findings, report.endings):
        yield from _table(table)
        for name in table.figures:
            if name in figures and name not in shown:
                shown.add(name)
                yield from ("", f"![{escaped(table.section)}]({urllib.parse.quote(figures[name])})")
    yield from ("", "## How to read this", "")
    yield from (f"- {escaped(each)}" for each in how_to_read(report.findings))
    if notes := tuple(notes_of(report.findings)):
        yield from ("", "## Notes", "")
        yield from (f"- {escaped(each)}" for each in notes)
    for title, described in (("Models", report.setup.models), ("Conditions", report.setup.conditions)):
        if described:
            yield from ("", f"## {title}", "")
            yield from (f"- **{escaped(name)}**: {escaped(value)}" for name, value in described)


def _table(table: ReportTable) -> Iterator[str]:
    yield from ("", f"## {escaped(caption(table))}", "")
    yield _row(escaped(column.title) for column in table.columns)
    yield _row("---:" if column.right else "---" for column in table.columns)
    for row in table.rows:
        yield _row(map(escaped, row))
    notes = [*table.notes, small_note(table)]
    if any(notes):
        yield ""
        yield " ".join(escaped(note) for note in notes if note)


def _row(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"
