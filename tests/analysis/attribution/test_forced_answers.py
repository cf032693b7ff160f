"""What having to answer at once costs: estimates of a loss that is known, by simulation."""

import numpy as np
import pytest
from scipy.special import stdtrit

from toolablate.analysis.attribution.forced_answers import ForcedAndFree, Forcing, forcing_of

RUNS = 1000


def drawn(kept: float, rng: np.random.Generator, *, questions: int = 40, forced: int = 6, free: int = 3) -> Forcing:
    """Of questions of different difficulty, each with so many answers of both kinds."""
    chances = rng.beta(2, 2, questions)
    return forcing_of(
        ForcedAndFree(
            tuple(rng.binomial(1, kept * chance, forced).astype(float)),
            tuple(rng.binomial(1, chance, free).astype(float)),
        )
        for chance in chances.tolist()
    )


@pytest.mark.parametrize("kept", [0.3, 0.6, 0.8])
def test_the_loss_is_estimated_without_bias_and_its_error_covers(kept: float) -> None:
    rng = np.random.default_rng(1)
    found = [drawn(kept, rng) for _ in range(RUNS)]
    ratios = np.array([each.kept for each in found])
    errors = np.array([each.kept * each.relative_error for each in found])
    # A ratio's bias is of the order of 1 / questions, far below its own error: within a hundredth of the share.
    assert abs(ratios.mean() / kept - 1) <= 0.01 + 3 * ratios.std() / kept / np.sqrt(RUNS)
    assert np.mean(errors) == pytest.approx(ratios.std(), rel=0.1)
    covered = float(np.mean(np.abs(ratios - kept) <= stdtrit(39, 0.95) * errors))
    assert 0.87 <= covered <= 0.93
    assert {each.questions for each in found} == {40}


def test_where_nothing_is_lost_it_is_never_said_that_something_is_gained() -> None:
    rng = np.random.default_rng(2)
    found = [drawn(1.0, rng) for _ in range(RUNS // 5)]
    assert max(each.kept for each in found) == 1
    assert np.mean([each.kept for each in found]) >= 0.95
    # An estimate that is cut off at 1 keeps the error that it has.
    assert all(each.relative_error > 0 for each in found)


BOTH = ForcedAndFree((1.0, 0.0), (1.0, 1.0))


@pytest.mark.parametrize(
    "questions",
    [
        [],
        [BOTH] * 4,
        [ForcedAndFree((), (1.0,))] * 9,
        [ForcedAndFree((1.0,), ())] * 9,
        [ForcedAndFree((1.0,), (0.0,))] * 9,
        [BOTH] * 4 + [ForcedAndFree((), (1.0,))] * 9,
    ],
    ids=["nothing", "too few", "none forced", "none free", "none right freely", "too few of both"],
)
def test_without_evidence_nothing_is_corrected(questions: list[ForcedAndFree]) -> None:
    found = forcing_of(questions)
    assert found == Forcing()
    assert found.as_free(4, 3.0) == (4.0, 3.0)


def test_where_forcing_loses_all_forced_answers_tell_nothing() -> None:
    found = forcing_of([ForcedAndFree((0.0,), (1.0,))] * 9)
    assert (found.kept, found.questions) == (0.0, 9)
    assert found.as_free(4, 0.0) == (0.0, 0.0)


def test_questions_count_alike_however_many_answers_they_have() -> None:
    one, many = [BOTH] * 5, [ForcedAndFree(BOTH.forced * 9, BOTH.free * 9)] * 5
    assert forcing_of(one).kept == forcing_of([*one, *many]).kept == 0.5


def test_forced_answers_count_as_fewer_free_ones_that_are_right_more_often() -> None:
    assert Forcing(1.0, 0.0, 20).as_free(8, 2.0) == (8.0, 2.0)
    # (2 - kept) / kept = 3
    exact = Forcing(0.5, 0.0, 20)
    assert exact.as_free(9, 3.0) == pytest.approx((3.0, 2.0))
    assert exact.as_free(9, 6.0) == pytest.approx((3.0, 3.0))
    assert exact.as_free(0, 0.0) == (0.0, 0.0)
    runs, right = Forcing(0.5, 0.25, 20).as_free(8, 2.0)
    assert runs == pytest.approx(8 / (3 + 8 * 0.25**2))
    assert right / runs == pytest.approx(0.5)
    # However many, they tell no more than the loss is known.
    assert Forcing(0.5, 0.25, 20).as_free(100_000, 0.0)[0] == pytest.approx(1 / 0.25**2, rel=1e-3)


@pytest.mark.parametrize(("kept", "error"), [(1.0, 0.0), (0.8, 0.1), (0.5, 0.0), (0.5, 0.1)])
def test_what_corrected_answers_are_worth_is_their_variance(kept: float, error: float) -> None:
    """At a share of one half: of forced answers over a loss that is itself estimated."""
    rng, runs, true, draws = np.random.default_rng(3), 12, 0.5, 20_000
    estimated = kept * (1 + error * rng.standard_normal(draws))
    shares = rng.binomial(runs, kept * true, draws) / runs / estimated
    worth, _ = Forcing(kept, error, 30).as_free(runs, 0.0)
    assert true * (1 - true) / worth == pytest.approx(shares.var(), rel=0.1)
