"""Which replays a trial needs, and what each is for."""

from dataclasses import replace

import pytest
from tests.analysis.attribution.stories import (
    CONDITION,
    QUESTION,
    SPECS,
    asked,
    ended,
    gave,
    opened,
    ran,
    said,
    searched,
    trace,
)

from toolablate.analysis.attribution.belief import BeliefFlip
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.experiments.attribution.cases import Case, case_of
from toolablate.experiments.attribution.planned_replays import (
    all_early_answers,
    first_round,
    second_round,
    second_round_at_most,
)
from toolablate.experiments.replay.requests import ReplayRequest
from toolablate.traces.records import (
    Again,
    AnswerNow,
    Budget,
    Event,
    IgnoreTools,
    ReplayDesign,
    ReplayPurpose,
    Rerun,
    ShownResult,
)

DESIGN = ReplayDesign(samples=5, rollouts=3)


def case(*events: Event, budget: Budget | None = None) -> Case:
    condition = CONDITION.model_copy(update={"budget": budget or Budget()})
    told = trace(events)
    return case_of(told, condition, signals_of(told, QUESTION, condition))


def kinds(wanted: tuple[ReplayRequest, ...]) -> list[str]:
    return [each.purposes[0].kind for each in wanted]


def flip(after: int, step: int) -> BeliefFlip:
    return BeliefFlip(after=after, step=step, before=1.0, level=0.0, confidence=1.0)


USED = case(*ran("1", "1"), *searched("gas", "nitrogen"), *opened("u", "nitrogen is"), *ended("Answer: B"))
"""Requests at 0, 2, 4, 6 and results at 1, 3, 5; the answer is 7."""

STOPPED = case(*ran("1", "1"), *ended("Answer: B", "turns"), budget=Budget(turns=1, tokens=500))
FAULTY = case(
    *ran("1", "1"), *searched("gas", "down", status="error", error="timeout"), *ran("2", "2"), *ended("Answer: B")
)
FIRST_FAULTY = case(*searched("gas", "down", status="error", error="timeout"), *ended("Answer: B"))


def test_round_one_asks_after_every_step_and_once_more_and_draws_again_under_every_choice_of_tools() -> None:
    wanted = (*all_early_answers(USED, DESIGN), *first_round(USED, DESIGN))
    assert [each.event for each in wanted if each.purposes[0].kind == "early_answer"] == list(range(7))
    assert {
        each.repeats for each in wanted if each.purposes[0].kind in ("early_answer", "answer_re_ask", "ignore_tools")
    } == {5}
    (re_asked,) = [each for each in wanted if each.purposes[0].kind == "answer_re_ask"]
    assert (re_asked.event, re_asked.change) == (7, AnswerNow())
    (aside,) = [each for each in wanted if each.purposes[0].kind == "ignore_tools"]
    assert (aside.event, aside.change) == (6, IgnoreTools())
    rollouts = {frozenset(each.purposes[0].placebos): each for each in wanted if each.purposes[0].kind == "rollout"}
    assert {(each.event, each.repeats) for each in rollouts.values()} == {(1, 3)}
    assert {subset: each.change for subset, each in rollouts.items()} == {
        frozenset(): Rerun(),
        frozenset({"code"}): Rerun(substitute="placebo", tools=("python",)),
        frozenset({"search"}): Rerun(substitute="placebo", tools=("browser_open", "web_search")),
        frozenset({"code", "search"}): Rerun(substitute="placebo", tools=("browser_open", "python", "web_search")),
    }
    assert set(kinds(wanted)) == {"early_answer", "answer_re_ask", "ignore_tools", "rollout"}


def test_a_trial_without_results_is_only_asked_for_its_answer() -> None:
    silent = case(*ended("Answer: B"))
    wanted = (*all_early_answers(silent, DESIGN), *first_round(silent, DESIGN))
    assert [(each.purposes[0].kind, each.event) for each in wanted] == [("early_answer", 0), ("answer_re_ask", 1)]
    refused = case(*ran("1", "no such thing", status="invalid"), *ended("Answer: B"))
    assert kinds(first_round(refused, DESIGN)) == ["answer_re_ask"]
    assert second_round_at_most(silent, DESIGN) == ()


def test_a_trial_whose_model_never_replied_needs_nothing() -> None:
    unanswered = replace(USED, steps=(), results=(), last=None, ending=None)
    assert all_early_answers(unanswered, DESIGN) == first_round(unanswered, DESIGN) == ()


def test_a_budget_that_ran_out_is_doubled_here_and_in_all_rollouts() -> None:
    doubled = Budget(turns=2, tool_calls=48, tokens=1000, seconds=1200)
    changes = {each.purposes[0]: each for each in first_round(STOPPED, DESIGN)}
    extended = changes[ReplayPurpose(kind="extended")]
    assert (extended.event, extended.change, extended.repeats) == (2, Rerun(budget=doubled), 3)
    assert changes[ReplayPurpose(kind="rollout")].change == Rerun(budget=doubled)
    assert changes[ReplayPurpose(kind="rollout", placebos=("code",))].change == Rerun(
        substitute="placebo", tools=("python",), budget=doubled
    )


@pytest.mark.parametrize("limit", ["reply_length", "context_length"])
def test_what_no_budget_can_mend_is_not_extended(limit: str) -> None:
    cut = case(*ran("1", "1"), *ended("Answer: B", limit))  # type: ignore[arg-type]
    assert cut.budget is None
    assert "extended" not in kinds(first_round(cut, DESIGN))


def test_a_fault_that_was_not_recovered_from_is_repaired_where_it_was_and_in_all_rollouts() -> None:
    changes = {each.purposes[0]: each for each in first_round(FAULTY, DESIGN)}
    assert (changes[ReplayPurpose(kind="repaired")].event, changes[ReplayPurpose(kind="repaired")].change) == (
        3,
        Rerun(sound=True),
    )
    assert changes[ReplayPurpose(kind="rollout")].change == Rerun(sound=True)
    assert changes[ReplayPurpose(kind="rollout")].event == 1


@pytest.mark.parametrize(
    "events",
    [
        ran("1/0", "ZeroDivisionError", status="error", error="exception"),
        searched("gas", "No results for 'gas'."),
        searched("gas", "...", status="error", error="call_limit"),
        [*searched("gas", "down", status="error", error="timeout"), *searched("gas", "nitrogen")],
    ],
)
def test_what_is_no_fault_of_a_tool_or_was_made_good_is_not_repaired(events: list[Event]) -> None:
    sound = case(*events, *ended("Answer: B"))
    assert sound.fault is None
    assert "repaired" not in kinds(first_round(sound, DESIGN))


def test_where_the_first_result_is_the_fault_one_run_serves_for_both() -> None:
    wanted = first_round(FIRST_FAULTY, DESIGN)
    assert kinds(wanted).count("repaired") == 0
    (same,) = [each for each in wanted if each.purposes[0] == ReplayPurpose(kind="rollout")]
    assert same.purposes == (ReplayPurpose(kind="rollout"), ReplayPurpose(kind="repaired"))


def test_round_two_looks_at_the_result_at_which_the_belief_fell_and_at_the_worth_of_all() -> None:
    nothing = {1: "(no output)", 3: "none", 5: "empty"}
    wanted = second_round(USED, flip(3, 4), nothing, DESIGN)
    pivotal = {each.purposes[0].kept: each for each in wanted if each.purposes[0].kind == "pivotal"}
    assert {kept: (each.event, each.change) for kept, each in pivotal.items()} == {
        True: (3, Again()),
        False: (3, "null"),
    }
    shapley = {each.purposes[0].real: each for each in wanted if each.purposes[0].kind == "shapley"}
    assert len(shapley) == 8
    assert {each.event for each in shapley.values()} == {6}
    assert shapley[0, 1, 2].change == Rerun()
    assert shapley[(1,)].change == Rerun(
        shown=(ShownResult(event=1, text="(no output)"), ShownResult(event=5, text="empty"))
    )
    assert {each.repeats for each in wanted} == {3}
    assert sum(each.repeats for each in wanted) <= sum(each.repeats for each in second_round_at_most(USED, DESIGN))


def test_a_belief_that_falls_in_a_reply_or_nobody_knows_where_has_no_result_that_turned_it() -> None:
    nothing = dict.fromkeys((1, 3, 5), "none")
    assert "pivotal" not in kinds(second_round(USED, flip(2, 3), nothing, DESIGN))
    assert "pivotal" not in kinds(second_round(USED, flip(2, 4), nothing, DESIGN))
    assert second_round(USED, None, nothing, DESIGN) == ()


def test_of_calls_of_one_turn_the_last_is_the_one_that_turned_it() -> None:
    calls = asked("python", code="1"), asked("python", code="2")
    both = case(said("", *calls), gave(calls[0], "1"), gave(calls[1], "2"), *ended("Answer: B"))
    assert both.steps == (0, 1, 3)
    assert both.turned_by(flip(1, 2)) == 2


def test_more_than_five_results_or_a_single_one_are_not_weighed() -> None:
    many = case(*(event for _ in range(6) for event in ran("1", "1")), *ended("Answer: B"))
    for each in (many, STOPPED):
        assert "shapley" not in kinds(second_round(each, flip(1, 2), {}, DESIGN))
        assert kinds(second_round_at_most(each, DESIGN)) == ["pivotal"]


def test_tools_are_of_the_kind_of_their_calls_and_uncalled_ones_of_what_they_are_made_of() -> None:
    own = SPECS[0].model_copy(update={"name": "lookup"})
    call = asked("lookup", query="gas")
    with_own = case(said("", call, specs=(*SPECS, own)), gave(call, "nitrogen"), *ended("Answer: B"))
    assert with_own.kinds == {
        "python": "code",
        "web_search": "search",
        "browser_open": "search",
        "lookup": "search",
    }
    assert with_own.used == {"search"}
