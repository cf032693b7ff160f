"""Pure functions of records: comparison and statistics."""

from toolablate.analysis.compare import GroupBy, compare
from toolablate.analysis.comparison import Comparison, comparisons_csv, comparisons_json
from toolablate.analysis.effect import FEW_CLUSTERS, FEW_DIFFERING
from toolablate.analysis.flips import Flip, flips, flips_json
from toolablate.analysis.misses import MissDifference, MissRate, miss_differences, miss_rates
from toolablate.analysis.noise import Floor, floors
from toolablate.analysis.pairing import RIGHT, Direction
from toolablate.analysis.refused import RefusedCalls, refused_calls
from toolablate.analysis.statistics import (
    Bounds,
    Harm,
    Selected,
    SelectedEffects,
    bootstrap_interval,
    sign_flip_p,
)
from toolablate.traces.store import Observation

__all__ = [
    "FEW_CLUSTERS",
    "FEW_DIFFERING",
    "RIGHT",
    "Bounds",
    "Comparison",
    "Direction",
    "Flip",
    "Floor",
    "GroupBy",
    "Harm",
    "MissDifference",
    "MissRate",
    "Observation",
    "RefusedCalls",
    "Selected",
    "SelectedEffects",
    "bootstrap_interval",
    "compare",
    "comparisons_csv",
    "comparisons_json",
    "flips",
    "flips_json",
    "floors",
    "miss_differences",
    "miss_rates",
    "refused_calls",
    "sign_flip_p",
]
