"""A comparison as a terminal shows it."""

from toolablate.reports.terminal.comparison.table import comparison_table

__all__ = ["comparison_table"]
