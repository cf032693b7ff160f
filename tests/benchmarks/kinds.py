"""Which kinds of targets a scorer scores."""

from toolablate.benchmarks.scoring.scorer import AsyncScorer
from toolablate.benchmarks.scoring.scorers import scorer_for
from toolablate.traces.records import (
    ChoiceTarget,
    CodeTarget,
    NumberTarget,
    PatternTarget,
    Question,
    ReferenceTarget,
    SpansTarget,
    Target,
    TextTarget,
)

TARGETS: list[Target] = [
    ChoiceTarget(letters=("A",)),
    NumberTarget(value=1),
    SpansTarget(spans=("x",)),
    TextTarget(answers=("x",)),
    TextTarget(kind="math", answers=("x",)),
    ReferenceTarget(answer="x"),
    PatternTarget(pattern="x"),
    CodeTarget(tests=("assert x",)),
]


def kinds_scored(name: str) -> set[str]:
    """By the scorer of this name; of all others it says that it does not score them."""
    scorer = scorer_for(name)
    refused = set()
    for target in TARGETS:
        question = Question(id="q", prompt="p", choices=("red", "green"), target=target)
        if isinstance(scorer, AsyncScorer):
            unscored = bool(scorer.refusal(question))
        else:
            score = scorer.score(question, "t", "Answer: A")
            unscored = score.verdict == "unscored" and score.value is None
        refused |= {target.kind} if unscored else set()
    return {target.kind for target in TARGETS} - refused
