"""Krippendorff's alpha: the published example, another implementation's values, and what its interval covers."""

import random

import pytest

from toolablate.analysis.agreement.kappa import alpha_interval, coincidences, krippendorffs_alpha

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", sections C: four observers, twelve units.
PUBLISHED = """
1 2 3 3 2 1 4 1 2 . . .
1 2 3 3 2 2 4 1 2 5 . 3
. 3 3 3 2 3 4 2 2 5 1 .
1 2 3 3 2 4 4 1 2 5 1 .
"""


def _alpha(rows: str) -> float | None:
    columns = zip(*(line.split() for line in rows.strip().splitlines()), strict=True)
    return krippendorffs_alpha(coincidences([[[value for value in each if value != "."]] for each in columns]))


def test_it_is_the_published_value() -> None:
    assert _alpha(PUBLISHED) == pytest.approx(0.743, abs=5e-4)


# By the package krippendorff 0.9.0, `alpha(reliability_data=..., level_of_measurement="nominal")`.
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (PUBLISHED, 0.743421052631579),
        ("a b a b a c\na b b b a .\n. b a c a c", 0.6296296296296295),
        ("a a a a b\nb a b a a", -0.2857142857142856),
    ],
)
def test_it_is_what_another_implementation_says(rows: str, expected: float) -> None:
    assert _alpha(rows) == pytest.approx(expected, abs=1e-12)


def test_where_nothing_can_be_said_nothing_is() -> None:
    assert _alpha("a a a\na a a") is None, "one kind alone"
    assert _alpha("a b .\n. . b") is None, "no unit has two values"
    assert krippendorffs_alpha([]) is None
    full = coincidences([[["a", "a"]], [["b", "b"]]] * 5)
    assert krippendorffs_alpha(full) == pytest.approx(1)
    assert alpha_interval(full) is None, "they always agree"


def _drawn(rng: random.Random, units: int) -> list[list[list[str]]]:
    """Trials in clusters of two that share their truth, of which three people read some."""

    def said(truth: str) -> str:
        return truth if rng.random() < 0.7 else rng.choice("abc")

    truths = [rng.choice("aabc") for _ in range(units)]
    return [[[said(truth) for _ in range(rng.choice((1, 2, 3)))] for _ in range(2)] for truth in truths]


def test_its_interval_covers_what_it_says() -> None:
    rng = random.Random(20)
    truth = krippendorffs_alpha(coincidences(_drawn(rng, 20_000)))
    assert truth is not None
    hits = []
    for run in range(200):
        interval = alpha_interval(coincidences(_drawn(rng, 60)), seed=run, resamples=400)
        assert interval is not None
        hits.append(interval[0] <= truth <= interval[1])
    assert 0.90 <= sum(hits) / len(hits) <= 0.99
