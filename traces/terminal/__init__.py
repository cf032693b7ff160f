"""Terminal views of stored traces and comparisons."""

from toolablate.traces.terminal.comparison import comparison_table
from toolablate.traces.terminal.failures import failures_view
from toolablate.traces.terminal.flips import flips_table
from toolablate.traces.terminal.misses import misses_view
from toolablate.traces.terminal.plain import plain_text
from toolablate.traces.terminal.report import verify_view
from toolablate.traces.terminal.trace import trace_view
from toolablate.traces.terminal.trials import counts_table, trials_table

__all__ = [
    "comparison_table",
    "counts_table",
    "failures_view",
    "flips_table",
    "misses_view",
    "plain_text",
    "trace_view",
    "trials_table",
    "verify_view",
]
