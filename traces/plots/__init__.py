"""Figures of an analysis, for pages and files; matplotlib is an extra (`toolablate[plots]`), imported to draw."""

from toolablate.traces.plots.drawing.files import boxes_note, require_matplotlib, require_plots, write_figure
from toolablate.traces.plots.drawing.marks import Drawing, Mark
from toolablate.traces.plots.drawing.svg import as_svg
from toolablate.traces.plots.figures.belief import draw_belief
from toolablate.traces.plots.figures.domains import draw_domains
from toolablate.traces.plots.figures.effects import draw_effects
from toolablate.traces.plots.figures.flips import draw_flips
from toolablate.traces.plots.figures.matrices import draw_matrices
from toolablate.traces.plots.figures.mechanisms import draw_ledgers, draw_mechanisms
from toolablate.traces.plots.figures.outcomes import draw_outcomes
from toolablate.traces.plots.figures.scores import draw_scores
from toolablate.traces.plots.figures.waterfall import draw_ladders, draw_waterfalls
from toolablate.traces.plots.plates import Plate, Printed, plates, printed

__all__ = [
    "Drawing",
    "Mark",
    "Plate",
    "Printed",
    "as_svg",
    "boxes_note",
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
