"""Questions and how their answers are scored."""

from toolablate.benchmarks.prompt import render
from toolablate.benchmarks.questions import load_questions
from toolablate.benchmarks.scoring import Scorer, scorer_for

__all__ = ["Scorer", "load_questions", "render", "scorer_for"]
