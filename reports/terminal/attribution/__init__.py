"""Why tools changed scores: the ledger of a store, its trials, and one trial on a page."""

from toolablate.reports.terminal.attribution.explanation import explanation_view
from toolablate.reports.terminal.attribution.view import attribution_view

__all__ = ["attribution_view", "explanation_view"]
