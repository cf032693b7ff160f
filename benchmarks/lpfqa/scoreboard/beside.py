"""The ranking of a store's models beside those of other benchmarks."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from toolablate.benchmarks.lpfqa.scoreboard.answered import Answered
from toolablate.benchmarks.lpfqa.scoreboard.correlation import rank_correlation
from toolablate.benchmarks.lpfqa.scoreboard.ranks import competition_ranks
from toolablate.benchmarks.lpfqa.scoreboard.records import Beside, BesideRow, Standing
from toolablate.benchmarks.lpfqa.scoreboard.standings import ranks_among


@dataclass(frozen=True, slots=True)
class OtherBenchmark:
    """Scores by model, of which more is better."""

    name: str
    scores: Mapping[str, float]


def beside(found: Answered, standings: Sequence[Standing], other: OtherBenchmark, *, seed: int = 0) -> Beside:
    """Models are matched by name, and by name whatever its case and blanks where that leaves no doubt. Ranks are among
    the models that have both scores."""
    ours = {each.model: each.accuracy.percent for each in standings if each.accuracy.percent is not None}
    theirs = _matched(list(ours), other.scores)
    models = [model for model in ours if model in theirs]
    scores = [[ours[model] for model in models], [other.scores[theirs[model]] for model in models]]
    ranks = [competition_ranks(each) for each in scores]
    intervals = ranks_among(found, models, seed=seed)
    taken = {theirs[model] for model in models}
    return Beside(
        benchmark=other.name,
        rows=tuple(
            BesideRow(model, score, rank, interval, theirs[model], other_score, other_rank)
            for model, score, rank, interval, other_score, other_rank in zip(
                models, scores[0], ranks[0], intervals, scores[1], ranks[1], strict=True
            )
        ),
        only_here=tuple(model for model in ours if model not in theirs),
        only_there=tuple(name for name in other.scores if name not in taken),
        correlation=rank_correlation(*scores, seed=seed) if len(models) > 1 else None,
    )


def _matched(models: Sequence[str], names: Collection[str]) -> dict[str, str]:
    """The name that another benchmark has for a model."""
    exact = [name for name in names if name in models]
    left = [name for name in names if name not in exact]
    here, there = (Counter(map(_loosely, each)) for each in ([*models], left))
    loose = {_loosely(name): name for name in left}
    found = {model: model for model in exact}
    for model in models:
        same = _loosely(model)
        if model not in found and here[same] == 1 and there[same] == 1:
            found[model] = loose[same]
    return found


def _loosely(name: str) -> str:
    return " ".join(name.split()).casefold()
