"""Components of variance, against known ones."""

import math

import numpy as np
import pytest

from toolablate.traces.analysis.statistics import Components, design_effect, paired_standard_error, variance_components


def scores(rng: np.random.Generator, p: np.ndarray, repeats: int) -> list[list[float]]:
    return (rng.random((len(p), repeats)) < p[:, None]).astype(float).tolist()


def mean_and_error(found: list[float]) -> tuple[float, float]:
    return float(np.mean(found)), float(np.std(found) / math.sqrt(len(found)))


def test_components_are_unbiased_at_any_numbers_of_repeats() -> None:
    rng = np.random.default_rng(1)
    found = []
    between, before_within, after_within = [], [], []
    for _ in range(1_500):
        p = rng.beta(2, 1, 40)
        r = np.clip(p + rng.choice([-0.3, 0, 0.2], 40), 0, 1)
        between.append(np.var(r - p, ddof=1))
        before_within.append(np.mean(p * (1 - p)))
        after_within.append(np.mean(r * (1 - r)))
        before = scores(rng, p[:20], 2) + scores(rng, p[20:], 5)
        components = variance_components(before, scores(rng, r, 3), range(40))
        assert components is not None
        assert components.questions == components.clusters == 40
        assert components.repeats == (2, 5)
        found.append(components)
    for truth, name in ((before_within, "within_before"), (after_within, "within_after")):
        mean, error = mean_and_error([getattr(each, name) for each in found])
        assert mean == pytest.approx(np.mean(truth), abs=3 * error)
    # Where it is not cut at 0, which is where the total says that it would be negative.
    uncut = [each.between if not each.cut else raw(each) for each in found]
    mean, error = mean_and_error(uncut)
    assert mean == pytest.approx(np.mean(between), abs=3 * error)


def raw(found: Components) -> float:
    """Half of the questions have 2 repeats before and half 5, all have 3 after; within a question's group its mean
    variance is not kept, so the cut is undone by the mean of both, which is right in expectation."""
    assert found.within_before is not None
    assert found.within_after is not None
    return found.total - found.within_before * (1 / 2 + 1 / 5) / 2 - found.within_after / 3


@pytest.mark.parametrize("sizes", [[4] * 15, [1, 2, 3, 6, 8] * 4])
def test_clusters_count_as_what_they_are_worth(sizes: list[int]) -> None:
    """The variance of the mean, as said and as it is over many studies."""
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(len(sizes)), sizes)
    said, means = [], []
    for _ in range(1_500):
        of_cluster = rng.choice([-0.3, 0.0, 0.4], len(sizes))[units]
        p = np.full(len(units), 0.5)
        before, after = scores(rng, p, 3), scores(rng, p + of_cluster, 3)
        found = variance_components(before, after, units.tolist())
        assert found is not None
        assert found.clusters == len(sizes)
        assert found.within_before is not None
        assert found.within_after is not None
        assert found.clustered is not None
        within = (found.within_before + found.within_after) / 2
        said.append(paired_standard_error(len(units), found.clustered, within, 3) ** 2)
        means.append(np.mean(after) - np.mean(before))
    assert np.mean(said) == pytest.approx(np.var(means), rel=0.12)


def test_a_component_below_0_is_cut_and_said_to_be() -> None:
    """Two questions of opposite chance: the same mean difference, so less spread than chance alone would make."""
    found = variance_components([[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]], ["a", "b"])
    assert found is not None
    assert (found.between, found.clustered, found.cut) == (0.0, 0.0, True)
    assert (found.within_before, found.within_after, found.total) == (0.5, 0.5, 0.0)


def test_without_repeats_nothing_parts_chance_from_differences() -> None:
    found = variance_components([[1.0], [0.0], [1.0]], [[0.0], [1.0], [1.0]], [1, 2, 3])
    assert found is not None
    assert (found.within_before, found.within_after, found.between, found.clustered) == (None,) * 4
    assert found.total == pytest.approx(1.0)
    assert found.repeats == (1, 1)
    assert not found.cut


def test_questions_with_a_single_score_are_left_out_where_others_have_more() -> None:
    several = [[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    alone = variance_components(several, several, range(3))
    assert alone == variance_components([*several, [1.0]], [*several, [0.0, 1.0]], range(4))


def test_two_independent_questions_are_the_least() -> None:
    assert variance_components([], [], []) is None
    assert variance_components([[1.0, 0.0]] * 3, [[1.0, 0.0]] * 3, ["one"] * 3) is None
    with pytest.raises(ValueError, match="without a score"):
        variance_components([[], [1.0]], [[0.0], [1.0]], [1, 2])


def test_design_effect_of_clusters() -> None:
    assert design_effect(range(9)) == 1.0
    assert design_effect([1, 1, 1, 2, 2, 2]) == 3.0
    assert design_effect([1, 1, 1, 2]) == pytest.approx(2.5)
