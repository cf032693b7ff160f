"""Terminal views of stored traces and comparisons, each imported when it is first asked for."""

from typing import TYPE_CHECKING

from toolablate.traces._lazy import importing

if TYPE_CHECKING:
    from toolablate.reports.terminal.agreement import agreement_view, disagreements_table
    from toolablate.reports.terminal.comparison import comparison_table
    from toolablate.reports.terminal.failures import failures_view
    from toolablate.reports.terminal.flips import flips_table
    from toolablate.reports.terminal.misses import misses_view
    from toolablate.reports.terminal.numbers import counted
    from toolablate.reports.terminal.refused import refused_notes, refused_view
    from toolablate.reports.terminal.report import verify_view
    from toolablate.reports.terminal.status import counts_table, status_view
    from toolablate.reports.terminal.trace import trace_view
    from toolablate.reports.terminal.trials import trials_table
    from toolablate.reports.terminal.waterfall import waterfalls_view

__all__ = [
    "agreement_view",
    "comparison_table",
    "counted",
    "counts_table",
    "disagreements_table",
    "failures_view",
    "flips_table",
    "misses_view",
    "refused_notes",
    "refused_view",
    "status_view",
    "trace_view",
    "trials_table",
    "verify_view",
    "waterfalls_view",
]

__getattr__ = importing(
    __name__,
    {
        "agreement": (
            "agreement_view",
            "disagreements_table",
        ),
        "comparison": ("comparison_table",),
        "failures": ("failures_view",),
        "flips": ("flips_table",),
        "misses": ("misses_view",),
        "numbers": ("counted",),
        "refused": (
            "refused_notes",
            "refused_view",
        ),
        "report": ("verify_view",),
        "status": (
            "counts_table",
            "status_view",
        ),
        "trace": ("trace_view",),
        "trials": ("trials_table",),
        "waterfall": ("waterfalls_view",),
    },
)
