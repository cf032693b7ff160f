"""Searches that ask for probes: what they find, how often they err, and what they cost."""

import numpy as np
import pytest
from scipy import stats
from tests.analysis.attribution.stories import falling

from toolablate.analysis.attribution.bisection import (
    Found,
    Search,
    lower_bound,
    search,
    search_cost,
    upper_bound,
)
from toolablate.analysis.statistics.intervals import Floats

RUNS = 400


def searched(plan: Search, path: Floats, rng: np.random.Generator) -> Found:
    asking, found = search(plan), None
    wanted = next(asking)
    while found is None:
        try:
            wanted = asking.send(int(rng.binomial(wanted.samples, path[wanted.step])))
        except StopIteration as ended:
            found = ended.value
    return found


@pytest.mark.parametrize("steps", [1, 2, 3, 8, 100])
def test_a_sure_fall_is_found_at_every_step_in_a_number_of_probes_that_grows_with_the_logarithm(steps: int) -> None:
    plan = Search(steps)
    for fall in range(1, steps + 1):
        found = searched(plan, falling(steps, fall, 1.0, 0.0), np.random.default_rng(0))
        assert (found.verdict, found.after, found.step) == ("found", fall - 1, fall)
        assert found.probed <= min(steps + 1, 2 + 3 * plan.halvings)


@pytest.mark.parametrize(("high", "low", "tau"), [(0.95, 0.05, 0.5), (0.9, 0.2, 0.5), (0.8, 0.3, 0.4), (0.9, 0.4, 0.5)])
@pytest.mark.parametrize("steps", [8, 64])
def test_no_more_errors_than_said(high: float, low: float, tau: float, steps: int) -> None:
    rng, wrong, found = np.random.default_rng(steps), 0, 0
    for _ in range(RUNS):
        fall = int(rng.integers(1, steps + 1))
        each = searched(Search(steps, tau=tau), falling(steps, fall, high, low), rng)
        found += each.verdict == "found"
        wrong += (each.verdict == "found" and each.step != fall) or each.verdict in ("no_fall", "not_monotone")
    # Bounds that hold whatever the shares are err far less often than they may.
    assert wrong / RUNS <= 0.05
    assert found / RUNS >= (0.95 if high - low > 0.6 else 0.25)


def test_what_stays_or_rises_has_no_fall() -> None:
    rng, plan = np.random.default_rng(1), Search(16)
    verdicts = [searched(plan, np.full(17, share), rng).verdict for share in rng.uniform(0, 1, RUNS)]
    assert verdicts.count("found") == 0
    assert verdicts.count("no_fall") >= 0.95 * RUNS
    assert searched(plan, falling(16, 5, 0.1, 0.9), rng).verdict == "no_fall"


def test_a_fall_that_few_samples_do_not_show_is_left_undecided() -> None:
    found = searched(Search(16, tau=0.2, most=8), falling(16, 5, 0.7, 0.4), np.random.default_rng(2))
    assert (found.verdict, found.after, found.step) == ("undecided", 0, 16)
    middle = falling(16, 5, 1.0, 0.0)
    middle[8] = 0.5
    plan = Search(16, most=16)
    verdicts = [searched(plan, middle, np.random.default_rng(seed)) for seed in range(20)]
    assert ("undecided", 0, 16) in {(each.verdict, each.after, each.step) for each in verdicts}


def test_a_recovery_that_is_seen_is_told() -> None:
    rng = np.random.default_rng(3)
    before, after = falling(32, 20, 1.0, 0.0), falling(32, 8, 1.0, 0.0)
    before[10:14] = 0.0  # low at 12, and at the 16 of the bisection high again
    after[12:15] = 1.0  # the fall at 8 is found, and 12 to 14 are high
    found = searched(Search(32), before, rng)
    assert (found.verdict, found.step, found.seen_at) == ("not_monotone", 20, 12)
    found = searched(Search(32), after, rng)
    assert found.verdict in ("not_monotone", "found")
    assert found.step in (8, 15)
    long = falling(32, 9, 1.0, 0.0)
    long[17:32] = 1.0  # falls at 9, is high from 17 to 31
    assert searched(Search(32), long, rng).verdict == "not_monotone"


@pytest.mark.parametrize("plan", [Search(10), Search(100)])
def test_the_cost_told_before_is_what_it_takes(plan: Search) -> None:
    rng, told = np.random.default_rng(4), search_cost(plan)
    found = [
        searched(plan, falling(plan.steps, int(rng.integers(1, plan.steps + 1)), 0.9, 0.1), rng) for _ in range(RUNS)
    ]
    assert np.mean([each.samples for each in found]) == pytest.approx(told.samples_expected, rel=0.1)
    assert np.mean([each.probed for each in found]) == pytest.approx(told.probes_expected, rel=0.1)
    assert max(each.samples for each in found) <= told.samples_at_most
    assert max(each.probed for each in found) <= told.probes_at_most


def test_of_many_steps_a_search_takes_far_fewer_samples_than_probing_all() -> None:
    assert search_cost(Search(100)).samples_expected < 0.25 * 101 * 16


def test_counts_and_plans_that_cannot_be_are_refused() -> None:
    asking = search(Search(4))
    wanted = next(asking)
    with pytest.raises(ValueError, match="right of"):
        asking.send(wanted.samples + 1)
    for broken in ({"steps": 0}, {"steps": 4, "tau": 0.0}, {"steps": 4, "batch": 8, "most": 4}):
        with pytest.raises(ValueError, match="a search has"):
            Search(**broken)  # type: ignore[arg-type]


@pytest.mark.parametrize(("right", "samples"), [(0, 5), (3, 7), (7, 7), (60, 64)])
def test_bounds_are_clopper_and_pearsons(right: int, samples: int) -> None:
    theirs = stats.binomtest(right, samples).proportion_ci(0.98, method="exact")
    assert lower_bound(right, samples, 0.01) == pytest.approx(theirs.low, abs=1e-9)
    assert upper_bound(right, samples, 0.01) == pytest.approx(theirs.high, abs=1e-9)
