"""Who&When: failed runs of several agents, and which agent at which step is to blame (Zhang et al. 2025, "Which Agent
Causes Task Failures and When?", ICML)."""

from toolablate.benchmarks.who_and_when.baselines import baselines
from toolablate.benchmarks.who_and_when.failed import FailedRun, Prediction, Step
from toolablate.benchmarks.who_and_when.guessing import graded_predictions
from toolablate.benchmarks.who_and_when.predictions import load_predictions
from toolablate.benchmarks.who_and_when.reading import load_failed_runs

__all__ = [
    "FailedRun",
    "Prediction",
    "Step",
    "baselines",
    "graded_predictions",
    "load_failed_runs",
    "load_predictions",
]
