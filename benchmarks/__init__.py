"""Questions and how their answers are scored."""

from toolablate.benchmarks.builtin import BUILTIN_CORPUS, BUILTIN_PLAYBOOK, builtin_questions
from toolablate.benchmarks.judging import Judge
from toolablate.benchmarks.prompt import render
from toolablate.benchmarks.question_files import read_content
from toolablate.benchmarks.questions import load_questions
from toolablate.benchmarks.scoring import AsyncScorer, Scorer, scorer_for

__all__ = [
    "BUILTIN_CORPUS",
    "BUILTIN_PLAYBOOK",
    "AsyncScorer",
    "Judge",
    "Scorer",
    "builtin_questions",
    "load_questions",
    "read_content",
    "render",
    "scorer_for",
]
