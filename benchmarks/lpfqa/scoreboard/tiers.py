"""Questions by how many models get them right."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import get_args

from toolablate.analysis.pairing import RIGHT, mean
from toolablate.benchmarks.lpfqa.scoreboard.answered import Answered
from toolablate.benchmarks.lpfqa.scoreboard.domains import mean_percent, model_scores
from toolablate.benchmarks.lpfqa.scoreboard.filtering import FEWEST_MODELS
from toolablate.benchmarks.lpfqa.scoreboard.records import LabelTiers, Tier, TieredQuestion, TierName, Tiers

EASY_ABOVE = Fraction(1, 2)
HARD_BELOW = Fraction(3, 10)


def tier_of(pass_rate: Fraction) -> TierName:
    """Easy above 50 %, hard below 30 %, else medium, to which both bounds belong (LPFQA 2026, table 8)."""
    return "easy" if pass_rate > EASY_ABOVE else "hard" if pass_rate < HARD_BELOW else "medium"


def tiers(found: Answered, models: Sequence[str], *, seed: int = 0) -> Tiers | None:
    """A question's pass rate is the mean over models of the share of each one's repeats that are right (a score of at
    least one half), exactly. None for fewer than two models."""
    if len(models) < FEWEST_MODELS:
        return None
    rates = {question: _pass_rate(found, models, question) for question in found.shared(models)}
    questions = tuple(
        TieredQuestion(question, float(100 * rate), tier_of(rate), found.asked[question].difficulty)
        for question, rate in rates.items()
    )
    return Tiers(
        models=len(models),
        left_out=len(found.asked) - len(questions),
        tiers=tuple(_tier(found, models, name, questions, seed) for name in get_args(TierName)),
        labels=_labels(questions),
        questions=questions,
    )


def _pass_rate(found: Answered, models: Sequence[str], question: str) -> Fraction:
    shares = [
        Fraction(sum(value >= RIGHT for value in tries.values()), len(tries))
        for tries in (found.scores[model][question] for model in models)
    ]
    return sum(shares, Fraction(0)) / len(shares)


def _tier(
    found: Answered, models: Sequence[str], name: TierName, questions: Sequence[TieredQuestion], seed: int
) -> Tier:
    inside = [each.question for each in questions if each.tier == name]
    scores = model_scores(found, models, inside, seed=seed)
    return Tier(tier=name, questions=len(inside), scores=scores, mean=mean_percent(scores))


def _labels(questions: Sequence[TieredQuestion]) -> tuple[LabelTiers, ...]:
    if not any(each.label for each in questions):
        return ()
    rows = []
    for label in sorted({each.label for each in questions}, key=lambda label: (not label, label)):
        of_label = [each for each in questions if each.label == label]
        counted = Counter(each.tier for each in of_label)
        pass_rate = mean([each.pass_rate for each in of_label])
        rows.append(LabelTiers(label, counted["easy"], counted["medium"], counted["hard"], pass_rate))
    return tuple(rows)
