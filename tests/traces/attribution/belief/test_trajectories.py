"""Shares along a trace: counts, intervals, and differences that sum to the whole."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolablate.analysis.attribution.belief import Probe, share, trajectory


@st.composite
def probes(draw: st.DrawFn) -> list[Probe]:
    steps = draw(st.lists(st.integers(0, 40), min_size=1, max_size=12, unique=True))
    found = []
    for step in steps:
        options = draw(st.dictionaries(st.sampled_from("ABCD"), st.integers(0, 9), min_size=1))
        unreadable = draw(st.integers(0 if sum(options.values()) else 1, 5))
        found.append(Probe(step, options, unreadable, draw(st.integers(0, sum(options.values())))))
    return found


@given(probes())
def test_differences_sum_to_the_last_less_the_first_and_shares_to_one(asked: list[Probe]) -> None:
    found = trajectory(asked)
    assert [belief.step for belief in found.beliefs] == sorted(probe.step for probe in asked)
    whole = found.beliefs[-1].right.mean - found.beliefs[0].right.mean
    assert math.fsum(change.difference for change in found.changes) == pytest.approx(whole, abs=1e-12)
    names = {name for probe in asked for name in probe.options}
    for belief in found.beliefs:
        assert belief.options.keys() == names
        shares = [belief.unreadable, *belief.options.values()]
        assert math.fsum(each.mean for each in shares) == pytest.approx(1, abs=1e-12)
        for each in (*shares, belief.right):
            assert 0 <= each.low <= each.mean <= each.high <= 1


def test_what_cannot_be_read_is_not_right_and_an_answer_that_nobody_gave_has_a_share_of_nothing() -> None:
    found = trajectory([Probe(3, {"A": 2}, 2, 2), Probe(0, {"B": 3, "A": 1}, 0, 1)])
    first, last = found.beliefs
    assert (first.step, first.samples, first.options["A"].mean, first.right.mean) == (0, 4, 0.25, 0.25)
    assert (last.options["A"].mean, last.options["B"].mean, last.unreadable.mean) == (0.5, 0.0, 0.5)
    assert last.right.mean == 0.5
    assert [(each.after, each.step, each.difference) for each in found.changes] == [(0, 3, 0.25)]


@pytest.mark.parametrize(
    ("counts", "what"),
    [((0, {}, 0, 0), "at least one sample"), ((2, {"A": 1}, 3, 2), "2 right of 1"), ((1, {"A": -1}, 3, 0), "step 1")],
)
def test_counts_that_cannot_be_are_refused(counts: tuple[int, dict[str, int], int, int], what: str) -> None:
    with pytest.raises(ValueError, match=what):
        Probe(*counts)


def test_a_trajectory_has_probes_one_for_a_step() -> None:
    with pytest.raises(ValueError, match="at least one"):
        trajectory([])
    with pytest.raises(ValueError, match="two probes"):
        trajectory([Probe(1, {"A": 1}, 0, 0), Probe(1, {"A": 1}, 0, 1)])


@pytest.mark.parametrize(("count", "samples"), [(0, 4), (3, 8), (8, 8), (31, 32)])
def test_the_interval_is_wilsons(count: int, samples: int) -> None:
    theirs = stats.binomtest(count, samples).proportion_ci(0.9, method="wilson")
    assert share(count, samples, confidence=0.9).low == pytest.approx(theirs.low)
    assert share(count, samples, confidence=0.9).high == pytest.approx(theirs.high)


@pytest.mark.parametrize("samples", [4, 8, 16, 32])
def test_intervals_cover_the_truth_nineteen_times_in_twenty(samples: int) -> None:
    """Written out, not simulated: over all true shares alike. Of single shares some are covered less often."""
    intervals = [share(count, samples) for count in range(samples + 1)]
    truths = [(place + 0.5) / 500 for place in range(500)]
    covered = [
        sum(
            chance
            for chance, each in zip(stats.binom.pmf(range(samples + 1), samples, truth), intervals, strict=True)
            if each.low <= truth <= each.high
        )
        for truth in truths
    ]
    assert sum(covered) / len(covered) == pytest.approx(0.95, abs=0.012)
    assert min(covered) > 0.82
