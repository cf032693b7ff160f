"""Figures of an analysis, for files; matplotlib is an extra (`toolablate[plots]`), imported when one is drawn."""

from toolablate.traces.plots.files import require_plots
from toolablate.traces.plots.mechanisms import draw_ledgers
from toolablate.traces.plots.waterfall import draw_waterfalls

__all__ = ["draw_ledgers", "draw_waterfalls", "require_plots"]
