"""What chance gives, of whole texts: where nothing was memorised nothing is above it, however long the rests are."""

from datetime import UTC, datetime

import numpy as np
import pytest

from toolablate.experiments.contamination.overlap import Continued, exposures
from toolablate.traces.records import Continuation

RUNS = 200
QUESTIONS = 50
WORDS = np.array([f"w{number}" for number in range(300)])
# As words are in a language: the second is half as frequent as the first (Zipf).
CHANCES = 1 / np.arange(1, len(WORDS) + 1)


def written(rng: np.random.Generator, count: int) -> str:
    return " ".join(rng.choice(WORDS, count, p=CHANCES / CHANCES.sum()))


def continuation(number: int, rest: str, text: str, cluster: str = "") -> Continuation:
    return Continuation(
        model="0" * 32,
        benchmark="B",
        question=f"q{number}",
        cluster=cluster,
        given="Given that",
        rest=rest,
        max_tokens=90,
        text=text,
        finish_reason="length",
        at=datetime(2026, 1, 2, tzinfo=UTC),
    )


def continued(rng: np.random.Generator, memorised: float) -> Continued:
    found = []
    for number in range(QUESTIONS):
        rest = written(rng, int(rng.integers(8, 40)))
        found.append(continuation(number, rest, rest if rng.random() < memorised else written(rng, 60)))
    return Continued("m", "B", QUESTIONS, 0, tuple(found))


def test_of_what_was_not_memorised_nothing_is_above_chance() -> None:
    rng, values, covered = np.random.default_rng(3), [], 0
    for run in range(RUNS):
        (found,) = exposures([continued(rng, 0.0)], 0.4, seed=run // 50).exposures
        assert found.by_chance is not None
        assert found.above_chance is not None
        assert found.above_chance.ci95 is not None
        assert found.by_chance.value > 10
        values.append(found.above_chance.value)
        covered += found.above_chance.ci95[0] <= 0 <= found.above_chance.ci95[1]
    assert np.mean(values) == pytest.approx(0, abs=0.3), "a third of a point; shorter rests of others made it .9"
    assert 0.91 <= covered / RUNS <= 0.99


def test_what_was_memorised_is_above_chance_by_what_it_adds() -> None:
    rng = np.random.default_rng(4)
    found = [exposures([continued(rng, 0.3)], 0.4).exposures[0] for _ in range(40)]
    above = np.mean([each.above_chance.value for each in found if each.above_chance])
    chance = np.mean([each.by_chance.value for each in found if each.by_chance])
    assert above == pytest.approx(0.3 * (100 - chance), abs=1.5)


def test_a_stranger_is_never_of_the_own_cluster_nor_shorter_than_it_need_be() -> None:
    """Continuations are the rests of their own clusters, which chance must not meet."""
    letters = "abcdefghijklmn"
    rests = [" ".join(f"{name}{each}" for each in letters[: 4 + 5 * n]) for name in "xyz" for n in range(3)]
    own = tuple(
        continuation(number, rest, " ".join(rests[number // 3 * 3 : number // 3 * 3 + 3]), cluster=rest[0])
        for number, rest in enumerate(rests)
    )
    for seed in range(20):
        (found,) = exposures([Continued("m", "B", 9, 0, own)], 0.4, seed=seed).exposures
        assert all(each.chance is not None and each.chance.rouge_l == 0 for each in found.of_questions)
        assert all(each.chance is not None and each.chance.tokens == each.own.tokens for each in found.of_questions)
