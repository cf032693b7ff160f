"""Harm that repeats can show, against every way to halve them and against known probabilities."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolablate.analysis.statistics.harm import (
    Bounds,
    flips_between_runs,
    harm_bounds,
    noise_flips,
    question_effects,
    selected_effects,
)

DRAWN = st.lists(st.booleans(), min_size=2, max_size=5)
Shares = tuple[np.ndarray, np.ndarray]


def halves(drawn: list[bool], first: int) -> Iterator[tuple[float, float]]:
    for chosen in itertools.combinations(range(len(drawn)), first):
        rest = [drawn[number] for number in range(len(drawn)) if number not in chosen]
        yield sum(drawn[number] for number in chosen) / first, sum(rest) / len(rest)


def split_by_split(before: list[bool], after: list[bool]) -> list[float]:
    """Looked harmed, looked helped, harmed, helped, least harmed, most harmed, least helped, most helped."""
    found = []
    for upper in (False, True):
        first, other = (-(-len(drawn) // 2) if upper else len(drawn) // 2 for drawn in (before, after))
        rows = []
        for (p, q), (r, s) in itertools.product(halves(before, first), halves(after, other)):
            harmed, helped = p - r > 1e-9, r - p > 1e-9
            tie = abs(p + r - 1) < 1e-9
            most_harmed = (q + 1 - s) / 2 if tie else 1 - s if p + r > 1 else q
            most_helped = (1 - q + s) / 2 if tie else 1 - q if p + r > 1 else s
            effect = s - q
            effects = harmed * effect, helped * effect
            rows.append((harmed, helped, *effects, -effects[0], most_harmed, effects[1], most_helped))
        found.append(np.mean(np.array(rows, dtype=float), axis=0))
    return np.mean(found, axis=0).tolist()


@settings(deadline=None)
@given(DRAWN, DRAWN)
def test_every_way_to_halve_the_repeats_counts_the_same(before: list[bool], after: list[bool]) -> None:
    found = harm_bounds([before], [after], ["q"])
    effects = question_effects([before], [after])
    assert found is not None
    assert effects is not None
    (effect,) = effects
    figures = [effect.looked_harmed, effect.looked_helped, effect.harmed, effect.helped]
    bounds = [found.harmed.low, found.harmed.high, found.helped.low, found.helped.high]
    assert figures + bounds == pytest.approx(split_by_split(before, after), abs=1e-12)
    assert found.harmed.ci95 is None


@settings(deadline=None, max_examples=40)
@given(st.floats(0, 1), st.floats(0, 1), st.integers(2, 5), st.integers(2, 5))
def test_no_bound_is_flattered(p: float, r: float, repeats: int, others: int) -> None:
    """The exact expectation of each bound of one question, over all that could be drawn."""
    least, most = 0.0, 0.0
    for right, after in itertools.product(range(repeats + 1), range(others + 1)):
        found = harm_bounds([drawn(right, repeats)], [drawn(after, others)], [0])
        assert found is not None
        chance = binomial(right, repeats, p) * binomial(after, others, r)
        least += chance * found.harmed.low
        most += chance * found.harmed.high
    assert least <= max(0.0, p - r) + 1e-12
    assert most >= min(p, 1 - r) - 1e-12


def drawn(right: int, of: int) -> list[bool]:
    return [number < right for number in range(of)]


def binomial(right: int, of: int, share: float) -> float:
    return math.comb(of, right) * share**right * (1 - share) ** (of - right)


def same(shape: Callable[[np.random.Generator], np.ndarray]) -> Callable[[np.random.Generator], Shares]:
    def both(rng: np.random.Generator) -> Shares:
        share = shape(rng)
        return share, share

    return both


NULLS = {
    "coins": same(lambda rng: np.full(60, 0.5)),
    "any": same(lambda rng: rng.random(60)),
    "nearly sure": same(lambda rng: rng.beta(0.3, 0.3, 60)),
    "few unsure": same(lambda rng: np.where(np.arange(60) < 20, rng.random(60), np.arange(60) % 2)),
}
KNOWN = {
    "some lost": lambda rng: (share := rng.beta(0.5, 0.3, 60), np.where(np.arange(60) < 10, 0, share)),
    "all a little": lambda rng: (share := rng.beta(0.5, 0.5, 60), np.clip(share - 0.1, 0, 1)),
    "unlike": lambda rng: (rng.beta(0.5, 0.5, 60), rng.beta(0.5, 0.5, 60)),
}
RUNS = 300
RESAMPLES = 500


@pytest.mark.deep
@pytest.mark.parametrize("shape", [*NULLS, *KNOWN])
def test_intervals_cover_both_bounds_and_show_no_harm_where_there_is_none(shape: str) -> None:
    rng = np.random.default_rng(11)
    repeats = 3
    covered, low, room = [], [], []
    for seed in range(RUNS):
        p, r = {**NULLS, **KNOWN}[shape](rng)
        before, after = ((rng.random((60, repeats)) < share[:, None]).tolist() for share in (p, r))
        found = harm_bounds(before, after, range(60), seed=seed, resamples=RESAMPLES)
        assert found is not None
        assert all(map(consistent, (found.harmed, found.helped)))
        for bounds, least, most in (
            (found.harmed, np.maximum(0, p - r), np.minimum(p, 1 - r)),
            (found.helped, np.maximum(0, r - p), np.minimum(r, 1 - p)),
        ):
            covered.append(covers(bounds, least.mean(), most.mean()))
            low.append(bounds.low - least.mean())
            room.append(bounds.high - most.mean())
    assert np.mean(covered) >= 0.935
    assert np.mean(low) <= 3 * np.std(low) / math.sqrt(RUNS)
    assert np.mean(room) >= -3 * np.std(room) / math.sqrt(RUNS)


def consistent(bounds: Bounds) -> bool:
    """Nobody can believe an interval that leaves out its own estimate."""
    low = max(0.0, bounds.low)
    return bounds.ci95 is None or bounds.ci95[0] <= low <= bounds.high <= bounds.ci95[1]


def covers(bounds: Bounds, least: float, most: float) -> bool:
    return bounds.ci95 is not None and bounds.ci95[0] <= least + 1e-12 and bounds.ci95[1] >= most - 1e-12


def test_what_the_score_lost_is_a_lower_bound_even_with_few_repeats() -> None:
    """Halves of two repeats would see a fifth of it."""
    rng = np.random.default_rng(3)
    before, after = ((rng.random((400, 2)) < share).tolist() for share in (0.6, 0.4))
    found = harm_bounds(before, after, range(400))
    assert found is not None
    assert found.harmed.low == pytest.approx(0.2, abs=0.05)
    assert found.helped.low == pytest.approx(0, abs=0.02)


def test_clusters_are_drawn_whole() -> None:
    rng = np.random.default_rng(4)
    before, after = ((rng.random((60, 4)) < 0.5).tolist() for _ in range(2))
    copied = harm_bounds(before * 4, after * 4, [*range(60)] * 4)
    once = harm_bounds(before, after, range(60))
    apart = harm_bounds(before * 4, after * 4, range(240))
    assert copied is not None
    assert once is not None
    assert apart is not None
    assert copied.harmed.ci95 == pytest.approx(once.harmed.ci95)
    assert above(apart.harmed) == pytest.approx(above(copied.harmed) / 2, rel=0.15)


def above(bounds: Bounds) -> float:
    assert bounds.ci95 is not None
    return bounds.ci95[1] - bounds.high


@pytest.mark.parametrize("arm", [[], [[True]], [[True, False], [False]]])
def test_without_repeats_nothing_is_said(arm: list[list[bool]]) -> None:
    other = [[True, False]] * len(arm)
    assert harm_bounds(arm, other, range(len(arm))) is None
    assert harm_bounds(other, arm, range(len(arm))) is None
    assert question_effects(arm, other) is None


def test_questions_that_never_vary_give_bounds_without_an_interval() -> None:
    found = harm_bounds([[True] * 3] * 9, [[True] * 3] * 9, range(9))
    assert found is not None
    assert found.harmed == Bounds(0.0, 0.0, None)
    effects = question_effects([[True] * 3] * 9, [[True] * 3] * 9)
    assert effects is not None
    assert selected_effects(effects, range(9)).harmed.effect is None
    assert selected_effects([], []).helped.questions == 0


def test_questions_that_look_harmed_are_asked_again_without_bias() -> None:
    """What the other half shows is, weighed by how often a question looks so, its true effect."""
    rng = np.random.default_rng(5)
    p, r = rng.beta(0.6, 0.6, 80), rng.beta(0.6, 0.6, 80)
    totals, looked, truth = [], [], []
    for _ in range(1_000):
        before, after = ((rng.random((80, 4)) < share[:, None]).tolist() for share in (p, r))
        effects = question_effects(before, after)
        assert effects is not None
        totals.append(math.fsum(each.harmed for each in effects))
        looked.append(math.fsum(each.looked_harmed for each in effects))
        truth.append(math.fsum(each.looked_harmed * (b - a) for each, a, b in zip(effects, p, r, strict=True)))
    error = np.std(np.array(totals) - truth) / math.sqrt(len(totals))
    assert np.mean(totals) == pytest.approx(np.mean(truth), abs=3 * error)
    assert np.mean(totals) < -0.3 * np.mean(looked), "where harm is real the other half confirms it"


def test_noise_that_looks_like_harm_is_told_from_it() -> None:
    rng = np.random.default_rng(6)
    covered, counts = [], []
    for _ in range(RUNS):
        before, after = ((rng.random((80, 4)) < 0.5).tolist() for _ in range(2))
        effects = question_effects(before, after)
        assert effects is not None
        found = selected_effects(effects, range(80))
        for side in (found.harmed, found.helped):
            assert side.ci95 is not None
            covered.append(side.ci95[0] <= 0 <= side.ci95[1])
            counts.append(side.questions)
    assert 0.92 <= np.mean(covered) <= 0.98
    assert np.mean(counts) == pytest.approx(80 * 0.3125, rel=0.03), "of two fair coins against two, 5 of 16 look harmed"


@pytest.mark.parametrize(
    ("shape", "questions", "repeats"),
    [("coins", 64, 2), ("mixed", 120, 2), ("mixed", 90, 3), ("mixed", 60, 8), ("rare", 430, 3), ("clusters", 240, 3)],
)
def test_intervals_of_selected_questions_cover_their_true_effect(shape: str, questions: int, repeats: int) -> None:
    """The truth is the mean of r - p, weighed by how often each question looked so."""
    covered = []
    for seed in range(RUNS):
        rng = np.random.default_rng([seed, questions, repeats])
        p, r, units = SELECTED[shape](rng, questions)
        before, after = ((rng.random((questions, repeats)) < share[:, None]).tolist() for share in (p, r))
        effects = question_effects(before, after)
        assert effects is not None
        found = selected_effects(effects, units)
        for side, looked in (
            (found.harmed, [each.looked_harmed for each in effects]),
            (found.helped, [each.looked_helped for each in effects]),
        ):
            if side.ci95 is not None:
                truth = float(np.average(r - p, weights=looked))
                covered.append(side.ci95[0] <= truth <= side.ci95[1])
    assert len(covered) > RUNS / 2
    assert np.mean(covered) >= 0.92


def rare(rng: np.random.Generator, questions: int) -> tuple[np.ndarray, np.ndarray, Sequence[int]]:
    p = np.where(rng.random(questions) < 0.6, 0.97, 0.03)
    return p, np.where(rng.random(questions) < 0.02, 0.03, p), range(questions)


def mixed(rng: np.random.Generator, questions: int) -> tuple[np.ndarray, np.ndarray, Sequence[int]]:
    p = rng.beta(0.5, 0.5, questions)
    return p, np.clip(p + rng.choice([-0.4, 0, 0.3], questions), 0, 1), range(questions)


def in_clusters(rng: np.random.Generator, questions: int) -> tuple[np.ndarray, np.ndarray, Sequence[int]]:
    units = rng.integers(0, questions // 6, questions)
    p = rng.uniform(0.3, 0.9, questions)
    return p, np.clip(p + rng.choice([-0.5, 0, 0.3], questions // 6)[units], 0, 1), units.tolist()


SELECTED: dict[str, Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray, Sequence[int]]]] = {
    "coins": lambda _, questions: (np.full(questions, 0.5), np.full(questions, 0.5), range(questions)),
    "mixed": mixed,
    "rare": rare,
    "clusters": in_clusters,
}


def test_few_questions_that_look_harmed_have_an_effect_without_an_interval() -> None:
    sure, lost, shaken = [True] * 4, [False] * 4, [True, False, False, False]
    effects = question_effects([sure] * 60, [lost, shaken, shaken, *[sure] * 57])
    assert effects is not None
    found = selected_effects(effects, range(60)).harmed
    assert found.questions == pytest.approx(3)
    assert found.effect == pytest.approx(-(1 + 0.75 + 0.75) / 3)
    assert found.ci95 is None
    effects = question_effects([sure] * 60, [*[lost] * 12, *[shaken] * 12, *[sure] * 36])
    assert effects is not None
    many = selected_effects(effects, range(60)).harmed
    assert many.effect is not None
    assert many.ci95 is not None
    assert many.ci95[0] < many.effect < many.ci95[1]


def test_few_large_clusters_are_worth_few_questions() -> None:
    lost, shaken = [False] * 4, [True, False, False, False]
    effects = question_effects([[True] * 4] * 60, [lost, shaken] * 30)
    assert effects is not None
    assert selected_effects(effects, range(60)).harmed.ci95 is not None
    assert selected_effects(effects, [number // 4 for number in range(60)]).harmed.ci95 is None


# Flips that chance alone makes, against every pair of runs and against known probabilities.


def arms(least: int) -> st.SearchStrategy[list[list[bool]]]:
    """Questions with as many repeats each, as rows."""
    return st.integers(least, 5).flatmap(
        lambda repeats: st.lists(st.lists(st.booleans(), min_size=repeats, max_size=repeats), min_size=4, max_size=4)
    )


def flipped(first: tuple[bool, ...], second: tuple[bool, ...]) -> int:
    return sum(old and not new for old, new in zip(first, second, strict=True))


@given(arms(1), arms(1))
def test_flips_are_the_mean_over_every_run_of_one_and_every_run_of_the_other(
    before: list[list[bool]], after: list[list[bool]]
) -> None:
    runs, others = list(zip(*before, strict=True)), list(zip(*after, strict=True))
    brute = math.fsum(flipped(run, other) for run in runs for other in others) / (len(runs) * len(others))
    assert flips_between_runs(before, after) == pytest.approx(brute)


@given(arms(2))
def test_noise_is_the_mean_over_every_two_runs_of_one_condition(repeats: list[list[bool]]) -> None:
    counted = [flipped(one, other) for one, other in itertools.permutations(zip(*repeats, strict=True), 2)]
    assert noise_flips(repeats) == pytest.approx(math.fsum(counted) / len(counted))


def test_with_one_repeat_flips_are_counted_and_their_noise_is_unknown() -> None:
    before, after = [[True], [True], [False], [True]], [[False], [True], [True], [False]]
    assert flips_between_runs(before, after) == 2
    assert noise_flips(before) is None
    assert noise_flips([[True, False], [True]]) is None
    assert noise_flips([]) is None


@pytest.mark.parametrize("repeats", [2, 3, 8])
def test_flips_and_noise_are_unbiased(repeats: int) -> None:
    rng = np.random.default_rng(repeats)
    p, r = rng.beta(0.5, 0.5, 50), rng.beta(0.5, 0.5, 50)
    noise, flips = [], []
    for _ in range(2_000):
        before, after = (rng.random((50, repeats)) < share[:, None] for share in (p, r))
        noise.append(noise_flips(before.tolist()))
        flips.append(flips_between_runs(before.tolist(), after.tolist()))
    for found, truth in ((noise, (p * (1 - p)).sum()), (flips, (p * (1 - r)).sum())):
        error = np.std(found) / math.sqrt(len(found))
        assert np.mean(found) == pytest.approx(truth, abs=3 * error)
