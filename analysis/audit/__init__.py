"""Does a published table follow from its own figures? Pure arithmetic, exact, with all that rounding allows."""

from toolablate.analysis.audit.audit import Audit, TableAudit, audit, audit_json
from toolablate.analysis.audit.finding import Finding, Recomputed, figure
from toolablate.analysis.audit.printed import EMPTY, Printed, printed
from toolablate.analysis.audit.table import (
    Column,
    Kind,
    Paper,
    Place,
    PublishedTable,
    Row,
    Rule,
    RuleKind,
    Summary,
)

__all__ = [
    "EMPTY",
    "Audit",
    "Column",
    "Finding",
    "Kind",
    "Paper",
    "Place",
    "Printed",
    "PublishedTable",
    "Recomputed",
    "Row",
    "Rule",
    "RuleKind",
    "Summary",
    "TableAudit",
    "audit",
    "audit_json",
    "figure",
    "printed",
]
