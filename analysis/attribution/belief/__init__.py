"""What a model would have answered after each step: its belief along a trace, and where it turns."""

from toolablate.analysis.attribution.belief.bisection import Ask, Found, Search, search
from toolablate.analysis.attribution.belief.cost import Cost, probing_cost, search_cost
from toolablate.analysis.attribution.belief.flip import Flip, flip_step
from toolablate.analysis.attribution.belief.trajectory import (
    Belief,
    Change,
    Probe,
    Share,
    Trajectory,
    trajectory,
)

__all__ = [
    "Ask",
    "Belief",
    "Change",
    "Cost",
    "Flip",
    "Found",
    "Probe",
    "Search",
    "Share",
    "Trajectory",
    "flip_step",
    "probing_cost",
    "search",
    "search_cost",
    "trajectory",
]
