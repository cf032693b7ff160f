"""From no tools to real tools, one factor at a time: ladders of conditions, and their waterfalls."""

from toolablate.analysis.ladder.arms import Ladder, Rung, has_ladder, ladders
from toolablate.analysis.ladder.climbing import waterfalls
from toolablate.analysis.ladder.waterfall import (
    Shapley,
    ShapleyValue,
    Step,
    Waterfall,
    waterfalls_csv,
    waterfalls_json,
)

__all__ = [
    "Ladder",
    "Rung",
    "Shapley",
    "ShapleyValue",
    "Step",
    "Waterfall",
    "has_ladder",
    "ladders",
    "waterfalls",
    "waterfalls_csv",
    "waterfalls_json",
]
