"""How models stand under the baseline: score, rank, and what single runs of it gave."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from toolablate.analysis.pairing import mean
from toolablate.analysis.statistics.intervals import by_unit
from toolablate.benchmarks.lpfqa.scoreboard.answered import Answered
from toolablate.benchmarks.lpfqa.scoreboard.ranks import RankInterval, competition_ranks, rank_intervals
from toolablate.benchmarks.lpfqa.scoreboard.records import RepeatScore, Standing


def standings(found: Answered, *, seed: int = 0) -> tuple[Standing, ...]:
    """The highest score first, then by name; models without a score last."""
    questions = list(found.asked)
    accuracies = {model: found.accuracy(model, questions, seed=seed) for model in found.models}
    percents = {model: each.percent for model, each in accuracies.items() if each.percent is not None}
    ranked = sorted(percents, key=lambda model: (-percents[model], model))
    ranks = dict(zip(ranked, competition_ranks([percents[model] for model in ranked]), strict=True))
    intervals = dict(zip(ranked, ranks_among(found, ranked, seed=seed), strict=True))
    rows = []
    for model in [*ranked, *(model for model in found.models if model not in percents)]:
        repeats = _repeats(found, model)
        each = [repeat.percent for repeat in repeats]
        rows.append(
            Standing(
                model=model,
                simulated=model in found.simulated,
                accuracy=accuracies[model],
                rank=ranks.get(model),
                ranks95=intervals.get(model),
                trials=found.sides[model].trials,
                failed=found.sides[model].failed,
                unscored=found.sides[model].unscored,
                unparsed=found.sides[model].unparsed,
                missing=len(questions) - accuracies[model].questions,
                repeats=repeats,
                repeat_mean=mean(each) if each else None,
                repeat_sd=statistics.stdev(each) if len(each) > 1 else None,
            )
        )
    return tuple(rows)


def ranks_among(found: Answered, models: Sequence[str], *, seed: int = 0) -> list[RankInterval | None]:
    """Of these models alone, each over the questions that it has a score of."""
    questions = list(found.asked)
    units = found.units(questions)
    sums, sizes = [], []
    for model in models:
        own = [question in found.scores[model] for question in questions]
        means = [
            found.means(model, [question])[0] if scored else 0.0
            for question, scored in zip(questions, own, strict=True)
        ]
        total, size = by_unit(units, means, list(map(float, own)))
        sums.append(total)
        sizes.append(size)
    return rank_intervals(sums, sizes, seed=seed)


def _repeats(found: Answered, model: str) -> tuple[RepeatScore, ...]:
    values: dict[int, list[float]] = defaultdict(list)
    for tries in found.scores[model].values():
        for repeat, value in tries.items():
            values[repeat].append(value)
    return tuple(RepeatScore(repeat, len(each), 100 * mean(each)) for repeat, each in sorted(values.items()))
