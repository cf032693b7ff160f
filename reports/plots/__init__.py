"""Figures of an analysis, for pages and files; matplotlib is an extra (`toolablate[plots]`), imported to draw."""

from toolablate.reports.plots.drawing.files import boxes_note, require_matplotlib, require_plots, write_figure
from toolablate.reports.plots.drawing.marks import Drawing, Mark
from toolablate.reports.plots.drawing.svg import as_svg
from toolablate.reports.plots.figures.belief import draw_belief
from toolablate.reports.plots.figures.domains import draw_domains
from toolablate.reports.plots.figures.effects import draw_effects
from toolablate.reports.plots.figures.flips import draw_flips
from toolablate.reports.plots.figures.matrices import draw_matrices
from toolablate.reports.plots.figures.mechanisms import draw_ledgers, draw_mechanisms
from toolablate.reports.plots.figures.outcomes import draw_outcomes
from toolablate.reports.plots.figures.scores import draw_scores
from toolablate.reports.plots.figures.waterfall import draw_ladders, draw_waterfalls
from toolablate.reports.plots.plates import Plate, Printed, plates, printed

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
