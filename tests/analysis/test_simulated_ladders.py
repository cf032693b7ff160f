"""Error rates and coverage of contrasts, totals and Shapley values, on data whose truth is known."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.analysis.ladder_arms import graded, ladder_conditions

from toolablate.analysis.arms import ladders
from toolablate.analysis.ladder import Resampling, Trials, Waterfall, shapley, waterfalls
from toolablate.traces.store.summaries import TrialSummary

CONDITIONS = ladder_conditions(shapley=True)
(LADDER,) = ladders(CONDITIONS)
PLAIN = [*LADDER.arms.values()]
RUNS, RESAMPLES, QUESTIONS = 2_000, 599, 60
Kinds = dict[str, NDArray[np.float64]]
POPULATION = 400
"""Kinds of questions; a run draws its questions from these, so that questions differ as they do in a benchmark."""


def chances(labels: list[str], spread: float, seed: int) -> Kinds:
    """Each kind's chance of being right under each condition; without `spread` the same under all."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.15, 0.85, POPULATION)
    shifts = {label: rng.normal(0.03 * place, 1, POPULATION) * spread for place, label in enumerate(labels)}
    return {label: np.clip(base + shifts[label], 0, 1) for label in labels}


def trials(number: int, kinds: Kinds, *, repeats: int) -> list[TrialSummary]:
    drawn = np.random.default_rng([number, 1]).integers(0, POPULATION, QUESTIONS)
    return list(graded({label: each[drawn] for label, each in kinds.items()}, number, repeats=repeats))


def run(number: int, kinds: Kinds, *, repeats: int, resamples: int = RESAMPLES) -> Waterfall:
    (found,) = waterfalls(trials(number, kinds, repeats=repeats), [LADDER], seed=number, resamples=resamples)
    return found


@pytest.mark.deep
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("repeats", "resamples", "size"),
    [
        # On so coarse a lattice an exact test stays below its level: 3 % at one repeat, 4.2 % at five.
        ((1, 2, 3, 4, 5), 99, 0.038),
        ((40,), 399, 0.047),
    ],
)
def test_without_any_effect_at_most_one_step_in_twenty_is_significant(
    repeats: tuple[int, ...], resamples: int, size: float
) -> None:
    kinds = chances(PLAIN, 0.0, seed=1)
    found_p, holm_p = [], []
    for number in range(RUNS):
        found = run(number, kinds, repeats=repeats[number % len(repeats)], resamples=resamples)
        steps = (*found.contrasts, found.total)
        found_p.append([step.p_value for step in steps])
        holm_p.append(min(step.p_holm for step in steps if step.p_holm is not None))
    of_steps = (np.array(found_p, dtype=float) <= 0.05 + 1e-12).mean(axis=0)
    assert len(of_steps) == 6
    assert of_steps == pytest.approx(size, abs=0.01)
    # Contrasts share arms, so that one of the six is found less often than one in twenty, but not never.
    assert 0.02 <= (np.array(holm_p) <= 0.05 + 1e-12).mean() <= 0.05


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_intervals_of_contrasts_totals_and_the_relative_change_cover_the_truth() -> None:
    kinds = chances(PLAIN, 0.15, seed=2)
    truth = {label: 100 * float(np.mean(kinds[label])) for label in PLAIN}
    covered: Counter[str] = Counter()
    for number in range(RUNS):
        found = run(number, kinds, repeats=3)
        covered.update(
            step.name
            for step in (*found.contrasts, found.total)
            if _covers(step.ci95, truth[step.after] - truth[step.before])
        )
        covered["relative"] += _covers(found.relative_ci95, 100 * (truth["python"] / truth["none"] - 1))
    assert len(covered) == 7
    for name, count in covered.items():
        assert count / RUNS == pytest.approx(0.95, abs=0.015), name


@pytest.mark.deep
@pytest.mark.timeout(300)
def test_intervals_of_shapley_values_cover_the_truth() -> None:
    labels = [*PLAIN, *LADDER.unprompted.values()]
    kinds = chances(labels, 0.15, seed=3)
    levels = {label: 100 * float(np.mean(kinds[label])) for label in labels}
    truth = shapley_truth(levels)
    covered: Counter[str] = Counter()
    for number in range(RUNS):
        found = shapley(Trials(trials(number, kinds, repeats=3), Resampling(number, RESAMPLES)), LADDER)
        assert found is not None
        for each, own in zip(found.values, LADDER.contrasts, strict=True):
            moved = truth[each.name] - (levels[own.after] - levels[own.before])
            covered[each.name] += _covers(each.ci95, truth[each.name])
            covered[f"{each.name} moved"] += _covers(each.moved_ci95, moved)
    assert len(covered) == 10
    for name, count in covered.items():
        assert count / RUNS == pytest.approx(0.95, abs=0.015), name


def _covers(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def shapley_truth(truth: dict[str, float]) -> dict[str, float]:
    """By the five orders, written out."""
    names = [contrast.name for contrast in LADDER.contrasts]
    prompted, bare = PLAIN[1:], ["none", *LADDER.unprompted.values()]
    found = dict.fromkeys(names, 0.0)
    for place in range(5):
        found[names[0]] += (truth[prompted[place]] - truth[bare[place]]) / 5
        for factor in range(1, 5):
            levels = prompted if factor > place else bare
            found[names[factor]] += (truth[levels[factor]] - truth[levels[factor - 1]]) / 5
    return found
