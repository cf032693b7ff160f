"""The built-in benchmark of the demo: questions where a tool can help and where it can mislead.

Three files, all written for this project. `questions.jsonl`: 40 questions. `playbook.jsonl`: for simulated models, the
programs and searches such a model would try; a program that is not `faithful` computes a finite, numeric stand-in for
the question and honestly prints what comes of it. `corpus.jsonl`: short documents for the offline search; some are on
the point, others outdated, about a neighbouring matter, or wrong. They are no source for anything but this demo.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.benchmarks.registry import Benchmark

if TYPE_CHECKING:
    from toolablate.traces.records import Question

BENCHMARK = Benchmark(
    description="The questions of the demo.",
    questions={"builtin": "toolablate.benchmarks.builtin:builtin_questions"},
)

_FOLDER = Path(__file__).parent

BUILTIN_QUESTIONS = _FOLDER / "questions.jsonl"
BUILTIN_PLAYBOOK = _FOLDER / "playbook.jsonl"
BUILTIN_CORPUS = _FOLDER / "corpus.jsonl"


@cache
def builtin_questions() -> "tuple[Question, ...]":
    """The 40 questions of the demo."""
    from toolablate.benchmarks.questions import load_questions

    return load_questions(BUILTIN_QUESTIONS)
