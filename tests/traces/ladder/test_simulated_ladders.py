"""Error rates and coverage of rungs, totals and Shapley values, on data whose truth is known."""

from collections import Counter

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.traces.ladder.arms import graded, ladder_conditions

from toolablate.traces.analysis import Observation
from toolablate.traces.analysis.ladder import Waterfall, ladders, waterfalls
from toolablate.traces.analysis.ladder.paired import Chance, Trials
from toolablate.traces.analysis.ladder.shapley import shapley

CONDITIONS = ladder_conditions(shapley=True)
(LADDER,) = ladders(CONDITIONS)
PLAIN = [*LADDER.arms.values()]
RUNS, RESAMPLES = 2_000, 999
Kinds = dict[str, NDArray[np.float64]]
POPULATION = 400
"""Kinds of questions; a run draws its questions from these, so that questions differ as they do in a benchmark."""


def chances(labels: list[str], spread: float, seed: int) -> Kinds:
    """Each kind's chance of being right under each condition; without `spread` the same under all."""
    rng = np.random.default_rng(seed)
    base = rng.uniform(0.15, 0.85, POPULATION)
    shifts = {label: rng.normal(0.03 * place, 1, POPULATION) * spread for place, label in enumerate(labels)}
    return {label: np.clip(base + shifts[label], 0, 1) for label in labels}


def trials(number: int, kinds: Kinds, *, questions: int, repeats: int) -> list[Observation]:
    drawn = np.random.default_rng([number, 1]).integers(0, POPULATION, questions)
    return list(graded({label: each[drawn] for label, each in kinds.items()}, number, repeats=repeats))


def run(number: int, kinds: Kinds, *, questions: int, repeats: int) -> Waterfall:
    seen = trials(number, kinds, questions=questions, repeats=repeats)
    (found,) = waterfalls(seen, [LADDER], seed=number, resamples=RESAMPLES)
    return found


@pytest.mark.timeout(300)
def test_without_any_effect_one_step_in_twenty_is_significant() -> None:
    kinds = chances(PLAIN, 0.0, seed=1)
    small, any_of_them = Counter[str](), 0
    for number in range(RUNS):
        found = run(number, kinds, questions=60, repeats=40)
        steps = (*found.rungs, found.total)
        small.update(step.name for step in steps if step.p_value is not None and step.p_value < 0.05)
        any_of_them += any(step.p_holm is not None and step.p_holm < 0.05 for step in steps)
    assert len(small) == 6
    for name, count in small.items():
        assert count / RUNS == pytest.approx(0.05, abs=0.01), name
    assert any_of_them / RUNS <= 0.05


@pytest.mark.timeout(300)
def test_intervals_of_rungs_and_totals_cover_the_truth() -> None:
    kinds = chances(PLAIN, 0.15, seed=2)
    truth = {label: 100 * float(np.mean(kinds[label])) for label in PLAIN}
    covered: Counter[str] = Counter()
    for number in range(RUNS):
        found = run(number, kinds, questions=300, repeats=3)
        covered.update(
            step.name
            for step in (*found.rungs, found.total)
            if step.ci95 and step.ci95[0] <= truth[step.after] - truth[step.before] <= step.ci95[1]
        )
    assert len(covered) == 6
    for name, count in covered.items():
        assert count / RUNS == pytest.approx(0.95, abs=0.015), name


@pytest.mark.timeout(300)
def test_intervals_of_shapley_values_cover_the_truth() -> None:
    labels = [*PLAIN, *LADDER.unprompted.values()]
    kinds = chances(labels, 0.15, seed=3)
    truth = shapley_truth({label: 100 * float(np.mean(kinds[label])) for label in labels})
    covered: Counter[str] = Counter()
    for number in range(RUNS):
        seen = Trials(trials(number, kinds, questions=300, repeats=3))
        found = shapley(seen, LADDER, Chance(number, RESAMPLES))
        assert found is not None
        covered.update(
            each.name for each in found.values if each.ci95 and each.ci95[0] <= truth[each.name] <= each.ci95[1]
        )
    assert len(covered) == 5
    for name, count in covered.items():
        assert count / RUNS == pytest.approx(0.95, abs=0.015), name


def shapley_truth(truth: dict[str, float]) -> dict[str, float]:
    """By the five orders, written out."""
    names = [rung.name for rung in LADDER.rungs]
    prompted, bare = PLAIN[1:], ["none", *LADDER.unprompted.values()]
    found = dict.fromkeys(names, 0.0)
    for place in range(5):
        found[names[0]] += (truth[prompted[place]] - truth[bare[place]]) / 5
        for factor in range(1, 5):
            levels = prompted if factor > place else bare
            found[names[factor]] += (truth[levels[factor]] - truth[levels[factor - 1]]) / 5
    return found
