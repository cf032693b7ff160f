"""Pure functions of records: comparison and statistics."""

from toolablate.traces.analysis.compare import compare
from toolablate.traces.analysis.comparison import Comparison, comparisons_csv, comparisons_json
from toolablate.traces.analysis.statistics import bootstrap_interval, sign_flip_p
from toolablate.traces.store import Observation

__all__ = [
    "Comparison",
    "Observation",
    "bootstrap_interval",
    "compare",
    "comparisons_csv",
    "comparisons_json",
    "sign_flip_p",
]
