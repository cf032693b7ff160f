"""All checks of all tables of a paper."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from toolablate.analysis.audit.average_deltas import check_average_deltas
from toolablate.analysis.audit.averages import check_summary
from toolablate.analysis.audit.deltas import check_deltas
from toolablate.analysis.audit.finding import Finding, Level, Recomputed
from toolablate.analysis.audit.granularity import check_granularity
from toolablate.analysis.audit.ranks import check_ranks, check_shares
from toolablate.analysis.audit.repeated import check_repeated
from toolablate.analysis.audit.rules import check_rules
from toolablate.analysis.audit.table import Paper, PublishedTable

LEVELS: tuple[Level, ...] = ("wrong", "remark", "fact")


@dataclass(frozen=True)
class TableAudit:
    """`recomputed` has the cells that others give, several times where several rules are on one cell; `findings` are
    worst first."""

    table: PublishedTable
    recomputed: tuple[Recomputed, ...]
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        return not any(finding.level == "wrong" for finding in self.findings)

    def cell(self, row: str, column: str) -> Recomputed | None:
        """What one cell was recomputed to: by the rule that it breaks, where it breaks one."""
        return self._cells.get((row, column))

    @cached_property
    def _cells(self) -> Mapping[tuple[str, str], Recomputed]:
        cells: dict[tuple[str, str], Recomputed] = {}
        for one in sorted(self.recomputed, key=lambda one: one.follows):
            cells.setdefault((one.row, one.column), one)
        return cells


@dataclass(frozen=True, slots=True)
class Audit:
    source: str
    tables: tuple[TableAudit, ...]

    @property
    def ok(self) -> bool:
        return all(table.ok for table in self.tables)


def audit(paper: Paper) -> Audit:
    return Audit(paper.source, tuple(_table(paper, table) for table in paper.tables))


def audit_json(found: Audit) -> str:
    """Per table its name, the recomputed cells and the findings; `ok` is whether all figures follow. A change in an
    average row says in `average_of` what it is read as, and in `readings` what each reading gives."""
    tables = [
        {
            "table": one.table.name,
            "caption": one.table.caption,
            "ok": one.ok,
            "recomputed": [
                {
                    "row": cell.row,
                    "column": cell.column,
                    "printed": cell.printed,
                    "recomputed": float(cell.value),
                    "follows": cell.follows,
                    "reading": cell.reading or None,
                    "average_of": list(cell.average_of) or None,
                    "readings": {of: float(value) for of, value in cell.readings.items()} or None,
                }
                for cell in one.recomputed
            ],
            "findings": [
                {
                    "level": finding.level,
                    "kind": finding.kind,
                    "row": finding.row,
                    "column": finding.column,
                    "text": finding.text,
                }
                for finding in one.findings
            ],
        }
        for one in found.tables
    ]
    return json.dumps({"source": found.source, "ok": found.ok, "tables": tables}, ensure_ascii=False, indent=2)


def _table(paper: Paper, table: PublishedTable) -> TableAudit:
    checks = (
        check_deltas(paper, table),
        check_average_deltas(paper, table),
        check_summary(table),
        check_rules(paper, table),
        check_ranks(table),
        check_shares(table),
    )
    findings = [finding for _, found in checks for finding in found]
    findings += [*check_repeated(table), *check_granularity(table)]
    findings.sort(key=lambda finding: (LEVELS.index(finding.level), -finding.off))
    return TableAudit(table, tuple(cell for cells, _ in checks for cell in cells), tuple(findings))
