"""Turns an answer into a score. One scorer per kind of target, and those of benchmarks."""

from toolablate.benchmarks.scoring.choice import ChoiceScorer
from toolablate.benchmarks.scoring.number import NumberScorer
from toolablate.benchmarks.scoring.registry import SCORERS, scorer_for
from toolablate.benchmarks.scoring.scorer import AsyncScorer, Scorer
from toolablate.benchmarks.scoring.spans import SpansScorer

__all__ = ["SCORERS", "AsyncScorer", "ChoiceScorer", "NumberScorer", "Scorer", "SpansScorer", "scorer_for"]
