"""Figures of an analysis, for pages and files; matplotlib is an extra (`toolablate[plots]`), imported to draw."""

from toolablate.traces.plots.belief import draw_belief
from toolablate.traces.plots.domains import draw_domains
from toolablate.traces.plots.drawing import Drawing, Mark
from toolablate.traces.plots.effects import draw_effects
from toolablate.traces.plots.files import require_matplotlib, require_plots, write_figure
from toolablate.traces.plots.flips import draw_flips
from toolablate.traces.plots.matrices import draw_matrices
from toolablate.traces.plots.mechanisms import draw_ledgers, draw_mechanisms
from toolablate.traces.plots.outcomes import draw_outcomes
from toolablate.traces.plots.plates import Plate, Printed, plates, printed
from toolablate.traces.plots.scores import draw_scores
from toolablate.traces.plots.svg import as_svg
from toolablate.traces.plots.waterfall import draw_ladders, draw_waterfalls

__all__ = [
    "Drawing",
    "Mark",
    "Plate",
    "Printed",
    "as_svg",
    "draw_belief",
    "draw_domains",
    "draw_effects",
    "draw_flips",
    "draw_ladders",
    "draw_ledgers",
    "draw_matrices",
    "draw_mechanisms",
    "draw_outcomes",
    "draw_scores",
    "draw_waterfalls",
    "plates",
    "printed",
    "require_matplotlib",
    "require_plots",
    "write_figure",
]
