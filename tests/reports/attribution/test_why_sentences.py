"""What a page says of one trial beside its counts: the store, code whole, answers from before an event."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.analysis.attribution.stories import QUESTION, ended, imported, ran, read, searched, wrong
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import (
    IDENTITY,
    attribution,
    believed,
    chances_of,
    evidence,
    explained,
    explanation,
    inputs,
    part,
    rungs_of,
    told_by,
)

from toolablate.analysis.attribution.belief import BeliefFlip, belief_steps
from toolablate.analysis.attribution.change_rates import ChangeRates, FittedRate
from toolablate.analysis.attribution.decomposition import Arms, Replay
from toolablate.analysis.attribution.evidence import Explained, Explanation
from toolablate.reports.why.against import NOTHING
from toolablate.reports.why.answer_source import _first_result
from toolablate.reports.why.changed_runs import EARLY
from toolablate.reports.why.happened import happened
from toolablate.reports.why.other_causes import all_others
from toolablate.reports.why.page import in_short, why
from toolablate.reports.why.turn import turn_of
from toolablate.traces.records import Event, Limit, Mechanism, Message, ModelCall

AT_THE_FALL = ("search", "at_the_fall")
FELL = BeliefFlip(after=0, step=1, before=1.0, level=0.2, confidence=1.0)


# The prior: how common causes are in the store.


def test_answers_for_the_form_are_a_part_of_those_that_are_counted() -> None:
    events = (*searched("gas", "nothing"), *ended("It is the gas."))
    unread = wrong("unparsed").model_copy(update={"trial": read(*events).trial})
    found = evidence(events, score=unread, steps=tuple(belief_steps(events)), re_asked=(1.0,) * 2)
    shares: dict[Mechanism, float] = {"format": 0.8, "sampling_noise": 0.2}
    told = explanation(
        Explained(found, attribution(mechanism="format", distraction=None, shares=shares)), conversation=events
    )
    assert "Probability .80, from 2 answers that it was asked for once more." in part(told, "Verdict")
    assert "event 2: │ It is the gas." in part(told, "Verdict"), "however short it is"
    assert contradictions(told) == []


def test_a_cause_starts_where_its_store_has_it_and_ends_where_its_runs_move_it() -> None:
    found = explained(shares={"retrieval_distraction": 0.82, "lock_in": 0.12, "volume": 0.06})
    rates = ChangeRates(store={AT_THE_FALL: FittedRate(AT_THE_FALL, 0.5, 0.01, 50, 50)})
    of_any, of_store = (chances_of(explanation(found, rates=each)) for each in (ChangeRates(), rates))
    assert (of_any["retrieval distraction"], of_store["retrieval distraction"]) == ((".82", ".39"), (".82", ".01"))
    # So have those that are likely before any run, and that no run tests.
    assert {"computational lock-in", "volume of results", "sampling noise", "the model's own error"} < of_any.keys()
    starts = [before.replace("under .01", "0") for _, before in of_any.values()]
    assert sum(round(100 * float(each)) for each in starts) == 100


# Early answers from before the event that is blamed.


def test_a_trial_that_was_wrong_before_the_event_is_said_to_have_been() -> None:
    events = (*searched("gas", "nothing"), *searched("gas", "molecular nitrogen"), *ended("Answer: B"))
    told = told_by(events, trajectory=believed((8, 0, 0)), flip=None)
    against = part(told, "What speaks against it")
    assert "mostly wrong before event" in against or "turn wrong at no clear place" in against
    assert f"{EARLY} 1: 0 of 8" not in against


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
        ("It is molecular nitrogen, I think.", "and points to “B, molecular nitrogen”, which is wrong"),
        ("It is carbon dioxide, I think.", "and points to “A, carbon dioxide”, which is right"),
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


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (
            "turns",
            "python failed (events 1 and 5; at event 3 by an error of its code), and a limit left it no further call",
        ),
        (None, "python failed (events 1 and 5; at event 3 by an error of its code), and was not called after event 5"),
    ],
)
def test_calls_that_failed_otherwise_are_told_beside_a_tool_that_failed(limit: Limit | None, said: str) -> None:
    broken = ran("f(1)", "", status="error", error="injected_failure")
    own = ran("1 + 'a'", "", status="error", error="TypeError")
    events = [*broken, *own, *broken, *ended("Answer: B", limit)]
    assert happened("tool_fault", told_by(events)).clause == said


def test_a_package_that_the_kernel_lacks_is_told_in_these_words() -> None:
    lacks, broken = imported("ledgerkit"), ran("f(1)", "", status="error", error="timeout")
    own = ran("1 + 'a'", "", status="error", error="TypeError")
    told = [
        happened("tool_fault", told_by([*events, *ended("Answer: B")])).clause
        for events in ([*lacks, *lacks], [*broken, *lacks], [*lacks, *own])
    ]
    assert told == [
        "python failed (events 1 and 3, for a package that the kernel lacks), and was not called after event 3",
        "python failed (events 1 and 3; at event 3 for a package that the kernel lacks), and was not called after event 3",
        "python failed (event 1, for a package that the kernel lacks; at event 3 by an error of its code), and it never gave anything",
    ]


def test_what_a_search_found_is_not_named_of_what_is_left_where_each_search_failed() -> None:
    shares: dict[Mechanism, float] = {"sampling_noise": 0.826, "lock_in": 0.1279, "retrieval_distraction": 0.0461}
    found = attribution(shares=shares)
    failed = searched("gas", "", status="error", error="injected_failure")
    for search, others in (
        (searched("gas", "Plants take nitrogen"), "all others (retrieval distraction .05)"),
        (failed, "all others"),
    ):
        told = told_by([*search, *ended("Answer: B")], shares=shares)
        assert all_others(found, ["sampling_noise", "lock_in"], 5, told.explained.evidence) == others


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


def test_a_blamed_result_that_does_not_have_the_answer_is_told_as_such() -> None:
    there = [*ran("f(1)", "molecular nitrogen"), *searched("gas", "1. Plants"), *ended("Answer: B")]
    told = told_by(there, trajectory=None, flip=None, pivotal=None)
    # Its answer stands in the result of another tool.
    assert happened("retrieval_distraction", told).clause.endswith("after the result of web_search at event 3")
    none = "No result of its searches and pages has its answer, “molecular nitrogen”"
    assert none in part(told, "What speaks against it")
    fell: dict[str, Any] = {"trajectory": believed((8, 0)), "flip": FELL, "steps": (0, 2, 4, 6), "pivotal": None}
    found = told_by([*searched("gas", "1. Plants"), *there], **fell)
    wrong_from = "asked at once, it is wrong from the result of event 1 on"
    assert happened("retrieval_distraction", found).clause == wrong_from
    assert none in part(found, "What speaks against it")


@pytest.mark.parametrize(
    ("events", "said"),
    [
        (
            (*searched("gas", "Carbon dioxide, of course."), *ended("Answer: B")),
            "web_search gave one option alone, the right answer, A, carbon dioxide (event 1); it answered B all the same.",
        ),
        (
            (
                *searched("gas", "carbon dioxide", "Look."),
                *ran("f(1)", "molecular nitrogen"),
                *ended("By that it is molecular nitrogen.\nAnswer: B"),
            ),
            "web_search gave one option alone, the right answer, A, carbon dioxide (event 1); python gave one option"
            " alone, B, molecular nitrogen (event 3), and it answered that, a sign of “computational lock-in” (under .01).",
        ),
        (
            (*searched("gas", "molecular nitrogen"), *ended("Answer: B")),
            "web_search gave one option alone, B, molecular nitrogen (event 1), and it answered that, a sign of “retrieval distraction” (under .01).",
        ),
        # Of results with several nothing is told.
        ((*searched("gas", "carbon dioxide or molecular nitrogen"), *ended("Answer: B")), ""),
    ],
)
def test_the_course_of_a_trial_is_which_results_gave_one_option_and_what_it_then_named(
    events: tuple[Event, ...], said: str
) -> None:
    told = told_by(events, mechanism="own_error", trajectory=None, flip=None)
    verdict = part(told, "Verdict")
    before_its_words = verdict.partition(" Its last reply says")[0]
    assert before_its_words.endswith(said) if said else "one option alone" not in verdict
    assert contradictions(told) == []


@pytest.mark.parametrize("gave", ["408.75", "total: 408.75"])
def test_a_program_gives_an_option_without_its_unit(gave: str) -> None:
    asked = QUESTION.model_copy(update={"choices": ("50.21 units", "408.75 units", "40.8 units")})
    told = replace(
        told_by((*ran("f(1)", gave), *ended("Answer: B")), mechanism="lock_in", trajectory=None, flip=None),
        question=asked,
    )
    assert "in these words" not in part(told, "What speaks against it")
    of_chance = replace(
        told_by((*ran("f(1)", gave), *ended("Answer: B")), mechanism="own_error", trajectory=None, flip=None),
        question=asked,
    )
    assert (
        "python gave one option alone, B, 408.75 units (event 1), and it answered that, a sign of “computational lock-in” ("
        in part(of_chance, "Verdict")
    )


_LISTED = "; ".join(QUESTION.choices)


@pytest.mark.parametrize(
    "call",
    [ran("f(1)", f"1 given = [{_LISTED}]", status="error", error="KeyError"), ran("f(1)", f"Given: {_LISTED}")],
    ids=["a traceback", "a list of all options"],
)
def test_what_a_traceback_shows_and_a_list_of_all_options_are_no_source_of_an_answer(call: tuple[Event, ...]) -> None:
    told = told_by([*call, *ended("Answer: B")], mechanism="lock_in", distraction=None, trajectory=None, flip=None)
    shown = f"{part(told, 'Verdict')} {part(told, 'How we know')}"
    assert "gave its wrong answer" not in shown
    assert "stands in the result" not in shown
    unsourced = (
        "No result of its code has its answer, “molecular nitrogen”, in these words: how these led to it is not shown."
    )
    assert unsourced in part(told, "What speaks against it")
    assert contradictions(told) == []


def test_the_result_of_the_code_that_is_named_is_quoted_before_others_with_the_same_answer() -> None:
    events = (
        *ran("f(1)", "molecular nitrogen"),
        *ran("f(2)", "all: molecular nitrogen"),
        *ended("Answer: B"),
    )
    told = told_by(events, mechanism="lock_in", trajectory=None, flip=None)
    assert [_first_result(told, ["molecular nitrogen"], named) for named in (None, 1, 2, 3)] == [1, 1, 3, 3]


@pytest.mark.parametrize(
    ("code", "said"),
    [("x = 'molecular nitrogen'; x", True), ("f(2)", False), ("min('carbon dioxide', 'molecular nitrogen')", False)],
)
def test_a_result_that_code_has_written_in_it_is_told_as_such(code: str, said: bool) -> None:
    events = (*ran(code, "molecular nitrogen"), *ended("Answer: B"))
    verdict = part(told_by(events, mechanism="lock_in", trajectory=None, flip=None), "Verdict")
    assert "gave its wrong answer, molecular nitrogen (event 1)" in verdict
    assert (", which its code has written in it" in verdict) == said


# What a stranger asks of a page.


@pytest.mark.parametrize(
    ("right", "said"),
    [
        (
            0,
            "With 7 of these 8 right, “sampling noise” would have .91; with 1 right, “retrieval distraction” would have .84.",
        ),
        (
            6,
            "With 7 of these 8 right, “sampling noise” would have .98; with 1 right, little would change.",
        ),
    ],
)
def test_what_more_of_the_same_runs_would_make_of_the_probabilities_is_told(right: int, said: str) -> None:
    last = (1.0,) * right + (0.0,)
    found = evidence(
        pivotal=None, inputs=inputs(replay=Replay(rollouts={frozenset({"search"}): (1.0,) * 9}, last_reply=last))
    )
    found = replace(found, trajectory=None, flip=None)
    shares: dict[Mechanism, float] = {"retrieval_distraction": 0.7, "sampling_noise": 0.3}
    told = explanation(explained(found, shares=shares))
    assert said in part(told, "What would tell")
    assert contradictions(told) == []


def test_a_last_reply_is_no_evidence_of_what_needs_no_result() -> None:
    events = (*searched("gas", "nothing"), *ended("Decision made: molecular nitrogen.\n\nAnswer: B"))
    told = told_by(events, mechanism="availability", trajectory=None, flip=None)
    assert "Decision made" not in part(told, "How we know")
    assert "The offer can act without a call: each request describes the tools to the model." in part(told, "Verdict")


def test_the_words_that_a_prompt_adds_are_quoted_where_they_may_be_the_cause() -> None:
    asks, *rest = searched("gas", "1. Plants")
    assert isinstance(asks, ModelCall)
    words = Message(role="system", content="Trust no tool.")
    request = asks.request.model_copy(update={"messages": (words, *asks.request.messages)})
    events = (asks.model_copy(update={"request": request}), *rest, *ended("Answer: B"))
    of_prompt = told_by(events, mechanism="prompt", pivotal=None)
    signals = replace(of_prompt.explained.evidence.signals, prompted=True)
    found = replace(of_prompt.explained, evidence=replace(of_prompt.explained.evidence, signals=signals))
    assert "adds to the bare question: │ Trust no tool." in part(replace(of_prompt, explained=found), "Verdict")
    assert "Trust no tool" not in part(told_by(events, pivotal=None), "Verdict")


def test_a_right_answer_that_stood_in_a_result_speaks_against_an_error_of_the_models_own() -> None:
    events = [*searched("gas", "1. Plants take carbon dioxide"), *ended("Answer: B")]
    told = told_by(events, mechanism="own_error", trajectory=None, flip=None, pivotal=None)
    against = part(told, "What speaks against it")
    assert "The result of event 1 has the right answer, carbon dioxide; it did not take it." in against
    assert NOTHING not in against
    assert contradictions(told) == []


def test_what_is_right_again_before_its_last_reply_did_not_turn_wrong_for_good() -> None:
    again = Replay(rollouts={frozenset(): (0.0,), frozenset({"search"}): (1.0,)}, last_reply=(1.0, 1.0, 0.0))
    assert turn_of(evidence()) is not None
    assert turn_of(evidence(pivotal=None, inputs=inputs(replay=again))) is None


def test_an_unreadable_reply_is_not_said_to_have_taken_up_a_wrong_answer() -> None:
    events = (*ran("f(1)", "molecular nitrogen"), *ended("It is the gas."))
    unread = wrong("unparsed").model_copy(update={"trial": read(*events).trial})
    shares: dict[Mechanism, float] = {"format": 0.9, "sampling_noise": 0.1}
    found = evidence(events, score=unread, steps=tuple(belief_steps(events)), re_asked=(1.0,) * 2)
    told = explanation(
        Explained(found, attribution(mechanism="format", distraction=None, shares=shares)), conversation=events
    )
    assert "gave its wrong answer" not in " ".join(part(told, each.title) for each in why(told))


def test_chance_beside_a_tool_that_failed_has_the_same_answers() -> None:
    events = (*ran("f(1)", "", status="error", error="injected_failure"), *ended("Answer: B"))
    found = replace(
        inputs(replay=Replay(repaired=(1.0,) * 2, last_reply=(0.0,) * 2)), arms=Arms((1.0,), sham=(1.0,) * 3)
    )
    shares: dict[Mechanism, float] = {"tool_fault": 0.8, "sampling_noise": 0.2}
    told = told_by(
        events, mechanism="tool_fault", shares=shares, inputs=found, pivotal=None, trajectory=None, flip=None
    )
    (again, working, *_) = rungs_of(told)
    assert (again.taken, again.came) == ("nothing (drawn again)", "0 of 2")
    assert (working.taken, working.came) == ("the failure of its tool", "5 of 5")
    assert "from the 8 answers counted below" in part(told, "Verdict")
    assert contradictions(told) == []


def test_a_turn_at_a_place_that_is_not_sure_is_told_with_its_counts() -> None:
    whole = evidence().flip
    assert whole is not None
    flip = replace(whole, confidence=0.6)
    told = explanation(explained(evidence(pivotal=None, flip=flip)))
    assert "turns wrong, likeliest at event 1: 15 of 16 right before it, 0 of 8 after it." in part(told, "How we know")
    assert "no clear place" not in part(told, "What speaks against it")
    assert contradictions(told) == []


def of_chance(events: Sequence[Event], replay: Replay) -> Explanation:
    """Right at once after each of its steps."""
    found = {"inputs": inputs(replay=replay), "trajectory": believed((8, 8, 8)), "flip": None, "pivotal": None}
    return told_by(events, mechanism="sampling_noise", distraction=None, **found)


def test_a_result_with_the_answer_is_told_against_chance_with_what_was_right_until_then() -> None:
    events = (*searched("gas", "nothing"), *searched("gas", "Plants take molecular nitrogen"), *ended("Answer: B"))
    told = of_chance(events, Replay(rollouts={frozenset(): (1.0,) * 2}, last_reply=(0.0,) * 2))
    said = "Its answer, molecular nitrogen, stands in the result of event 3, a sign of “retrieval distraction” (under .01); 8 of 8"
    assert said in part(told, "What speaks against it")
    assert "stands in the result" not in part(told, "How we know")
    assert contradictions(told) == []


def test_a_result_of_another_tool_with_the_answer_is_told_against_the_cause() -> None:
    events = (*searched("gas", "nothing"), *ran("f(1)", "molecular nitrogen"), *ended("Answer: B"))
    told = told_by(
        events,
        mechanism="retrieval_distraction",
        inputs=inputs(replay=Replay(rollouts={frozenset(): (0.0,) * 2, frozenset({"search"}): (1.0,) * 2})),
        trajectory=None,
        flip=None,
        pivotal=None,
    )
    assert "event 3" not in part(told, "How we know")
    said = "Its answer, molecular nitrogen, stands in the result of event 3, a sign of “computational lock-in” (under .01)."
    assert said in part(told, "What speaks against it")
    assert contradictions(told) == []


def test_replays_with_twice_the_room_that_were_made_are_told_beside_those_that_would_tell() -> None:
    shares: dict[Mechanism, float] = {"calling": 0.6, "budget": 0.4}
    replay = Replay(extended=(1.0, 0.0), rollouts={frozenset(): (0.0,)})
    told = told_by(
        (*searched("gas", "nothing"), *ended("Answer: B", "turns")),
        mechanism="calling",
        shares=shares,
        inputs=inputs(replay=replay),
        pivotal=None,
        trajectory=None,
        flip=None,
    )
    said = part(told, "What would tell")
    assert "go on with twice the room" in said
    assert "So far 1 of 2 right (with twice the budget)." in said
    assert contradictions(told) == []


def test_signs_of_less_likely_causes_have_their_probability_and_say_what_became_of_them() -> None:
    events = (
        *ran("f(1)", "", status="error", error="injected_failure"),
        *ran("f(1)", "2"),
        *searched("gas", "molecular nitrogen"),
        *ended("Answer: B"),
    )
    for share, said in ((0.02, True), (0.0, False)):
        shares: dict[Mechanism, float] = {"own_error": 0.96 - share, "retrieval_distraction": 0.04, "tool_fault": share}
        told = told_by(events, mechanism="own_error", shares=shares, distraction=None, trajectory=None, flip=None)
        fault = "Python failed for a time (event 1), and worked again, a sign of “tool fault” (.02)."
        assert (fault in part(told, "What speaks against it")) == said
        assert contradictions(told) == []


def test_calls_that_are_named_with_the_computation_are_said_to_be() -> None:
    """It comes back to the right answer when told to ignore its results, so that the calls are the computation's."""
    events = (*ran("print(f(1))", "molecular nitrogen"), *ended("It is molecular nitrogen.\nAnswer: B"))
    replay = Replay(rollouts={frozenset({"code"}): (0.0, 0.0)}, last_reply=(0.0, 0.0))
    found = replace(inputs(replay=replay), tools=frozenset({"code"}))
    for ignoring, said in (((1.0, 1.0), True), ((0.0, 0.0), False)):
        told = told_by(
            events,
            mechanism="lock_in",
            distraction=None,
            inputs=found,
            pivotal=None,
            trajectory=believed((8, 0, 0)),
            flip=None,
            ignore_tools=ignoring,
        )
        counted = (
            r"(\.\d+) of the (\.\d+) is for turning to its code at all, whatever this gave. It counts as “computational lock-in”,"
            " since the answer comes back where this is set aside: told to ignore its tool results: 2 of 2 right."
        )
        assert bool(re.search(counted, part(told, "How we know"))) == said
        assert contradictions(told) == []


def test_an_answer_in_a_script_without_blanks_is_found_within_its_sentence() -> None:
    choices = ("分区加料", "模型预测控制的分区加料", "一次加料")
    result = "柏岭化工厂的试验表明，模型预测控制的分区加料的副产物量最小。"
    told = told_by(
        (*searched("柏岭", result), *ended("Answer: B")), mechanism="retrieval_distraction", trajectory=None, flip=None
    )
    told = replace(told, question=told.question.model_copy(update={"choices": choices}))
    assert _first_result(told, [choices[1]], None) == 1
    assert "No result of its searches" not in part(told, "What speaks against it")


def test_a_loop_over_all_that_a_question_counts_is_no_trial_of_some_cases_nor_is_code_that_failed() -> None:
    loop = "total = sum(f(k) for k in range(84))\nprint(total)"
    of_all = "Prove for every n: f(n) is prime."
    for prompt, gave, said in (
        (of_all, ran(loop, "7"), True),
        ("What do the 84 seasons add up to?", ran(loop, "7"), False),
        (of_all, ran(loop, "", status="error", error="injected_failure"), False),
    ):
        events = (*gave, *ended("Answer: B"))
        question = QUESTION.model_copy(update={"prompt": prompt})
        told = told_by(events, mechanism="lock_in", distraction=None, trajectory=None, flip=None)
        signals = read(*events, question=question)
        found = replace(told.explained, evidence=replace(told.explained.evidence, signals=signals))
        told = replace(told, explained=found, question=question)
        assert ("its code tries some cases" in part(told, "Verdict")) == said


def test_a_sign_of_a_cause_that_a_page_by_trace_names_is_told_once() -> None:
    events = (*ran("f(1)", "", status="error", error="injected_failure"), *ended("Answer: B"))
    shares: dict[Mechanism, float] = {"calling": 0.9, "tool_fault": 0.08, "sampling_noise": 0.02}
    found = told_by(events, mechanism="calling", shares=shares, distraction=None, trajectory=None, flip=None).explained
    by_trace = attribution(method="trace", mechanism="calling", distraction=None, shares=shares, confidence=0.9)
    told = explanation(replace(found, attribution=by_trace), conversation=events)
    assert "It may be tool fault (" in part(told, "What else it may be")
    assert contradictions(told) == []
