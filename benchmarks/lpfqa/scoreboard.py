"""The analyses of LPFQA's papers: scores and ranks of models, by domain, by difficulty, with and without tools."""

import json
import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any, get_args

from toolablate.analysis.comparison import Comparison, compare
from toolablate.analysis.effect import Accuracy, accuracy, effect
from toolablate.analysis.pairing import (
    RIGHT,
    Arm,
    Pair,
    Side,
    Unit,
    counts,
    even_difference,
    mean,
    pairs,
    scored_in_both,
    side,
    unit,
)
from toolablate.analysis.spreadsheets import csv_text, ends
from toolablate.analysis.statistics.intervals import by_unit
from toolablate.analysis.statistics.p_values import holm
from toolablate.benchmarks.lpfqa.ranks import (
    TOLERANCE,
    RankInterval,
    competition_ranks,
    rank_correlation,
    rank_intervals,
)
from toolablate.benchmarks.lpfqa.scoreboard_results import (
    Ablation,
    AverageEffect,
    BenchmarkComparison,
    BesideRow,
    DomainScores,
    Filtered,
    LabelTiers,
    ModelScore,
    ModelStanding,
    QuestionSet,
    RepeatScore,
    Scoreboard,
    SetName,
    Tier,
    TieredQuestion,
    TierName,
    Tiers,
    ToolEffect,
)
from toolablate.traces.errors import InputError
from toolablate.traces.store import TrialSummary

Scores = Mapping[str, Mapping[int, float]]
"""The values in [0, 1] of a model's trials that count, by question, then by repeat; no question without one."""


@dataclass(frozen=True, slots=True)
class Answered:
    """models     by name
    scores     of each model; a model without a trial that counts has no question
    asked      one trial of each question that some model has a score of, by question: for what it says of the question
    simulated  the models that are stand-ins
    sides      what became of each model's trials"""

    models: tuple[str, ...]
    scores: Mapping[str, Scores]
    asked: Mapping[str, TrialSummary]
    simulated: frozenset[str]
    sides: Mapping[str, Side]

    def shared(self, models: Sequence[str]) -> list[str]:
        """The questions that each of these models has a score of, by name."""
        return [question for question in self.asked if all(question in self.scores[model] for model in models)]

    def domain(self, question: str) -> str:
        return self.asked[question].domain

    def units(self, questions: Iterable[str]) -> list[Unit]:
        return [unit(self.asked[question]) for question in questions]

    def means(self, model: str, questions: Iterable[str]) -> list[float]:
        """Of each question the mean over its repeats."""
        return [mean(list(self.scores[model][question].values())) for question in questions]

    def accuracy(self, model: str, questions: Sequence[str], *, seed: int = 0) -> Accuracy:
        """Over those of these questions that the model has a score of."""
        own = [question for question in questions if question in self.scores[model]]
        return accuracy(self.means(model, own), self.units(own), seed=seed)


def answered(summaries: Iterable[TrialSummary], condition: str) -> Answered:
    """Of all trials under one condition. What infrastructure spoiled has no score, and is never a wrong answer."""
    scores: dict[str, dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    asked: dict[str, TrialSummary] = {}
    arms: dict[str, Arm] = defaultdict(lambda: defaultdict(list))
    simulated = set()
    for seen in summaries:
        if seen.condition != condition:
            continue
        arms[seen.model][seen.question].append(seen)
        if seen.simulated:
            simulated.add(seen.model)
        if counts(seen):
            asked.setdefault(seen.question, seen)
            scores[seen.model][seen.question][seen.repeat] = seen.value or 0.0
    return Answered(
        models=tuple(sorted(arms)),
        scores={model: {name: dict(sorted(tries.items())) for name, tries in scores[model].items()} for model in arms},
        asked=dict(sorted(asked.items())),
        simulated=frozenset(simulated),
        sides={model: side(arm, ()) for model, arm in arms.items()},
    )


# How models stand under the baseline: score, rank, and what single runs of it gave.


def standings(found: Answered, *, seed: int = 0) -> tuple[ModelStanding, ...]:
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
            ModelStanding(
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


# The ranking of a store's models beside those of other benchmarks.


@dataclass(frozen=True, slots=True)
class OtherBenchmark:
    """Scores by model, of which more is better."""

    name: str
    scores: Mapping[str, float]


def beside(
    found: Answered, standings: Sequence[ModelStanding], other: OtherBenchmark, *, seed: int = 0
) -> BenchmarkComparison:
    """Models are matched by name, and by name whatever its case and blanks where that leaves no doubt. Ranks are among
    the models that have both scores."""
    ours = {each.model: each.accuracy.percent for each in standings if each.accuracy.percent is not None}
    theirs = _matched(list(ours), other.scores)
    models = [model for model in ours if model in theirs]
    scores = [[ours[model] for model in models], [other.scores[theirs[model]] for model in models]]
    ranks = [competition_ranks(each) for each in scores]
    intervals = ranks_among(found, models, seed=seed)
    taken = {theirs[model] for model in models}
    return BenchmarkComparison(
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


# Models by domains under the baseline.


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


# Scores without the questions that tell no models apart.


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


# Questions by how many models get them right.


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


# Models under conditions against the baseline, with every kind of average that tables of them print.


Row = ToolEffect | AverageEffect

_Sides = Mapping[str, tuple[float, float, float]]
"""Of each question that counts for a model: its mean score under the baseline, under the condition, and the difference
over as many repeats of the one as of the other."""


def ablation(
    summaries: Iterable[TrialSummary], baseline: str, *, order: Sequence[str] = (), seed: int = 0
) -> Ablation | None:
    """Rows as `compare` gives them, of models that have scores on both sides; None where there is none."""
    seen = list(summaries)
    compared = compare(seen, baseline, order=order, seed=seed, harm=False)
    rows = [_row(found) for found in compared if found.questions]
    if not rows:
        return None
    averages = _averages(seen, baseline, order, rows, seed)
    corrected = _corrected([*rows, *averages])
    return Ablation(
        baseline=baseline,
        comparisons=sum(row.p_value is not None for row in corrected),
        rows=tuple(row for row in corrected if isinstance(row, ToolEffect)),
        averages=tuple(row for row in corrected if isinstance(row, AverageEffect)),
    )


def _row(found: Comparison) -> ToolEffect:
    fields: dict[str, Any] = {name: getattr(found, name) for name in ToolEffect.__dataclass_fields__}
    return ToolEffect(**fields)


def _averages(
    summaries: Sequence[TrialSummary], baseline: str, order: Sequence[str], rows: Sequence[ToolEffect], seed: int
) -> list[AverageEffect]:
    units = {seen.question: unit(seen) for seen in summaries}
    by_condition: dict[str, list[_Sides]] = defaultdict(list)
    for pair in pairs(summaries, baseline, order):
        if counted := scored_in_both(pair.scored_before, pair.scored_after):
            by_condition[pair.condition].append(_sides(pair, counted))
    return [
        _average([row for row in rows if row.condition == condition], models, units, seed)
        for condition, models in by_condition.items()
        if len(models) > 1
    ]


def _sides(pair: Pair, questions: Sequence[str]) -> _Sides:
    both = {question: (pair.scored_before[question], pair.scored_after[question]) for question in questions}
    return {question: (mean(old), mean(new), even_difference(old, new)) for question, (old, new) in both.items()}


def _average(
    rows: Sequence[ToolEffect], models: Sequence[_Sides], units: Mapping[str, Unit], seed: int
) -> AverageEffect:
    """Of each question the models' sum, each model weighing so much more as it lacks questions: the means of these
    over questions are then exactly the means over models, and chance in a question is shared by the models. In 1,000
    simulated runs of three models that lack some trials 5.2 % of null data had p < .05, and the intervals held the
    truth 95.5 % (points) and 95.6 % (relative) of the time."""
    questions = sorted({question for model in models for question in model})
    weights = [len(questions) / (len(models) * len(model)) for model in models]
    before, after, tested = (
        [
            math.fsum(
                weight * model[question][side]
                for weight, model in zip(weights, models, strict=True)
                if question in model
            )
            for question in questions
        ]
        for side in range(3)
    )
    found = effect(before, after, [units[question] for question in questions], tested=tested, seed=seed)
    relatives = [row.delta_relative for row in rows if row.delta_relative is not None]
    return AverageEffect(
        condition=rows[0].condition,
        models=len(rows),
        questions=found.questions,
        small=found.small,
        baseline_score=found.baseline_score,
        score=found.score,
        mean_points=found.delta_points,
        ci95=found.ci95,
        relative_of_means=found.delta_relative,
        relative_of_means_ci95=found.delta_relative_ci95,
        mean_of_relatives=mean(relatives) if len(relatives) == len(rows) else None,
        p_value=found.p_value,
        p_holm=None,
    )


def _corrected(rows: Sequence[Row]) -> list[Row]:
    tested = [number for number, row in enumerate(rows) if row.p_value is not None]
    corrected = dict(zip(tested, holm([p for row in rows if (p := row.p_value) is not None]), strict=True))
    return [replace(row, p_holm=corrected.get(number)) for number, row in enumerate(rows)]


# The tables of a scoreboard, out of summaries alone.


def scoreboard(
    summaries: Iterable[TrialSummary],
    baseline: str,
    *,
    others: Sequence[OtherBenchmark] = (),
    order: Sequence[str] = (),
    seed: int = 0,
) -> Scoreboard:
    """Models by domain, by set of questions and by difficulty under the baseline, under the other conditions against
    it, and by rank beside other benchmarks. Conditions come as `order` names them, then by name. Raises InputError
    where no trial of the baseline has a score."""
    seen = list(summaries)
    found = answered(seen, baseline)
    if not found.asked:
        conditions = sorted({each.condition for each in seen})
        raise InputError(
            f"No trial under {baseline!r} has a score",
            hint=f"Conditions with ended trials: {', '.join(conditions) or 'none yet'}.",
            code="unknown_baseline",
        )
    standing = standings(found, seed=seed)
    models = [each.model for each in standing]
    ranked = [each.model for each in standing if each.rank is not None]
    return Scoreboard(
        baseline=baseline,
        standings=standing,
        overall=scores_over(found, models, list(found.asked), seed=seed),
        domains=domain_scores(found, models, seed=seed),
        filtered=filtered(found, ranked, seed=seed),
        tiers=tiers(found, ranked, seed=seed),
        ablation=ablation(seen, baseline, order=order, seed=seed),
        beside=tuple(beside(found, standing, other, seed=seed) for other in others),
    )


def scoreboard_json(found: Scoreboard) -> str:
    """The fields of the records; what is unknown is null."""
    return json.dumps(asdict(found), ensure_ascii=False, indent=2)


def domains_csv(found: Scoreboard) -> str:
    """A line for each model and domain, and for all domains together, whose name is empty in the column `domain` and
    whose `of` is `all`."""
    return csv_text(
        ("model", "of", "domain", "questions", "percent", *ends("ci95", None), "small", "best"),
        (
            {
                "model": each.model,
                "of": "all" if column.domain is None else "domain",
                "domain": column.domain,
                "questions": each.accuracy.questions,
                "percent": each.accuracy.percent,
                **ends("ci95", each.accuracy.ci95),
                "small": each.accuracy.small,
                "best": each.best,
            }
            for column in (found.overall, *found.domains)
            for each in column.scores
        ),
    )
