"""A comparison as a terminal shows it."""

from toolablate.traces.terminal.comparison.table import comparison_table

__all__ = ["comparison_table"]
