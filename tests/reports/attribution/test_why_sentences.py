"""What a page says of one trial beside its counts: the store, one change alone, code whole, answers from before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.analysis.attribution.stories import QUESTION, ended, ran, read, searched, wrong
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import (
    IDENTITY,
    attribution,
    believed,
    evidence,
    explained,
    explanation,
    inputs,
    page,
)

from toolablate.analysis.attribution.belief import BeliefFlip, belief_steps
from toolablate.analysis.attribution.change_rates import PRIOR_TRIALS, ChangeRates, FittedRate, Step, prior_rate
from toolablate.analysis.attribution.decomposition import Replay
from toolablate.analysis.attribution.evidence import Explained, Explanation
from toolablate.analysis.attribution.levels import swapped_results
from toolablate.reports.answer_source import _first_result
from toolablate.reports.causes import one_change
from toolablate.reports.changed_runs import BEFORE, EARLY, Row, asked_before
from toolablate.reports.happened import happened
from toolablate.reports.plain_why import WEIGHED, in_short, why_parts
from toolablate.reports.run_groups import run_groups
from toolablate.reports.terminal.explanation import explanation_view
from toolablate.reports.weighing import ALONE
from toolablate.traces.records import Event, Limit, Mechanism

AT_THE_FALL = ("search", "at_the_fall")
FELL = BeliefFlip(after=0, step=1, before=1.0, level=0.2, confidence=1.0)


def part(told: Explanation, title: str) -> str:
    lines = (line for each in why_parts(told) if each.title == title for line in each.lines)
    return " ".join(getattr(line, "text", str(line)) for line in lines)


def weighed(told: Explanation) -> Sequence[tuple[str, ...]]:
    return next(each.table for each in why_parts(told) if each.title == WEIGHED)


def of_search(score_right: int, score_of: int) -> Replay:
    right = (1.0,) * score_right + (0.0,) * (score_of - score_right)
    return Replay(rollouts={frozenset(): (0.0,) * 4, frozenset({"search"}): right}, last_reply=(0.0,) * 4)


def told_by(events: Sequence[Event], **more: Any) -> Explanation:
    """Of a trial with these events."""
    known = {key: more.pop(key) for key in ("mechanism", "distraction", "shares", "confidence") if key in more}
    found = evidence(tuple(events), **({"steps": tuple(belief_steps(tuple(events)))} | more))
    return explanation(explained(found, **({"distraction": None} | known)), conversation=tuple(events))


# The prior: how common causes are in the store.


def test_from_the_runs_to_the_probability_each_cause_has_its_own_number_of_the_store() -> None:
    rate = (PRIOR_TRIALS * 0.5 + 9) / (PRIOR_TRIALS + 21)
    rates = ChangeRates(store={AT_THE_FALL: FittedRate(AT_THE_FALL, 0.5, rate, 21, 21)})
    shares: dict[Mechanism, float] = {"retrieval_distraction": 0.6, "sampling_noise": 0.3, "calling": 0.1}
    found = explained(evidence(pivotal=None), shares=shares)
    heads, *rows = weighed(explanation(found, rates=rates))
    assert heads == ("Cause", "Right runs of this trial", ALONE, "Wrong trials of this store", "Probability")
    assert rows[0][3:] == (
        "9 of the 21 whose belief falls at it, if anywhere, came right without it, less than the .50 assumed",
        ".60",
    )
    assert [row[3] for row in rows[1:]] == ["", "", ""]
    assert "from other trials of this store." in part(explanation(found, rates=rates), "Verdict")
    assert "store" not in part(explanation(found), "Verdict")


def test_what_the_store_moves_of_all_others_is_named() -> None:
    steps = {AT_THE_FALL: 0.5, ("calling", "elsewhere"): 0.001}
    rates = ChangeRates(store={step: FittedRate(step, prior_rate(step), rate, 9, 9) for step, rate in steps.items()})
    shares: dict[Mechanism, float] = {"retrieval_distraction": 0.99, "calling": 0.01}
    rest = weighed(explanation(explained(evidence(pivotal=None), shares=shares), rates=rates))[-1]
    assert rest[0] == "all others"
    assert rest[3] == "" or rest[3].startswith("calling: 0 of the 9  without it")


def test_of_a_cause_with_several_levels_the_assumed_rate_is_that_of_a_trial() -> None:
    seen = FittedRate(("calling", "elsewhere"), 0.03, 0.1, 18, 6)
    rates = ChangeRates(store={seen.step: seen})
    shares: dict[Mechanism, float] = {"calling": 0.7, "retrieval_distraction": 0.3}
    (row, *_) = weighed(explanation(explained(mechanism="calling", distraction=None, shares=shares), rates=rates))[1:]
    assert row[3].endswith("more than the .09 assumed")


@pytest.mark.parametrize(("share", "said"), [(0.9, ""), (0.7, ", less than the .50 assumed")])
def test_what_was_assumed_is_told_only_where_the_store_moves_the_cause_that_way(share: float, said: str) -> None:
    rates = ChangeRates(store={AT_THE_FALL: FittedRate(AT_THE_FALL, 0.5, 0.2, 12, 12)})
    shares: dict[Mechanism, float] = {"retrieval_distraction": share, "sampling_noise": 1 - share}
    told = explanation(explained(evidence(pivotal=None), shares=shares), rates=rates)
    (row, *_) = weighed(told)[1:]
    assert row[3].endswith(f"came right without it{said}")
    assert "Where one moves, others give way." in part(told, WEIGHED)
    assert contradictions(told) == []


def test_what_its_own_runs_favour_is_told_where_it_is_not_the_likeliest() -> None:
    shares: dict[Mechanism, float] = {"calling": 0.7, "retrieval_distraction": 0.3}
    found = explained(mechanism="calling", distraction=None, shares=shares)
    assert "This trial's own runs favour retrieval distraction (.80 to .00)." in part(explanation(found), "Verdict")
    rates = ChangeRates(store={AT_THE_FALL: FittedRate(AT_THE_FALL, 0.5, 0.1, 21, 21)})
    assert "(.80 to .00); other trials of this store turn it." in part(explanation(found, rates=rates), "Verdict")


@pytest.mark.parametrize(("rate", "changed"), [(0.5, 10.0), (0.02, 0.0), (0.98, 20.0)])
def test_trials_in_which_a_step_changed_anything_are_what_the_prior_did_not_add(rate: float, changed: float) -> None:
    assert FittedRate(AT_THE_FALL, 0.5, rate, 20, 20).changed == pytest.approx(changed)


def test_answers_for_the_form_are_a_part_of_those_that_are_counted() -> None:
    events = (*searched("gas", "nothing"), *ended("It is the gas."))
    unread = wrong("unparsed").model_copy(update={"trial": read(*events).trial})
    found = evidence(events, score=unread, steps=tuple(belief_steps(events)), re_asked=(1.0,) * 2)
    shares: dict[Mechanism, float] = {"format": 0.8, "sampling_noise": 0.2}
    told = explanation(
        Explained(found, attribution(mechanism="format", distraction=None, shares=shares)), conversation=events
    )
    assert "answers counted below (2 of them asked once more for its form)" in part(told, "Verdict")
    assert contradictions(told) == []


# One change alone comes first.


def test_the_runs_that_differ_in_one_thing_come_first_and_are_said_not_to_show_it_where_they_do_not() -> None:
    for right, said in ((4, "."), (0, ". No single kind")):
        told = explanation(explained(evidence(pivotal=None, inputs=inputs(replay=of_search(right, 4)))))
        known = part(told, "How we know")
        assert known.startswith(
            f"The clearest comparison, in which this alone differs: without it {right} of 4 right"
            f" ({swapped_results(['search'])}), with it 0 of 8 right"
        ) or said.startswith(". No")
        assert known.index("comparison") < known.index("this cause")


def test_runs_that_were_repaired_too_are_set_beside_others_that_were() -> None:
    events = (
        *searched("gas", "x"),
        *searched("gas", "", status="error", error="injected_failure"),
        *ended("Answer: B"),
    )
    spent = Replay(repaired=(0.0,), rollouts={frozenset({"search"}): (1.0,)}, last_reply=(0.0,) * 3)
    found = evidence(events, pivotal=None, inputs=inputs(replay=spent), steps=tuple(belief_steps(events)))
    pair = one_change("retrieval_distraction", found)
    assert pair is not None
    assert [row.changed.endswith("with tools that work") for row in pair] == [True, True]


# Early answers from before the event that is blamed.


def test_answers_from_before_an_event_do_not_speak_against_it() -> None:
    assert asked_before(Row(f"{EARLY} 2", 2, 0), 3)
    assert not asked_before(Row(f"{EARLY} 3", 2, 0), 3)
    assert asked_before(Row(BEFORE, 2, 0), 3)
    assert not asked_before(Row(BEFORE, 2, 0), None)
    assert not asked_before(Row("without tools", 2, 0), 3)


def test_a_trial_that_was_wrong_before_the_event_is_said_to_have_been() -> None:
    events = (*searched("gas", "nothing"), *searched("gas", "molecular nitrogen"), *ended("Answer: B"))
    told = told_by(events, trajectory=believed((8, 0, 0)), flip=None)
    against = part(told, "What speaks against it")
    assert "mostly wrong before event" in against or "turn wrong at no clear place" in against
    assert f"{EARLY} 1: 0 of 8" not in against


# Two causes on the same rows, and rows of exactly half.


def test_causes_that_the_same_runs_take_away_are_said_to_rest_on_them() -> None:
    found = explained(
        evidence(tuple(ended("Answer: B")), trajectory=None, flip=None, steps=(0,)),
        mechanism="availability",
        distraction=None,
        shares={"availability": 0.6, "prompt": 0.4},
    )
    bare = replace(found, evidence=replace(found.evidence, inputs=replace(found.evidence.inputs, tools=frozenset())))
    told = explanation(bare, conversation=tuple(ended("Answer: B")))
    against = part(told, "What speaks against it")
    assert "“availability” and “prompt” rest on the same rows" in against


def test_rows_of_exactly_half_are_called_that_and_fit_neither_way() -> None:
    half = Replay(rollouts={frozenset(): (1.0, 0.0), frozenset({"search"}): (1.0, 0.0)})
    told = explanation(
        explained(
            evidence(pivotal=None, trajectory=None, flip=None, inputs=inputs(replay=half)),
            mechanism="own_error",
            distraction=None,
        )
    )
    against = part(told, "What speaks against it")
    fits_not, _, rest = against.partition("Rows that are half right and fit neither way: ")
    neither = rest.partition(". ")[0]
    assert neither.count("1 of 2 right") == 2
    assert "1 of 2 right" not in fits_not


# What is quoted, and what a reply names that no scorer reads.


def test_the_code_and_a_short_result_stand_whole() -> None:
    code = "def f(n):\n    return n * 2\n\nprint(sum(map(f, range(3))))"
    events = (*ran(code, "all of it:\nsix"), *ended("Answer: B"))
    known = part(told_by(events, mechanism="lock_in", trajectory=None, flip=None), "How we know")
    assert (
        "event 0, calls python:\n│ def f(n):\n│     return n * 2\n│\n│ print(sum(map(f, range(3))))".replace(
            "│\n", "│ \n"
        )
        in known
    )
    assert "event 1, python gives:\n│ all of it:\n│ six" in known


@pytest.mark.parametrize(
    ("reply", "named"),
    [
        ("It is molecular nitrogen, I think.", "and names “B, molecular nitrogen”, which is wrong"),
        ("It is carbon dioxide, I think.", "and names “A, carbon dioxide”, which is right"),
        ("Carbon dioxide or molecular nitrogen.", ""),
        ("Who knows.", ""),
    ],
)
def test_a_reply_that_no_scorer_reads_is_told_with_the_option_that_it_names(reply: str, named: str) -> None:
    events = tuple(ended(reply))
    unread = wrong("unparsed").model_copy(update={"trial": IDENTITY})
    found = evidence(events, score=unread, trajectory=None, flip=None, steps=(0,))
    shares: dict[Mechanism, float] = {"format": 1.0}
    told = explanation(
        Explained(found, attribution(mechanism="format", distraction=None, shares=shares, confidence=1.0)),
        conversation=events,
    )
    verdict, against = part(told, "Verdict"), part(told, "What speaks against it")
    assert (f"has no readable answer, {named}." in verdict) if named else "and names" not in verdict
    assert ("which would be wrong in any form" in against) == named.endswith("wrong")


def test_a_question_with_options_has_its_rate_of_guessing() -> None:
    said = "A guess among its 3 options is right 1 time in 3."
    assert said in part(explanation(), "How we know")
    open_question = QUESTION.model_copy(update={"choices": ()})
    assert "A guess" not in part(explanation(question=open_question), "How we know")


def test_answers_before_any_call_have_the_tools_there_where_their_offer_is_blamed() -> None:
    told = explanation(explained(mechanism="availability", distraction=None))
    rows = [name for group in run_groups(told) for name, _ in group.rows if name.startswith(BEFORE)]
    assert rows == [f"{BEFORE}, with its tools and prompt there"]
    assert "with its tools and prompt there" in " ".join(page(explanation_view(told)).split())


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (
            "turns",
            "python failed (events 1 and 5; at event 3 by an error of its code), and a limit left it no further call",
        ),
        (None, "python failed (events 1 and 5; at event 3 by an error of its code), and was not called after that"),
    ],
)
def test_calls_that_failed_otherwise_are_told_beside_a_tool_that_failed(limit: Limit | None, said: str) -> None:
    broken = ran("f(1)", "", status="error", error="injected_failure")
    own = ran("1 + 'a'", "", status="error", error="TypeError")
    events = [*broken, *own, *broken, *ended("Answer: B", limit)]
    assert happened("tool_fault", told_by(events)).clause == said


def test_what_a_search_found_is_not_named_of_what_is_left_where_each_search_failed() -> None:
    shares: dict[Mechanism, float] = {"sampling_noise": 0.826, "lock_in": 0.1279, "retrieval_distraction": 0.0461}
    named = "the likeliest of them is retrieval distraction"
    found = told_by([*searched("gas", "Plants take nitrogen"), *ended("Answer: B")], shares=shares)
    # No more than is left, whatever it rounds to.
    assert "All others together: .04; " + named in part(found, "What speaks against it")
    assert "to a wrong answer), .04." in part(found, "What speaks against it")
    failed = searched("gas", "", status="error", error="injected_failure")
    assert named not in part(told_by([*failed, *ended("Answer: B")], shares=shares), "What speaks against it")


def test_a_row_that_is_told_for_a_cause_is_not_told_against_it_too() -> None:
    row = swapped_results(["search"])
    told = explanation(explained(evidence(pivotal=None, inputs=inputs(replay=of_search(1, 4)))))
    assert f"without it 1 of 4 right ({row})" in part(told, "How we know")
    assert "though without it most are wrong too." in part(told, "How we know")
    assert row not in part(told, "What speaks against it")
    assert contradictions(told) == []


def test_in_short_a_cause_that_is_less_likely_than_not_is_told_as_such() -> None:
    shares: dict[Mechanism, float] = {"retrieval_distraction": 0.48, "sampling_noise": 0.3, "lock_in": 0.22}
    said = in_short(explanation(explained(shares=shares)))
    assert said == "No cause is more likely than not; the likeliest is retrieval distraction: probability .48."


@pytest.mark.parametrize(("rights", "said"), [((8, 0, 0, 0), "wrong"), ((8, 4, 2, 0), "right less often")])
def test_it_is_wrong_from_a_result_on_where_all_that_was_asked_later_is_mostly_wrong(
    rights: tuple[int, ...], said: str
) -> None:
    events = [*searched("gas", "1. Plants"), *searched("gas", "2. Plants"), *searched("gas", "3."), *ended("Answer: B")]
    steps = (0, 2, 4, 6)
    told = told_by(events, trajectory=believed(rights), flip=FELL, steps=steps, pivotal=None)
    clause = happened("retrieval_distraction", told).clause
    assert clause.startswith(f"asked at once, it is {said} from the result of event 1 on")


def test_numbers_of_the_store_say_of_which_trials_they_are() -> None:
    # Of one cause there are several, by how it shows.
    steps: dict[Step, float] = {AT_THE_FALL: 21.0, ("search", "has_the_answer"): 11.0, ("search", "elsewhere"): 15.0}
    rates = ChangeRates(store={step: FittedRate(step, 0.5, 0.5, trials, trials) for step, trials in steps.items()})
    never: dict[str, Any] = {"trajectory": believed((8, 8, 8)), "flip": None}
    for more, said in (
        (dict[str, Any](), "10 of the 21 whose belief falls at it, if anywhere, came right without it"),
        (never, "6 of the 11 where a result of it has the answer given came right without it"),
    ):
        assert weighed(explanation(explained(evidence(pivotal=None, **more)), rates=rates))[1][3] == said


def test_a_blamed_result_that_does_not_have_the_answer_is_told_as_such() -> None:
    there = [*ran("f(1)", "molecular nitrogen"), *searched("gas", "1. Plants"), *ended("Answer: B")]
    told = told_by(there, trajectory=None, flip=None, pivotal=None)
    # Its answer stands in the result of another tool.
    assert happened("retrieval_distraction", told).clause.endswith(
        "after the result of web_search at event 3, which does not have this answer"
    )
    fell: dict[str, Any] = {"trajectory": believed((8, 0)), "flip": FELL, "steps": (0, 2, 4, 6), "pivotal": None}
    found = told_by([*searched("gas", "1. Plants"), *there], **fell)
    assert happened("retrieval_distraction", found).clause == (
        "asked at once, it is wrong from the result of event 1 on, which does not have its answer"
    )


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            (*searched("gas", "Carbon dioxide, of course."), *ended("Answer: B")),
            "Of the options event 1 has the right answer, A, carbon dioxide, alone; it answered B all the same.",
        ),
        (
            (
                *searched("gas", "carbon dioxide", "Look."),
                *ran("f(1)", "molecular nitrogen"),
                *ended("By that it is molecular nitrogen.\nAnswer: B"),
            ),
            "Of the options event 1 has the right answer, A, carbon dioxide, alone; event 3 has B, molecular nitrogen,"
            " alone, and it answered that.",
        ),
        # Of one alone, which is its answer, or of results with several nothing is told.
        ((*searched("gas", "molecular nitrogen"), *ended("Answer: B")), ""),
        ((*searched("gas", "carbon dioxide or molecular nitrogen"), *ended("Answer: B")), ""),
    ],
)
def test_the_course_of_a_trial_is_which_results_gave_one_option_and_what_it_then_named(
    events: tuple[Event, ...], said: str
) -> None:
    told = told_by(events, mechanism="own_error", trajectory=None, flip=None)
    verdict = part(told, "Verdict")
    assert verdict.endswith(said) if said else "Of the options" not in verdict
    assert contradictions(told) == []


def test_the_result_of_the_code_that_is_named_is_quoted_before_others_with_the_same_answer() -> None:
    events = (
        *ran("f(1)", "molecular nitrogen"),
        *ran("f(2)", "all: molecular nitrogen"),
        *ended("Answer: B"),
    )
    told = told_by(events, mechanism="lock_in", trajectory=None, flip=None)
    assert [_first_result(told, ["molecular nitrogen"], named) for named in (None, 1, 2, 3)] == [1, 1, 3, 3]


def test_runs_that_keep_the_first_result_alone_are_said_to_count_as_with_what_may_not_come_again() -> None:
    events = (*searched("gas", "nothing"), *searched("gas", "molecular nitrogen"), *ended("Answer: B"))
    told = told_by(events, trajectory=None, flip=None, pivotal=None)
    rows = [name for group in run_groups(told) for name, _ in group.rows]
    assert any(name.endswith("(counted as with it, though what came at event 3 need not come again)") for name in rows)
