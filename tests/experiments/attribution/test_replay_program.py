"""Which replays a trial needs, and what each is for."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pytest
from tests.analysis.attribution.cases import PAGE, REPLY, evidence, worlds
from tests.analysis.attribution.stories import (
    CONDITION,
    QUESTION,
    SPECS,
    asked,
    ended,
    gave,
    imported,
    opened,
    ran,
    said,
    searched,
    trace,
)

from toolablate.analysis.attribution.belief import BeliefFlip, Probe, trajectory
from toolablate.analysis.attribution.change_rates import ChangeRates
from toolablate.analysis.attribution.decomposition import Arms, Replay
from toolablate.analysis.attribution.evidence import decomposition_signals
from toolablate.analysis.attribution.signals.of_trace import signals_of
from toolablate.experiments.attribution.cases import Case, case_of
from toolablate.experiments.attribution.planned_replays import (
    MOST,
    SHORT_RESULT,
    at_most_undecided,
    begun,
    end_at_most,
    first_round,
    may_have_risen,
    undecided,
    without_results,
    without_results_at_most,
)
from toolablate.experiments.attribution.replay_evidence import AnswerReAsks, Outcomes, belief_of, flip_of
from toolablate.experiments.attribution.sampled_trials import ChosenTrial
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
    Resumption,
    ShownResult,
    Verdict,
)
from toolablate.traces.store import Counterfactual, TrialSummary

DESIGN = ReplayDesign(samples=5, rollouts=3)
EACH = DESIGN.model_copy(update={"each_result": True})


def case(*events: Event, budget: Budget | None = None) -> Case:
    condition = CONDITION.model_copy(update={"budget": budget or Budget()})
    told = trace(events)
    return case_of(told, condition, signals_of(told, QUESTION, condition))


def wanted_of(case: Case, design: ReplayDesign = DESIGN, *, verdict: Verdict = "wrong") -> tuple[ReplayRequest, ...]:
    """Its first round, by what its score says."""
    value = 1.0 if verdict == "correct" else 0.0
    seen = TrialSummary("q", "m", "tools", value=value, verdict=verdict, trial=case.trial)
    return first_round(ChosenTrial(seen, case, CONDITION), design)


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


def test_round_one_asks_at_both_ends_and_draws_again_under_every_choice_of_tools() -> None:
    wanted = wanted_of(replace(USED, computes_answer=True))
    # The last reply is drawn again freely, and is no early answer.
    at_the_ends = {each.purposes[0].kind: each.event for each in wanted if each.repeats == 5}
    assert at_the_ends == {"early_answer": 0, "last_reply": 6, "ignore_tools": 6}
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
    assert set(kinds(wanted)) == {"early_answer", "last_reply", "ignore_tools", "rollout"}


def test_every_step_is_asked_for_at_once_where_the_design_says_so() -> None:
    of_all = wanted_of(USED, DESIGN.model_copy(update={"steps": "all"}))
    assert [each.event for each in of_all if each.purposes[0].kind == "early_answer"] == list(range(7))
    without = [each for each in of_all if each.purposes[0].kind != "early_answer"]
    at_the_ends = ("early_answer", "last_reply")
    assert without == [each for each in wanted_of(USED) if each.purposes[0].kind not in at_the_ends]


def test_only_an_answer_that_cannot_be_read_is_asked_for_again() -> None:
    (re_asked,) = [each for each in wanted_of(USED, verdict="unparsed") if each.purposes[0].kind == "answer_re_ask"]
    assert (re_asked.event, re_asked.change, re_asked.repeats) == (7, AnswerNow(), 5)
    assert "answer_re_ask" not in kinds(wanted_of(USED, verdict="wrong"))


def test_a_right_trial_has_half_the_runs_and_is_not_told_to_ignore_its_tools() -> None:
    right = wanted_of(USED, verdict="correct")
    assert set(kinds(right)) == {"early_answer", "rollout"}
    # Its end only where its belief was low at the start.
    assert [each.event for each in right if each.purposes[0].kind == "early_answer"] == [0]
    # Half of three runs, rounded up.
    assert {each.repeats for each in right if each.purposes[0].kind == "rollout"} == {2}


def test_tools_are_ignored_only_where_code_supports_the_answer() -> None:
    """Of other code no reader asks what was answered so."""
    other = case(*ran("1", "1"), *ended("Answer: B"))
    adopted = case(*ran("print(gas)", "molecular nitrogen"), *ended("Answer: B"))
    assert (other.computes_answer, adopted.computes_answer) == (False, True)
    assert "ignore_tools" not in kinds(wanted_of(other))
    assert "ignore_tools" in kinds(wanted_of(adopted))


def test_long_results_are_swapped_for_short_ones_as_well() -> None:
    assert not USED.is_long
    long = case(*ran("1", "1"), *searched("gas", "nitrogen " * 500), *ended("Answer: B"))
    (short,) = [each for each in wanted_of(long) if each.purposes[0].kind == "short"]
    assert (short.event, short.repeats, short.purposes) == (1, 3, (ReplayPurpose(kind="short"),))
    tools = ("browser_open", "python", "web_search")
    assert short.change == Rerun(substitute="placebo", tools=tools, result_chars=SHORT_RESULT)


def test_a_trial_without_results_is_resampled_freely_and_asked_for_its_answer() -> None:
    silent = case(*ended("Answer: B"))
    # Its only step is both ends.
    wanted = [(each.purposes[0].kind, each.event, each.repeats) for each in wanted_of(silent)]
    assert wanted == [("early_answer", 0, 5), ("rollout", 0, 3)]
    assert kinds(wanted_of(silent, verdict="unparsed")) == ["early_answer", "answer_re_ask", "rollout"]
    refused = case(*ran("1", "no such thing", status="invalid"), *ended("Answer: B"))
    assert kinds(wanted_of(refused)) == ["early_answer", "early_answer", "rollout"]
    assert without_results_at_most(silent, EACH) == ()


@pytest.mark.parametrize("steps", ["search", "all"])
def test_a_trial_whose_model_never_replied_needs_nothing(steps: Literal["search", "all"]) -> None:
    unanswered = replace(USED, steps=(), results=(), last=None, ending=None)
    assert wanted_of(unanswered, DESIGN.model_copy(update={"steps": steps})) == ()
    assert at_most_undecided(unanswered, DESIGN) == ()


def test_a_budget_that_ran_out_is_doubled_here_and_in_all_rollouts() -> None:
    doubled = Budget(turns=2, tool_calls=48, tokens=1000, seconds=1200)
    changes = {each.purposes[0]: each for each in wanted_of(STOPPED)}
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
    assert "extended" not in kinds(wanted_of(cut))


def test_a_fault_that_was_not_recovered_from_is_repaired_where_it_was_and_in_all_rollouts() -> None:
    changes = {each.purposes[0]: each for each in wanted_of(FAULTY)}
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
        imported("ledgerkit"),
        searched("gas", "No results for 'gas'."),
        searched("gas", "...", status="error", error="call_limit"),
        [*searched("gas", "down", status="error", error="timeout"), *searched("gas", "nitrogen")],
    ],
)
def test_what_is_no_fault_of_a_tool_or_was_made_good_or_cannot_work_is_not_repaired(events: list[Event]) -> None:
    sound = case(*events, *ended("Answer: B"))
    assert sound.fault is None
    assert "repaired" not in kinds(wanted_of(sound))


def test_where_the_first_result_is_the_fault_one_run_serves_for_both() -> None:
    wanted = wanted_of(FIRST_FAULTY)
    assert kinds(wanted).count("repaired") == 0
    (same,) = [each for each in wanted if each.purposes[0] == ReplayPurpose(kind="rollout")]
    assert same.purposes == (ReplayPurpose(kind="rollout"), ReplayPurpose(kind="repaired"))


def test_each_result_on_request_is_the_one_at_which_the_belief_fell_and_the_worth_of_all() -> None:
    nothing = {1: "(no output)", 3: "none", 5: "empty"}
    wanted = without_results(USED, flip(3, 4), nothing, DESIGN)
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
    assert sum(each.repeats for each in wanted) <= sum(each.repeats for each in without_results_at_most(USED, EACH))
    assert without_results_at_most(USED, DESIGN) == ()


def test_a_belief_that_falls_in_a_reply_or_nobody_knows_where_has_no_result_that_turned_it() -> None:
    nothing = dict.fromkeys((1, 3, 5), "none")
    assert "pivotal" not in kinds(without_results(USED, flip(2, 3), nothing, DESIGN))
    assert "pivotal" not in kinds(without_results(USED, flip(2, 4), nothing, DESIGN))
    assert without_results(USED, None, nothing, DESIGN) == ()


def test_of_calls_of_one_turn_the_last_is_the_one_that_turned_it() -> None:
    calls = asked("python", code="1"), asked("python", code="2")
    both = case(said("", *calls), gave(calls[0], "1"), gave(calls[1], "2"), *ended("Answer: B"))
    assert both.steps == (0, 1, 3)
    assert both.turned_by(flip(1, 2)) == 2


def test_more_than_five_results_or_a_single_one_are_not_weighed() -> None:
    many = case(*(event for _ in range(6) for event in ran("1", "1")), *ended("Answer: B"))
    for each in (many, STOPPED):
        assert "shapley" not in kinds(without_results(each, flip(1, 2), {}, DESIGN))
        assert kinds(without_results_at_most(each, EACH)) == ["pivotal"]


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


# What rounds ask for, of what is stored.


SEARCHED = case(*PAGE, *REPLY)
"""A search whose result misleads: requests at 0 and 2, the result at 1."""


def stored(of: Case, purpose: ReplayPurpose, scores: Sequence[float | None]) -> list[Counterfactual]:
    """None is one that has not ended."""
    event = of.steps[purpose.step] if purpose.step is not None else of.results[0].event
    resumption = Resumption(trial=of.trial, event=event, change=AnswerNow(), purposes=(purpose,))
    return [
        Counterfactual(f"{purpose}{number}", resumption, None if score is None else "answered", score, None)
        for number, score in enumerate(scores)
    ]


class _ReAsks(AnswerReAsks):
    """All right, once they were asked for once more."""

    def __init__(self) -> None:
        pass

    def again(self, replay: Counterfactual) -> Sequence[Counterfactual]:
        return [replace(replay, value=1.0, verdict="correct", answered=("A",))]


def test_a_reply_without_a_readable_answer_tells_no_early_answer_and_a_last_reply_counts_by_its_re_ask() -> None:
    def unread(purpose: ReplayPurpose) -> list[Counterfactual]:
        return [replace(each, verdict="unparsed") for each in stored(SEARCHED, purpose, (0.0,) * 3)]

    last = ReplayPurpose(kind="last_reply")
    read = stored(SEARCHED, FIRST, (1.0, 1.0))
    outcomes = {FIRST: [*read, *unread(FIRST)], last: unread(last)}
    found, unasked = belief_of(SEARCHED, outcomes, _ReAsks()), belief_of(SEARCHED, outcomes)
    assert found is not None
    assert unasked is not None
    first, end = found.beliefs
    assert (first.samples, first.right.mean) == (5, 1.0)
    assert (end.samples, end.right.mean, end.unreadable.mean) == (3, 1.0, 0.0)
    assert flip_of(SEARCHED, outcomes, _ReAsks()) is None
    # Where nobody asked, an early answer tells nothing, and a last reply is wrong as in all counts of replays.
    first, end = unasked.beliefs
    assert (first.samples, first.right.mean) == (2, 1.0)
    assert (end.samples, end.right.mean, end.unreadable.mean) == (3, 0.0, 1.0)


AGAIN, SWAPPED = ReplayPurpose(kind="rollout"), ReplayPurpose(kind="rollout", placebos=("search",))
FIRST, LAST = (ReplayPurpose(kind="early_answer", step=step) for step in (0, 2))


def next_of(
    scores: Mapping[ReplayPurpose, Sequence[float | None]], design: ReplayDesign, *, adopted: bool = True
) -> dict[ReplayPurpose, int]:
    """How many replays of each purpose the next round wants there to be."""
    (world,) = [each for each in worlds(1.0, 0.0) if each.name == "search"]
    whole = evidence(world, np.random.default_rng(0))
    if not adopted:
        whole = replace(whole, signals=replace(whole.signals, adoption=None))
    known = {purpose: tuple(score for score in each if score is not None) for purpose, each in scores.items()}
    beliefs = trajectory(
        Probe(purpose.step, {"A": sum(map(int, each)), "B": len(each) - sum(map(int, each))}, 0, sum(map(int, each)))
        for purpose, each in known.items()
        if purpose.step is not None
    )
    rollouts = {frozenset(purpose.placebos): each for purpose, each in known.items() if purpose.kind == "rollout"}
    inputs = replace(whole.inputs, arms=Arms(none=(1.0,) * 3), replay=Replay((0.0,), (0.0,), rollouts))
    seen = TrialSummary("q", "m", "tools", value=0.0, verdict="wrong", trial=SEARCHED.trial)
    outcomes = {purpose: stored(SEARCHED, purpose, each) for purpose, each in scores.items()}
    found = undecided(
        ChosenTrial(seen, SEARCHED, CONDITION),
        replace(whole, trajectory=beliefs, flip=None, inputs=inputs),
        outcomes,
        ChangeRates(),
        design,
    )
    return {each.purposes[0]: each.repeats for each in found}


SURE = {FIRST: (1.0,) * 4, LAST: (0.0,) * 4, AGAIN: (0.0,) * 8}


def test_a_round_asks_for_one_level_and_one_step_more() -> None:
    design = ReplayDesign(samples=2, rollouts=2, precision=0.97)
    wanted = next_of({**SURE, SWAPPED: (1.0, 0.0)}, design, adopted=False)
    # The result or the reply before it: the step between the ends is not known yet.
    assert wanted == {SWAPPED: 3, ReplayPurpose(kind="early_answer", step=1): 2}
    # Of a result that has the answer nothing has to be asked.
    assert next_of({**SURE, SWAPPED: (1.0, 0.0)}, design) == {SWAPPED: 3}


@pytest.mark.parametrize(("there", "rollouts", "runs"), [(1, 1, 2), (2, 1, 3), (2, 2, 3), (2, 9, 9)])
def test_a_level_has_three_runs_at_most_or_as_many_as_are_asked_for_at_once(
    there: int, rollouts: int, runs: int
) -> None:
    mixed = [float(number % 2) for number in range(there)]
    design = ReplayDesign(samples=2, rollouts=rollouts, precision=0.999)
    assert next_of({**SURE, SWAPPED: mixed}, design)[SWAPPED] == runs


@pytest.mark.parametrize(
    ("begin", "end", "asked"),
    [
        ((0.0, 0.0), (), True),
        ((0.0, 0.0), (1.0, None), True),
        ((0.0, 0.0), (1.0, 1.0), False),
        # High from the start, or not known yet.
        ((1.0, 0.0), (), False),
        ((0.0, None), (), False),
        ((), (), False),
    ],
)
def test_a_right_trial_is_asked_at_its_end_where_its_belief_may_have_risen(
    begin: tuple[float | None, ...], end: tuple[float | None, ...], asked: bool
) -> None:
    design = ReplayDesign(samples=2, rollouts=1)
    outcomes = {FIRST: stored(SEARCHED, FIRST, begin), LAST: stored(SEARCHED, LAST, end)}
    seen = TrialSummary("q", "m", "tools", value=1.0, verdict="correct", trial=SEARCHED.trial)
    right = ChosenTrial(seen, SEARCHED, CONDITION)
    wanted = may_have_risen(right, outcomes, design)
    assert [(each.purposes[0], each.repeats) for each in wanted] == ([(LAST, 2)] if asked else [])
    assert set(wanted) <= set(end_at_most(right, design))
    assert may_have_risen(replace(right, seen=replace(seen, value=0.0)), outcomes, design) == ()


@pytest.mark.parametrize("end", [0, 1, 2])
@pytest.mark.parametrize("begin", [1, 2])
def test_a_belief_that_was_high_at_the_start_has_risen_nowhere_whatever_it_is_at_the_end(begin: int, end: int) -> None:
    """So that nothing is lost where its end is not asked about."""
    (world,) = [each for each in worlds(1.0, 0.0) if each.name == "search"]
    whole = evidence(world, np.random.default_rng(0))
    found = trajectory(Probe(step, {"A": right, "B": 2 - right}, 0, right) for step, right in ((0, begin), (2, end)))
    risen = decomposition_signals(whole.signals, SEARCHED.steps, found, None, ())
    assert risen == decomposition_signals(whole.signals, SEARCHED.steps, None, None, ())


def test_a_level_of_three_runs_has_no_more_though_some_have_no_score() -> None:
    design = ReplayDesign(samples=2, rollouts=2, precision=0.999)
    assert SWAPPED in next_of({**SURE, SWAPPED: (1.0, 0.0)}, design)
    assert SWAPPED not in next_of({**SURE, SWAPPED: (1.0, 0.0, 1.0)}, design)
    assert SWAPPED not in next_of({**SURE, SWAPPED: (1.0, 0.0, None)}, design)


def test_all_answers_of_all_rounds_are_no_more_than_was_told() -> None:
    """However wrong the model of a fall is for what is said: right now and then, before every step."""
    long = case(*(event for _ in range(24) for event in ran("1", "1")), *ended("Answer: B"))
    design = ReplayDesign(samples=3, rollouts=2, precision=0.999)
    most = at_most_undecided(long, design)[-1].repeats
    for seed in range(5):
        rng, stored_answers = np.random.default_rng(seed), dict[ReplayPurpose, list[Counterfactual]]()
        for request in wanted_of(long, design):
            if request.purposes[0].kind == "early_answer":
                scores = rng.binomial(1, 0.6, request.repeats).astype(float).tolist()
                stored_answers[request.purposes[0]] = stored(long, request.purposes[0], scores)
        first = sum(map(len, stored_answers.values()))
        while (more := step_of(long, stored_answers, design)) is not None:
            there = stored_answers.setdefault(more.purposes[0], [])
            scores = rng.binomial(1, 0.6, more.repeats - len(there)).astype(float).tolist()
            there += stored(long, more.purposes[0], scores)
            assert len(there) <= MOST
        assert sum(map(len, stored_answers.values())) - first <= most
        assert most == (2 + 6) * MOST


def step_of(of: Case, outcomes: Outcomes, design: ReplayDesign) -> ReplayRequest | None:
    (world,) = [each for each in worlds(1.0, 0.0) if each.name == "code"]
    known = replace(evidence(world, np.random.default_rng(0)), trajectory=belief_of(of, outcomes), flip=None)
    seen = TrialSummary("q", "m", "tools", value=0.0, verdict="wrong", trial=of.trial)
    wanted = undecided(ChosenTrial(seen, of, CONDITION), known, outcomes, ChangeRates(), design)
    return next((each for each in wanted if each.purposes[0].kind == "early_answer"), None)


def test_what_a_stopped_round_has_begun_is_all_that_it_asked_for() -> None:
    seen = TrialSummary("q", "m", "tools", value=0.0, verdict="wrong", trial=SEARCHED.trial)
    chosen = ChosenTrial(seen, SEARCHED, CONDITION)
    outcomes = {
        purpose: stored(SEARCHED, purpose, scores)
        for purpose, scores in {**SURE, SWAPPED: (1.0, 0.0, None, 1.0), FIRST: (1.0, None)}.items()
    }
    wanted = {each.purposes[0]: (each.event, each.repeats) for each in begun(chosen, outcomes, DESIGN)}
    assert wanted == {SWAPPED: (1, 4), FIRST: (0, 2)}
    ended_all = {purpose: each for purpose, each in outcomes.items() if purpose in (AGAIN, LAST)}
    assert begun(chosen, ended_all, DESIGN) == ()
