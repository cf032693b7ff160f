"""Two trials of one question, brought side by side: their steps in rows, where they part, and what differs in words."""

from toolablate.analysis.alignment.alignment import Alignment, Kind, Row, align
from toolablate.analysis.alignment.parting import parting, stated_answers
from toolablate.analysis.alignment.settings import Setting, settings
from toolablate.analysis.alignment.steps import Step, is_image, steps_of
from toolablate.analysis.alignment.wording import Piece, pieces, side_of

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
