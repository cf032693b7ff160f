"""Intervals hold the truth as often as they say, by simulation of statements that a model knows or does not."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from tests.benchmarks.encyclo_k.made_replies import question, reply
from tests.benchmarks.encyclo_k.synthetic import subfield

from toolablate.analysis.effect import accuracy
from toolablate.analysis.pairing import Unit, unit
from toolablate.benchmarks.encyclo_k.analyses import (
    Arm,
    Reply,
    accuracy_test,
    joined,
    reply_length,
    singles_and_composed,
)
from toolablate.benchmarks.encyclo_k.composing import compose
from toolablate.traces.records import Question

RUNS = 150
Interval = tuple[float, float] | None
SUBFIELDS = [
    each for number in range(30) for each in subfield(f"Optics {number}", "Science", "en", 20 + number % 7, 20)
]
KNOWN = 0.93


@pytest.fixture(scope="module")
def sets() -> list[Question]:
    """Of three seeds, so that each statement stands in about three questions."""
    return [each for seed in range(3) for each in compose(SUBFIELDS, seed, 120)]


def known(seed: int) -> dict[str, bool]:
    draws = random.Random(seed)
    return {each.id: draws.random() < KNOWN for each in SUBFIELDS}


def scores(asked: Sequence[Question], seed: int) -> list[float]:
    """Of a model that is right where it knows all statements."""
    knows = known(seed)
    return [float(all(knows[str(one)] for one in each.metadata["statements"])) for each in asked]  # type: ignore[union-attr]


def knowing(asked: Sequence[Question], seed: int) -> Arm:
    """The same with each statement judged by itself, too."""
    knows = known(seed)
    of_asked = {str(one) for each in asked for one in each.metadata["statements"]}  # type: ignore[union-attr]
    return Arm(
        "m",
        "none",
        _composed(asked, seed),
        tuple(
            reply(question(n, statement=each).model_copy(update={"id": each}), "A" if knows[each] else "B")
            for n, each in enumerate(sorted(of_asked))
        ),
    )


def _composed(asked: Sequence[Question], seed: int) -> tuple[Reply, ...]:
    return tuple(_answered(each, score == 1) for each, score in zip(asked, scores(asked, seed), strict=True))


def _answered(asked: Question, right: bool) -> Reply:
    assert asked.target.kind == "choice"
    letter = asked.target.letters[0]
    return reply(asked, letter if right else "B" if letter == "A" else "A")


def held(truth: float, interval: Callable[[int], Interval]) -> float:
    found = [interval(seed) for seed in range(RUNS)]
    assert None not in found
    return sum(bounds[0] <= truth <= bounds[1] for bounds in found if bounds) / RUNS


def percent(asked: Sequence[Question], units: Sequence[Unit], seed: int) -> Interval:
    return accuracy(scores(asked, seed), units, seed=seed).ci95


def truth_of(asked: Sequence[Question]) -> float:
    return 100 * sum(KNOWN ** len(each.metadata["statements"]) for each in asked) / len(asked)  # type: ignore[arg-type]


def test_one_set_is_covered_by_its_own_clusters(sets: list[Question]) -> None:
    asked = [each for each in sets if each.metadata["seed"] == 0]
    arm = knowing(asked, 0)
    units = [unit(each.seen) for each in arm.composed]
    assert _partition(units) == _partition([unit(each.seen) for each in joined(arm).composed])
    assert 0.91 <= held(truth_of(asked), lambda seed: percent(asked, units, seed)) <= 0.99


@pytest.mark.deep
def test_sets_of_several_seeds_are_covered_where_those_that_share_statements_are_joined(sets: list[Question]) -> None:
    arm, truth = knowing(sets, 0), truth_of(sets)
    apart, together = ([unit(each.seen) for each in found.composed] for found in (arm, joined(arm)))
    assert len(set(together)) == 30
    assert 0.91 <= held(truth, lambda seed: percent(sets, together, seed)) <= 0.99
    assert held(truth, lambda seed: percent(sets, apart, seed)) < 0.89, "which is why they are"


def test_shared_statements_accuse_no_place(sets: list[Question]) -> None:
    """Places are drawn anew for each question, so that the tests may take questions as independent."""
    p_values = [accuracy_test(_composed(sets, seed)).p_value for seed in range(RUNS)]
    assert None not in p_values
    assert 0.01 <= sum(p < 0.05 for p in p_values if p is not None) / RUNS <= 0.1


def _partition(units: Sequence[Unit]) -> list[int]:
    return [units.index(each) for each in units]


@pytest.mark.deep
def test_statements_beside_questions_are_covered(sets: list[Question]) -> None:
    asked = [each for each in sets if each.metadata["seed"] == 0]

    def of_questions(seed: int) -> Interval:
        return singles_and_composed([knowing(asked, seed)])[0].questions.ci95

    assert 0.91 <= held(100 * KNOWN, of_questions) <= 0.99


@pytest.mark.deep
def test_lengths_are_covered_though_they_are_skewed() -> None:
    asked = [question(n).model_copy(update={"cluster": f"c{n // 3}"}) for n in range(240)]

    def tokens(seed: int) -> Interval:
        draws = random.Random(seed)
        shared = [draws.gauss(0, 0.4) for _ in range(80)]
        replies = (
            reply(each, "A", tokens=round(1000 * 2.718281828 ** (shared[n // 3] + draws.gauss(0, 0.6))))
            for n, each in enumerate(asked)
        )
        return reply_length(Arm("m", "none", tuple(replies), ()), seed=seed).right.ci95

    mean = 1000 * 2.718281828 ** ((0.4**2 + 0.6**2) / 2)
    assert 0.91 <= held(mean, tokens) <= 0.99


def test_lengths_of_unequal_clusters_are_marked() -> None:
    asked = [question(n).model_copy(update={"cluster": "c" if n < 160 else ""}) for n in range(200)]
    replies = tuple(reply(each, "A", tokens=10 + n % 7) for n, each in enumerate(asked))
    alone = tuple(replace(each, seen=replace(each.seen, cluster="")) for each in replies)
    assert reply_length(Arm("m", "none", replies, ())).right.small
    assert not reply_length(Arm("m", "none", alone, ())).right.small
