"""Conditions against a baseline, paired over questions."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from toolablate.traces.analysis.comparison import Comparison
from toolablate.traces.analysis.pairing import Arm, Pair, counts, direction, mean_scores, pairs
from toolablate.traces.analysis.statistics import bootstrap_interval, sign_flip_p
from toolablate.traces.errors import InputError
from toolablate.traces.store import Observation

GroupBy = Literal["domain", "difficulty", "language"]


def compare(
    observations: Iterable[Observation],
    baseline: str,
    *,
    by: GroupBy | None = None,
    seed: int = 0,
    order: Sequence[str] = (),
) -> list[Comparison]:
    """One row per model and condition other than the baseline; with `by`, one more for each group of questions after
    it (each domain, difficulty or language).

    Rows come by model name, then by condition: those named in `order` first, the others by name. The result depends
    on the observations and the seed alone, not on their order. Raises InputError where no trial of the baseline ended.
    """
    if by is not None and by not in get_args(GroupBy):
        raise InputError(
            f"Questions cannot be grouped by {by!r}",
            hint=f"One of: {', '.join(get_args(GroupBy))}.",
            code="unknown_group",
        )
    return [row for pair in pairs(observations, baseline, order) for row in _rows(pair, by, seed)]


def _rows(pair: Pair, by: GroupBy | None, seed: int) -> list[Comparison]:
    rows = [_compare_arms(pair, pair.before, pair.after, seed)]
    if by is not None:
        labels = {_label(trials, by) for arm in (pair.before, pair.after) for trials in arm.values()}
        for label in sorted(labels):
            before, after = (_within(arm, by, label) for arm in (pair.before, pair.after))
            rows.append(_compare_arms(pair, before, after, seed, by, label))
    return rows


def _label(trials: list[Observation], by: GroupBy) -> str:
    label: str = getattr(trials[0], by)
    return label


def _within(arm: Arm, by: GroupBy, label: str) -> Arm:
    return {question: trials for question, trials in arm.items() if _label(trials, by) == label}


def _compare_arms(
    pair: Pair, before: Arm, after: Arm, seed: int, by: GroupBy | None = None, group: str | None = None
) -> Comparison:
    old, new = mean_scores(before), mean_scores(after)
    counted = sorted(old.keys() & new.keys())
    differences = [new[question] - old[question] for question in counted]
    base, score = _percent([old[question] for question in counted]), _percent([new[question] for question in counted])
    delta = _percent(differences)
    totals, sizes = _by_cluster([after[question][0].cluster for question in counted], counted, differences)
    ways = [direction(old[question], new[question]) for question in counted]
    interval = bootstrap_interval(totals, sizes, seed=seed)
    one, two = _side(before, counted), _side(after, counted)
    return Comparison(
        model=pair.model,
        baseline=pair.baseline,
        condition=pair.condition,
        by=by,
        group=group,
        simulated=one.simulated or two.simulated,
        questions=len(counted),
        clusters=len(totals),
        excluded_questions=len(before.keys() | after.keys()) - len(counted),
        baseline_score=base,
        score=score,
        delta_points=delta,
        delta_relative=100 * delta / base if delta is not None and base else None,
        ci95=(100 * interval[0], 100 * interval[1]) if interval else None,
        p_value=sign_flip_p(totals, seed=seed) if counted else None,
        right_to_wrong=ways.count("right_to_wrong"),
        wrong_to_right=ways.count("wrong_to_right"),
        repeats=max((len(found) for arm in (before, after) for found in arm.values()), default=0),
        baseline_trials=one.trials,
        trials=two.trials,
        baseline_failed=one.failed,
        failed=two.failed,
        baseline_unscored=one.unscored,
        unscored=two.unscored,
        baseline_unparsed=one.unparsed,
        unparsed=two.unparsed,
        baseline_budget=one.budget,
        budget=two.budget,
        baseline_limits=one.limits,
        limits=two.limits,
        baseline_tokens=one.tokens,
        tokens=two.tokens,
        baseline_cost_usd=one.cost_usd,
        cost_usd=two.cost_usd,
        baseline_unpriced=one.unpriced,
        unpriced=two.unpriced,
    )


def _percent(values: list[float]) -> float | None:
    return 100 * math.fsum(values) / len(values) if values else None


def _by_cluster(clusters: list[str], questions: list[str], differences: list[float]) -> tuple[list[float], list[int]]:
    grouped: dict[tuple[str, str], list[float]] = defaultdict(list)
    for cluster, question, difference in zip(clusters, questions, differences, strict=True):
        # A question without a cluster is one of its own, and never meets a cluster of the same name.
        grouped["cluster" if cluster else "question", cluster or question].append(difference)
    return [math.fsum(group) for group in grouped.values()], [len(group) for group in grouped.values()]


@dataclass(frozen=True, slots=True)
class _Side:
    simulated: bool
    trials: int
    failed: int
    unscored: int
    unparsed: int
    budget: int
    limits: dict[str, int]
    tokens: float | None
    cost_usd: float | None
    unpriced: int


def _side(arm: Arm, counted: list[str]) -> _Side:
    trials = [trial for found in arm.values() for trial in found]
    ended = [trial for trial in trials if trial.outcome != "failed"]
    paid = [trial for question in counted for trial in arm[question] if counts(trial)]
    limits = Counter(trial.limit for trial in ended if trial.limit is not None)
    return _Side(
        simulated=any(trial.simulated for trial in trials),
        trials=len(trials),
        failed=len(trials) - len(ended),
        unscored=len([trial for trial in ended if trial.value is None and trial.verdict != "unparsed"]),
        unparsed=len([trial for trial in ended if trial.verdict == "unparsed"]),
        budget=len([trial for trial in ended if trial.outcome == "budget"]),
        limits=dict(sorted(limits.items(), key=lambda found: (-found[1], found[0]))),
        tokens=_mean([trial.tokens for trial in paid if trial.tokens is not None]),
        cost_usd=_mean([trial.cost_usd for trial in paid if trial.cost_usd is not None]),
        unpriced=len([trial for trial in paid if trial.cost_usd is None]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
