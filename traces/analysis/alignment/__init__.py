"""Two trials of one question, brought side by side: their steps in rows, where they part, and what differs in words."""

from toolablate.traces.analysis.alignment.alignment import Alignment, Kind, Row, align
from toolablate.traces.analysis.alignment.parting import parting, stated_answers
from toolablate.traces.analysis.alignment.settings import Setting, settings
from toolablate.traces.analysis.alignment.steps import Step, is_image, steps_of
from toolablate.traces.analysis.alignment.wording import Piece, pieces, side_of

__all__ = [
    "Alignment",
    "Kind",
    "Piece",
    "Row",
    "Setting",
    "Step",
    "align",
    "is_image",
    "parting",
    "pieces",
    "settings",
    "side_of",
    "stated_answers",
    "steps_of",
]
