"""Models by domains under the baseline."""

from collections.abc import Sequence

from toolablate.analysis.pairing import mean
from toolablate.benchmarks.lpfqa.scoreboard.answered import Answered
from toolablate.benchmarks.lpfqa.scoreboard.ranks import TOLERANCE
from toolablate.benchmarks.lpfqa.scoreboard.records import DomainScores, ModelScore


def domain_scores(found: Answered, models: Sequence[str], *, seed: int = 0) -> tuple[DomainScores, ...]:
    """Each domain by name, questions that name none last; nothing where no question names one. Each model's score is
    over the questions of the domain that it has a score of, of each the mean over its repeats."""
    by_domain: dict[str, list[str]] = {}
    for question in found.asked:
        by_domain.setdefault(found.domain(question), []).append(question)
    if not any(by_domain):
        return ()
    ordered = sorted(by_domain, key=lambda domain: (not domain, domain))
    return tuple(scores_over(found, models, by_domain[domain], domain, seed=seed) for domain in ordered)


def scores_over(
    found: Answered, models: Sequence[str], questions: Sequence[str], domain: str | None = None, *, seed: int = 0
) -> DomainScores:
    scores = model_scores(found, models, questions, seed=seed)
    return DomainScores(
        domain=domain,
        questions=len(questions),
        scores=scores,
        mean=mean_percent(scores),
        highest=tuple(each.model for each in scores if each.best),
        lowest=_lowest(scores),
    )


def model_scores(
    found: Answered, models: Sequence[str], questions: Sequence[str], *, seed: int = 0
) -> tuple[ModelScore, ...]:
    accuracies = [found.accuracy(model, questions, seed=seed) for model in models]
    known = [each.percent for each in accuracies if each.percent is not None]
    return tuple(
        ModelScore(model, each, best=each.percent is not None and each.percent >= max(known) - TOLERANCE)
        for model, each in zip(models, accuracies, strict=True)
    )


def mean_percent(scores: Sequence[ModelScore]) -> float | None:
    known = _known(scores)
    return mean(known) if known else None


def _lowest(scores: Sequence[ModelScore]) -> tuple[str, ...]:
    known = _known(scores)
    return tuple(
        each.model
        for each in scores
        if each.accuracy.percent is not None and each.accuracy.percent <= min(known) + TOLERANCE
    )


def _known(scores: Sequence[ModelScore]) -> list[float]:
    return [each.accuracy.percent for each in scores if each.accuracy.percent is not None]
