"""Conditions against a baseline, paired over questions."""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from toolablate.traces.analysis.comparison import Comparison
from toolablate.traces.analysis.statistics import bootstrap_interval, sign_flip_p
from toolablate.traces.errors import InputError
from toolablate.traces.store import Observation

RIGHT = 0.5

Arm = dict[str, list[Observation]]
"""The trials of one model under one condition, by question."""


def compare(
    observations: Iterable[Observation],
    baseline: str,
    *,
    by: Literal["domain"] | None = None,
    seed: int = 0,
    order: Sequence[str] = (),
) -> list[Comparison]:
    """One row per model and condition other than the baseline; with `by="domain"`, one more for each domain after it.

    Rows come by model name, then by condition: those named in `order` first, the others by name. The result depends
    on the observations and the seed alone, not on their order. Raises InputError where no trial of the baseline ended.
    """
    arms: dict[str, dict[str, Arm]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for seen in observations:
        arms[seen.model][seen.condition][seen.question].append(seen)
    names = sorted({name for conditions in arms.values() for name in conditions}, key=_placed(order))
    if baseline not in names:
        raise InputError(
            f"There is no condition {baseline!r} to compare with",
            hint=f"Conditions with ended trials: {', '.join(names) or 'none yet'}.",
            code="unknown_baseline",
        )
    return [
        row
        for model in sorted(arms)
        for condition in names
        if condition != baseline and condition in arms[model]
        for row in _rows(_Pair(model, baseline, condition), arms[model], by, seed)
    ]


def _placed(order: Sequence[str]) -> "_Placed":
    return _Placed({name: place for place, name in reversed(list(enumerate(order)))})


@dataclass(frozen=True, slots=True)
class _Placed:
    places: dict[str, int]

    def __call__(self, name: str) -> tuple[int, str]:
        return self.places.get(name, len(self.places)), name


@dataclass(frozen=True, slots=True)
class _Pair:
    model: str
    baseline: str
    condition: str


def _rows(pair: _Pair, arms: dict[str, Arm], by: str | None, seed: int) -> list[Comparison]:
    before, after = arms.get(pair.baseline, {}), arms[pair.condition]
    rows = [_compare_arms(pair, None, before, after, seed)]
    if by == "domain":
        domains = sorted({_domain(trials) for arm in (before, after) for trials in arm.values()})
        rows += [_compare_arms(pair, name, _within(before, name), _within(after, name), seed) for name in domains]
    return rows


def _domain(trials: list[Observation]) -> str:
    return trials[0].domain


def _within(arm: Arm, domain: str) -> Arm:
    return {question: trials for question, trials in arm.items() if _domain(trials) == domain}


def _compare_arms(pair: _Pair, domain: str | None, before: Arm, after: Arm, seed: int) -> Comparison:
    old, new = _means(before), _means(after)
    counted = sorted(old.keys() & new.keys())
    differences = [new[question] - old[question] for question in counted]
    base, score = _percent([old[question] for question in counted]), _percent([new[question] for question in counted])
    delta = _percent(differences)
    totals, sizes = _by_cluster([after[question][0].cluster for question in counted], counted, differences)
    interval = bootstrap_interval(totals, sizes, seed=seed)
    one, two = _side(before, counted), _side(after, counted)
    return Comparison(
        model=pair.model,
        baseline=pair.baseline,
        condition=pair.condition,
        domain=domain,
        simulated=one.simulated or two.simulated,
        questions=len(counted),
        excluded_questions=len(before.keys() | after.keys()) - len(counted),
        baseline_score=base,
        score=score,
        delta_points=delta,
        delta_relative=100 * delta / base if delta is not None and base else None,
        ci95=(100 * interval[0], 100 * interval[1]) if interval else None,
        p_value=sign_flip_p(totals, seed=seed) if counted else None,
        right_to_wrong=sum(old[question] >= RIGHT > new[question] for question in counted),
        wrong_to_right=sum(new[question] >= RIGHT > old[question] for question in counted),
        repeats=max((len(found) for arm in (before, after) for found in arm.values()), default=0),
        baseline_trials=one.trials,
        trials=two.trials,
        baseline_failed=one.failed,
        failed=two.failed,
        baseline_unscored=one.unscored,
        unscored=two.unscored,
        baseline_unparsed=one.unparsed,
        unparsed=two.unparsed,
        baseline_tokens=one.tokens,
        tokens=two.tokens,
        baseline_cost_usd=one.cost_usd,
        cost_usd=two.cost_usd,
    )


def _means(arm: Arm) -> dict[str, float]:
    values = {
        question: [t.value for t in trials if _counts(t) and t.value is not None] for question, trials in arm.items()
    }
    return {question: math.fsum(scored) / len(scored) for question, scored in values.items() if scored}


def _counts(trial: Observation) -> bool:
    return trial.outcome != "failed" and trial.value is not None


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
    tokens: float | None
    cost_usd: float | None


def _side(arm: Arm, counted: list[str]) -> _Side:
    trials = [trial for found in arm.values() for trial in found]
    ended = [trial for trial in trials if trial.outcome != "failed"]
    paid = [trial for question in counted for trial in arm[question] if _counts(trial)]
    return _Side(
        simulated=any(trial.simulated for trial in trials),
        trials=len(trials),
        failed=len(trials) - len(ended),
        unscored=sum(trial.value is None and trial.verdict != "unparsed" for trial in ended),
        unparsed=sum(trial.verdict == "unparsed" for trial in ended),
        tokens=_mean([float(trial.tokens) for trial in paid if trial.tokens is not None]),
        cost_usd=_mean([trial.cost_usd for trial in paid if trial.cost_usd is not None]),
    )


def _mean(values: list[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None
