"""What the viewer's tables are read from: a file of its own, made of a store and kept up to date with it."""

from toolablate.viewer.index.failing import FailureRow, FailureTexts
from toolablate.viewer.index.index import ViewerIndex
from toolablate.viewer.index.records import (
    ArmCounts,
    Counts,
    Facets,
    Glance,
    QuestionPage,
    QuestionRow,
    Sort,
    TrialRow,
)

__all__ = [
    "ArmCounts",
    "Counts",
    "Facets",
    "FailureRow",
    "FailureTexts",
    "Glance",
    "QuestionPage",
    "QuestionRow",
    "Sort",
    "TrialRow",
    "ViewerIndex",
]
