"""Bisections over what is stored, of beliefs that are known."""

import random
from collections.abc import Callable

import pytest
from tests.analysis.attribution.stories import CONDITION, QUESTION, ended, ran, trace

from toolablate.analysis.attribution.bisection import search_cost
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.experiments.attribution.cases import Case, case_of
from toolablate.experiments.attribution.planned_replays import (
    bisects,
    most_early_answers,
    plan_of,
    searched,
)
from toolablate.experiments.attribution.replay_evidence import Outcomes, flip_of
from toolablate.traces.records import AnswerNow, ReplayDesign, ReplayPurpose, Resumption
from toolablate.traces.store import Counterfactual

DESIGN = ReplayDesign(samples=8, steps="bisect")


def case(cells: int) -> Case:
    told = trace([event for number in range(cells) for event in ran(str(number), str(number))] + ended("Answer: B"))
    return case_of(told, CONDITION, signals_of(told, QUESTION, CONDITION))


def answered(of: Case, step: int, *, right: bool) -> Counterfactual:
    resumption = Resumption(trial=of.trial, event=of.steps[step], change=AnswerNow())
    return Counterfactual(
        "t", resumption, "answered", float(right), "correct" if right else "wrong", ("A" if right else "B",)
    )


def searching(of: Case, right: Callable[[int], bool]) -> tuple[Outcomes, list[int]]:
    """What is stored at the end, and how many samples each round asked for."""
    stored: dict[ReplayPurpose, list[Counterfactual]] = {}
    rounds = []
    while (wants := searched(of, stored, DESIGN)) is not None:
        step = wants.purposes[0].step
        assert step is not None
        held = stored.setdefault(wants.purposes[0], [])
        rounds.append(wants.repeats - len(held))
        held += [answered(of, step, right=right(step)) for _ in range(wants.repeats - len(held))]
    return stored, rounds


@pytest.mark.parametrize("fall", [1, 7, 10, 24])
def test_it_finds_the_fall_that_probing_every_step_finds_with_fewer_probes(fall: int) -> None:
    of = case(12)
    found, rounds = searching(of, lambda step: step < fall)
    every = {
        ReplayPurpose(kind="early_answer", step=step): [answered(of, step, right=step < fall)] * DESIGN.samples
        for step in range(len(of.steps))
    }
    by_search, by_all = flip_of(found), flip_of(every)
    assert by_search is not None
    assert by_all is not None
    assert (by_search.after, by_search.step) == (by_all.after, by_all.step) == (fall - 1, fall)
    assert len(found) < len(of.steps) == 25
    assert sum(rounds) <= search_cost(plan_of(of, DESIGN)).samples_at_most


def test_of_noisy_beliefs_it_finds_the_fall_in_most_searches() -> None:
    of, hits = case(10), 0
    for seed in range(40):
        rng = random.Random(seed)
        found, _ = searching(of, lambda step, rng=rng: rng.random() < (0.9 if step < 13 else 0.1))  # type: ignore[misc]
        flip = flip_of(found)
        hits += flip is not None and (flip.after, flip.step) == (12, 13)
    assert hits >= 34


def test_a_belief_that_stays_what_it_is_costs_two_steps() -> None:
    found, _ = searching(case(12), lambda _: True)
    assert {purpose.step for purpose in found} == {0, 24}


def test_what_lacks_is_asked_for_again_and_nothing_else_is() -> None:
    of = case(3)
    stored, _ = searching(of, lambda step: step < 3)
    assert searched(of, stored, DESIGN) is None
    last = ReplayPurpose(kind="early_answer", step=6)
    lost = {**stored, last: stored[last][:-1]}
    wants = searched(of, lost, DESIGN)
    assert wants is not None
    assert wants.purposes[0] == last


def test_it_is_not_asked_for_where_asking_after_every_step_is_cheaper() -> None:
    assert [bisects(case(cells), DESIGN) for cells in (0, 2, 12, 24)] == [False, False, False, True]
    assert not bisects(case(24), DESIGN.model_copy(update={"steps": "all"}))
    assert most_early_answers(case(2), DESIGN) == ()
    (most,) = most_early_answers(case(24), DESIGN)
    assert most.repeats > 49 * 8
