"""examples.published_tables.shown"""

from collections.abc import Iterator

from examples.published_tables.audit import Audit, TableAudit
from examples.published_tables.tables import Column, Finding, Recomputed, Row, figure, printed
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from toolablate.reports.numbers import counted
from toolablate.reports.tables import Fitted, figures, names
from toolablate.traces.terminal_text import one_line

LEVELS = (
    ("wrong", "Does not follow", "red"),
    ("remark", "To be remarked", "yellow"),
    ("fact", "Facts, each of which may have a harmless reason", ""),
)
UNITS = {"points": " points", "relative": " %"}
MAX_CHARS = 2000


def audit_view(audit: Audit) -> RenderableType:
    """Each table with what was recomputed beside what is printed, and below it the findings, worst first."""
    parts: list[RenderableType] = [Text(f" {_plain(audit.source)}", style="bold", overflow="fold")]
    for one in audit.tables:
        parts += [Text(), _title(one), _cells(one), *_findings(one)]
    return Group(*parts, Text(), _verdict(audit), _signs(audit))


def _title(one: TableAudit) -> RenderableType:
    caption = f"  {_plain(one.table.caption)}" if one.table.caption else ""
    return Padding(Text.assemble((f"Table {_plain(one.table.name)}", "bold"), caption, overflow="fold"), (0, 1, 0, 1))


def _cells(one: TableAudit) -> Fitted:
    rows = one.table.rows
    columns = [names("", [Text(_plain(row.name)) for row in rows])]
    columns += [figures(_plain(column.name), [_cell(one, row, column) for row in rows]) for column in one.table.columns]
    return Fitted(tuple(columns), tuple("bold" if row is one.table.summary_row else "" for row in rows))


def _cell(one: TableAudit, row: Row, column: Column) -> Text:
    printed = one.table.cell(row, column.name)
    if printed is None:
        return Text("")
    found = one.cell(row.name, column.name)
    if found is None:
        return Text(printed.text)
    told = f"{printed.text} {_sign(found)} {found.text}{_other_unit(found)}"
    return Text(told, style="" if found.follows else "bold red")


def _other_unit(found: Recomputed) -> str:
    """That of a change which follows, where the others are in another one."""
    return "" if found.follows else UNITS.get(found.reading, "")


def _sign(found: Recomputed) -> str:
    if not (found.follows or _other_unit(found)):
        return "≠"
    stands = printed(found.printed)
    return "=" if figure(stands.size, stands.decimals) == found.text.lstrip("−") else "≈"


def _findings(one: TableAudit) -> Iterator[RenderableType]:
    if not one.findings:
        yield Text(_nothing(one), style="green")
    for level, title, style in LEVELS:
        found = [finding for finding in one.findings if finding.level == level]
        if found:
            yield Text(f" {title}", style=f"bold {style}".strip())
            yield from (Padding(_line(finding), (0, 1, 0, 3)) for finding in found)


def _nothing(one: TableAudit) -> str:
    return " All that could be recomputed follows." if one.recomputed else " Nothing could be recomputed."


def _line(finding: Finding) -> Text:
    where = ", ".join(_plain(part) for part in (finding.row, finding.column) if part)
    return Text.assemble((f"{where}: " if where else "", "bold"), _plain(finding.text), overflow="fold")


def _verdict(audit: Audit) -> Text:
    wrong = [finding for one in audit.tables for finding in one.findings if finding.level == "wrong"]
    if not wrong:
        remarks = sum(finding.level == "remark" for one in audit.tables for finding in one.findings)
        noted = f" {counted(remarks, 'remark')} above." if remarks else ""
        return Text(f" All follows.{noted}", style="bold yellow" if remarks else "bold green")
    tables = sum(not one.ok for one in audit.tables)
    found = counted(len(wrong), "finding")
    told = f" {found} in {counted(tables, 'table')} of {len(audit.tables)}: printed figures that do not follow."
    return Text(told, style="bold red", overflow="fold")


def _signs(audit: Audit) -> RenderableType:
    told = "=: printed and recomputed are the same. ≈: they differ by no more than rounding explains. ≠: by more."
    if any(_other_unit(cell) for one in audit.tables for cell in one.recomputed):
        told += " points, %: so in this unit, which is not that of the other changes."
    return Padding(Text(told, style="dim", overflow="fold"), (0, 1, 0, 1))


def _plain(text: str) -> str:
    return one_line(text, max_chars=MAX_CHARS)
