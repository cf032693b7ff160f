"""Scores without the questions that tell no models apart."""

from collections import Counter
from collections.abc import Sequence

from toolablate.analysis.pairing import RIGHT
from toolablate.benchmarks.lpfqa.scoreboard.answered import Answered
from toolablate.benchmarks.lpfqa.scoreboard.domains import mean_percent, model_scores
from toolablate.benchmarks.lpfqa.scoreboard.records import Filtered, QuestionSet, SetName

FEWEST_MODELS = 2


def filtered(found: Answered, models: Sequence[str], *, seed: int = 0) -> Filtered | None:
    """LPFQA- and LPFQA= (LPFQA 2025, section 4.2.1), for any benchmark. With repeats, of which the paper says nothing:
    a question goes that no model gets right in any of them, and one that every model gets right in all of them.

    Such a choice is made by the results that it then averages, so the scores are higher than on other questions of the
    same kind; intervals are those of the whole procedure, this included. None for fewer than two models.
    """
    if len(models) < FEWEST_MODELS:
        return None
    shared = found.shared(models)
    unsolved = [question for question in shared if not any(_rights(found, models, question))]
    always = [question for question in shared if all(_rights(found, models, question))]
    solved = _without(shared, unsolved)
    sets: list[tuple[SetName, list[str]]] = [
        ("all", shared),
        ("solved", solved),
        ("told_apart", _without(solved, always)),
    ]
    return Filtered(
        models=len(models),
        left_out=len(found.asked) - len(shared),
        unsolved=tuple(unsolved),
        always=tuple(always),
        sets=tuple(_set(found, models, name, questions, seed) for name, questions in sets),
    )


def _rights(found: Answered, models: Sequence[str], question: str) -> list[bool]:
    """Of all repeats of these models."""
    return [value >= RIGHT for model in models for value in found.scores[model][question].values()]


def _without(questions: Sequence[str], gone: Sequence[str]) -> list[str]:
    left_out = set(gone)
    return [question for question in questions if question not in left_out]


def _set(found: Answered, models: Sequence[str], name: SetName, questions: Sequence[str], seed: int) -> QuestionSet:
    scores = model_scores(found, models, questions, seed=seed)
    counted = Counter(found.domain(question) for question in questions)
    domains = sorted({found.domain(question) for question in found.asked}, key=lambda domain: (not domain, domain))
    return QuestionSet(
        name=name,
        questions=len(questions),
        domains=tuple((domain, counted[domain]) for domain in domains),
        scores=scores,
        mean=mean_percent(scores),
    )
