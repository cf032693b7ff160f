"""One trial on a page."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.analysis.attribution.stories import QUESTION, ended, ran, right, wrong
from tests.reports.attribution.samples import (
    IDENTITY,
    REPLAYED,
    UNREPLAYED,
    believed,
    evidence,
    explained,
    explanation,
    inputs,
    page,
)

from toolablate.analysis.attribution.belief import flip_step
from toolablate.analysis.attribution.decomposition import Arms, Replay
from toolablate.analysis.attribution.evidence import Explained, Explanation
from toolablate.analysis.shapley import ShapleyEstimate
from toolablate.reports.plain_why import why_parts
from toolablate.reports.terminal.explanation import explanation_view
from toolablate.reports.turned import telling_lines
from toolablate.traces.records import ChoiceTarget, Diagnosis, Event, NumberTarget

HOSTILE = "\x1b]0;owned\x07[red]Plants\u202e take\x9b31m nitrogen"


def shown(told: Explanation | None = None, width: int = 80) -> str:
    return page(explanation_view(told or explanation()), width)


def flat(text: str) -> str:
    return re.sub(r"\s+", " ", text)


def told_of(events: tuple[Event, ...], **more: Any) -> Explanation:
    return explanation(explained(evidence(events, **(UNREPLAYED | more))), conversation=events)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_a_page_is_at_most_80_cells_wide(width: int) -> None:
    assert max(map(len, shown(width=width).splitlines())) <= min(width, 80)


def test_a_page_says_what_happened_without_tools_and_where_the_belief_turned() -> None:
    text = flat(shown())
    assert re.search(r"It answered B, .+ \(correct: A, .+\)\.", text)
    assert "3 of 4 right: A; A; C (wrong); A" in text
    assert "get worse most likely at event 1: before it 15 of 16 are right, after it 0 of 8." in text
    assert "are right again" not in text
    assert "web_search gives (event 1): │ Plants take molecular nitrogen from the air." in text


def test_each_step_has_a_line_with_the_belief_after_it() -> None:
    lines = [line.rstrip() for line in shown().partition("What it did")[2].splitlines()]
    assert [re.sub(r"\s+", " ", line).strip() for line in lines[2:7]] == [
        "the question, before any call ██████████ 8/8 A",
        "0 calls web_search: which gas do plants t… █████████· 7/8 A",
        "1 web_search gives: 1. Green plants breat… ·········· 0/8 ↓ B",
        "2 replies: Answer: B",
        "its answer wrong B",
    ]


def test_steps_that_nobody_asked_about_have_no_belief() -> None:
    sparse = believed((8, 0))
    moved = type(sparse)((sparse.beliefs[0], replace(sparse.beliefs[1], step=2)))
    found = evidence(trajectory=moved, flip=flip_step(moved, 0.3))
    lines = shown(explanation(explained(found))).partition("What it did")[2].splitlines()
    assert "/8" not in lines[3]
    assert "0/8 ↓" in lines[4]
    text = flat(shown(explanation(explained(found))))
    assert "in events 0 to 1: before it 8 of 8 are right, after it 0 of 8" in text
    assert "inferred from these answers, from how probable each cause is and from its final answer, which" in text
    assert "No early answers were asked for between" not in text
    place = replace(explained(found).evidence, flip=replace(found.flip, after=1))
    assert "No early answers were asked for between events 0 and 1." in flat(shown(explanation(explained(place))))


def test_of_many_steps_a_page_shows_the_ends_and_where_the_belief_falls() -> None:
    events = (*[each for number in range(40) for each in ran(f"print({number})", str(number))], *ended("Answer: B"))
    found = believed((8,) * 50 + (0,) * 31)
    told = told_of(events, trajectory=found, flip=flip_step(found, 0.3), steps=tuple(range(81)))
    text = shown(told)
    assert len(text.splitlines()) < 90
    assert "python gives: 24" in text
    assert text.count("steps more") == 2
    gaps = [int(count) for count in re.findall(r"\.\.\. (\d+) steps more", text)]
    assert 8 + sum(gaps) + 6 + 6 == 82
    assert "out of budget" in shown(explanation(outcome="budget"))


def test_what_happens_otherwise_is_counted() -> None:
    text = shown()
    for changed, came in (
        ("with the same results, all replies to them drawn again", "2 of 8"),
        ("with no result at event 1", "3 of 4"),
        ("with the search's results swapped for equally long ones of another question", "3 of 4"),
        ("asked for its answer before any call", "8 of 8"),
        ("told to ignore its tool results", "7 of 8"),
    ):
        assert re.search(rf"{came} right {re.escape(changed)}", flat(text)), changed
    assert "Shapley value of event 1's result: −.50 (standard error .20)." in text


def test_two_kinds_of_tools_are_told_apart_and_graded_scores_have_a_mean() -> None:
    both = Replay(
        rollouts={
            frozenset({"search"}): (1.0, 0.25),
            frozenset({"search", "code"}): (1.0, 1.0),
            frozenset({"code"}): (0.0, 0.0),
            frozenset(): (0.0, 0.0),
        }
    )
    found = evidence(inputs=replace(inputs(replay=both), tools=frozenset({"search", "code"})))
    text = flat(shown(explanation(explained(found))))
    assert "mean score .62 of 2 with the search's results swapped for equally long ones of another question" in text
    assert (
        "mean score 1.0 of 2 with the code's results and the search's results swapped for equally long ones of another question"
        in text
    )


def part(told: Explanation, title: str) -> str:
    return flat(" ".join(str(line) for each in why_parts(told) if each.title == title for line in each.lines))


def test_a_trial_is_told_in_four_parts() -> None:
    told = explanation(explained(shares={"retrieval_distraction": 0.82, "lock_in": 0.15}))
    assert part(told, "What went wrong") == (
        "Very likely wrong because of what its search found (retrieval distraction): probability .82."
        " Measured by replays: runs with something changed, counted below."
        " How, by the words of results and reply: it adopted what misleads (misleading content adopted)."
    )
    assert part(told, "How this is known") == (
        "The probability weighs the runs below together: of all runs with it 2 of 16 are right, of all without it 17 of"
        " 20 (not counted: told to ignore its tool results, which asks otherwise; asked once more after its final"
        " reply, which asks otherwise)."
        " Without this cause (with no result at event 1), 3 of 4 answers are right; at best with it (with the same"
        " results, all replies to them drawn again), 2 of 8. Few runs: 4 without it, 8 with it."
        " Their 95 % intervals, .30 to .95 and .07 to .59, overlap: these runs alone do not decide it."
        " Told to ignore its tool results, 7 of 8 answers are right."
        " Right before any tool: 8 of 8 early answers, asked for before the first call, are right."
        " So the model has the right answer before any call."
        " The trace has a sign of it: its final answer first appears in a result (event 1)."
        " Early answers get worse most likely at event 1, a place that is inferred (see below): before it 15 of 16 are"
        " right, after it 0 of 8."
    )
    assert (
        part(told, "What speaks against it")
        == "It may instead be its computation (computational lock-in): probability .15."
    )
    unknown = (
        "How often such runs are right: few tell it roughly. With up to 8 runs for each row of 'This trial run again,"
        " each time as it says' below: about 8 requests to its model, and as many for each other trial that the command"
        " replays. It tells the cost first"
    )
    assert part(told, "What is not known").startswith(unknown)


def test_what_the_trace_alone_says_otherwise_speaks_against_it() -> None:
    told = explanation(explained(shares={"retrieval_distraction": 0.95, "lock_in": 0.05}))
    other = told.explained.hypotheses[0].model_copy(update={"confidence": 0.6})
    told = replace(told, explained=replace(told.explained, hypotheses=(other,)))
    said = "What was known before any replay points to its computation (computational lock-in), a hypothesis: probability .60"
    assert part(told, "What speaks against it") == f"{said}; the replays leave it .05."


def test_a_cause_that_no_run_shows_is_not_said_to_have_made_it_wrong() -> None:
    same = Replay(rollouts={frozenset(): (0.0,) * 4, frozenset({"search"}): (0.0,) * 4})
    told = explanation(explained(evidence(inputs=inputs(replay=same), pivotal=None)))
    assert "because of" not in part(told, "What went wrong")
    assert "No single kind of run decides it." in part(told, "How this is known")
    assert "The best runs with it are right at least as often." in part(told, "What speaks against it")


def test_what_was_asked_before_any_call_is_one_state_here_and_in_other_repeats() -> None:
    """Never right here and always there is 2 of 10; no arm forbids its tools."""
    told = explanation(
        explained(evidence(trajectory=believed((0, 0, 0)), flip=None, outset=(1.0,) * 2), mechanism="calling")
    )
    known = part(told, "How this is known")
    assert "Mostly wrong before any tool: 2 of 10 early answers, asked for before the first call (0 of 8 here, the" in (
        part(told, "What speaks against it")
    )
    assert "2 of 10 right asked for its answer before any call, here or in its other repeats" in flat(shown(told))
    assert "Look at" not in known
    assert "early answers show no place" in part(told, "What is not known")
    assert "forbidden" not in shown(told)


def test_a_trial_alone_is_no_run_to_compare_it_with_and_a_sign_that_is_lost_is_named() -> None:
    question = QUESTION.model_copy(update={"target": NumberTarget(value=50.37), "choices": ()})
    found = evidence(**UNREPLAYED, score=wrong().model_copy(update={"trial": IDENTITY, "extracted": ("-50.37",)}))
    text = flat(shown(explanation(explained(found, method="trace"), question=question)))
    assert "Its answer beside the right one: the other sign." in text
    assert "this trial among them" not in text
    twice = explanation(explained(replace(found, repeats=(1.0,)), method="trace"), question=question)
    assert "1 of 2 right as it was, this trial among them" in flat(shown(twice))


def test_an_error_of_the_models_own_is_wrong_before_any_tool() -> None:
    found = evidence(trajectory=believed((1, 0, 0)), flip=None)
    told = explanation(explained(found, mechanism="own_error", confidence=0.4, distraction=None))
    assert part(told, "What went wrong") == (
        "No cause is more likely than not. The likeliest is the model's own error, which needs no tool: probability .40."
        " Measured by replays: runs with something changed, counted below."
    )
    assert "So no call is needed for the error." in part(told, "How this is known")
    assert "Without tools, 3 of 4 answers are right." in part(told, "What speaks against it")
    against = part(explanation(explained(found)), "What speaks against it")
    assert "Mostly wrong before any tool" in against
    assert "So the error may need no tool." in against


def test_what_judges_read_is_told_as_a_hypothesis() -> None:
    known: dict[str, Any] = {"trial": IDENTITY, "error_type": "knowledge", "distraction": "over_engineering"}
    read_so = Diagnosis(judge="j@1", reason="R", evidence=(0, 2), distraction_reason="D", **known)
    silent = Diagnosis(judge="k@1", reason="no format", trial=IDENTITY, error_type=None, distraction=None)
    judged = flat(shown(explanation(explained(evidence(diagnoses=(read_so, silent))))))
    assert "Judge j@1: knowledge (events 0, 2), a hypothesis: R Distraction: over-engineering, a hyp" in judged
    assert "Judge k@1 gave no label: no format" in judged


def test_of_a_scripted_model_nothing_can_be_known_otherwise() -> None:
    found = explained(evidence(**UNREPLAYED), method="trace", confidence=0.5)
    assert "its replies are recordings (a scripted model)" in flat(shown(explanation(found, provider="scripted")))
    alone = replace(found, evidence=replace(found.evidence, no_tools=()))
    assert not re.search("--replay|toolablate run", shown(explanation(alone, provider="scripted")))
    assert "its model cannot be asked again" in flat(shown(explanation(found, provider="imported")))


def test_a_trial_that_was_not_replayed_is_told_as_a_hypothesis_with_the_commands_that_would_find_out() -> None:
    found = explained(evidence(**UNREPLAYED), method="trace", confidence=0.5)
    text = shown(explanation(found))
    assert "A hypothesis, not measured: it is read from the trace and from other trials." in flat(text)
    assert "    toolablate attribute runs/a.sqlite --replay --condition search\n" in text
    again = f"    toolablate replay runs/a.sqlite {IDENTITY[:10]} --from 1 --swap null \\\n      --repeats 8\n"
    assert again in text
    assert "right now" not in text


def test_replays_that_no_label_rests_on_are_not_denied() -> None:
    text = flat(shown(explanation(explained(evidence(inputs=inputs()), method="trace"))))
    assert "7 of 8 right told to ignore" in text
    assert "runs are missing, or it was not in the last sample" in text
    assert "Or of this trial alone" not in text


def test_where_no_arm_has_the_words_alone_it_is_not_known_whether_they_did_it() -> None:
    found = explained(evidence(tuple(ended("Answer: B")), trajectory=None, flip=None), mechanism="availability")
    unsure = (
        "Whether it is the offer of tools (availability) or the words of the condition's prompt (prompt): no run takes"
        " away one alone. Add the condition 'scaffold'"
    )
    bare = replace(found, evidence=replace(found.evidence, inputs=replace(inputs(replay=REPLAYED), tools=frozenset())))
    assert unsure in part(explanation(bare), "What is not known")
    arms = Arms(none=(1.0,), scaffold=(1.0,))
    of_words = replace(bare, evidence=replace(bare.evidence, inputs=replace(bare.evidence.inputs, arms=arms)))
    assert unsure not in part(explanation(of_words), "What is not known")


def test_a_right_trial_is_blamed_for_nothing_and_gains_are_told() -> None:
    found = evidence(
        score=right(), inputs=inputs(1.0, replay=Replay(rollouts=REPLAYED.rollouts, signals=frozenset({"retrieved"})))
    )
    text = flat(shown(explanation(Explained(found, None))))
    assert "The answer is right. Its search found what the model did not know. Without tools, 3 of 4" in text
    assert "Wrong before any tool" not in text


def test_a_trial_without_a_fall_says_so() -> None:
    steady = believed((1, 0, 0))
    text = flat(shown(explanation(explained(evidence(trajectory=steady, flip=None)))))
    assert "no clear fall: 1 of 8 right before any call, 0 of 8 before the final reply." in text
    never = flat(shown(explanation(explained(evidence(trajectory=believed((0, 0)), flip=None)))))
    assert "Early answers are never right, and no others were asked for." in never


def test_a_budget_that_ran_out_and_faults_have_lines_of_their_own() -> None:
    stopped = (
        *ran("1/0", "", status="error", error="injected_failure"),
        *ended("Answer: B", "turns"),
    )
    spent = Replay(extended=(1.0, 0.0), repaired=(1.0, 0.0), rollouts=REPLAYED.rollouts)
    text = flat(shown(told_of(stopped, inputs=inputs(replay=spent), pivotal=evidence().pivotal)))
    assert "1 of 2 right with twice the budget" in text
    assert "from event 1 on, with no result there" in text
    assert "swapped for equally long ones of another question, and with twice the budget and tools that work" in text
    assert "1 of 2 right with tools that work" in text
    assert "python fails: made to fail on purpose" in text


def test_levels_for_which_nothing_was_run_have_no_line() -> None:
    stopped = (
        *ran("1/0", "ZeroDivisionError", status="error", error="ZeroDivisionError"),
        *ended("Answer: B", "reply_length"),
    )
    own = Replay(extended=(0.0,), repaired=(0.0,), rollouts=REPLAYED.rollouts)
    text = flat(shown(told_of(stopped, inputs=inputs(replay=own))))
    assert "right with the same results, all replies to them drawn again" in text
    assert ", and with" not in text
    assert "twice the budget" not in text
    assert "tools that work" not in text


def test_a_trial_without_results_replies_again() -> None:
    asked = replace(inputs(replay=Replay(rollouts={frozenset(): (1.0, 0.0)})), tools=frozenset())
    text = flat(shown(told_of(tuple(ended("Answer: B")), inputs=asked)))
    assert "1 of 2 right with all its replies drawn again" in text
    assert "same results" not in text


def test_runs_that_all_end_alike_are_not_called_certain() -> None:
    text = flat(shown(explanation(explained(evidence(shapley={1: ShapleyEstimate(-1.0, 0.0)})))))
    assert "\u22121.0 (runs of a kind all end alike)" in text


def test_a_call_that_failed_where_it_fell_did_not_give_anything() -> None:
    failed = (*ran("1/0", "This call failed.", status="error", error="injected_failure"), *ended("Answer: B"))
    text = flat(shown(explanation(explained(evidence(failed)), conversation=failed)))
    assert "python fails (event 1): │ This call failed." in text
    assert "Where early answers get worse (at event 1), the call gave nothing." in text


def test_without_bare_trials_it_is_said() -> None:
    text = flat(shown(explanation(explained(evidence(no_tools=())))))
    assert "No scored trial without tools." in text
    assert "How often the model is right without tools: there is nothing." in text


def test_foreign_text_is_inert() -> None:
    hostile = (*ran(HOSTILE, HOSTILE, HOSTILE), *ended(HOSTILE))
    question = QUESTION.model_copy(update={"prompt": HOSTILE, "id": HOSTILE})
    found = evidence(hostile, score=wrong().model_copy(update={"extracted": (HOSTILE,)}))
    told = explanation(explained(found, note=HOSTILE), conversation=hostile, question=question, store=f"a b{HOSTILE}")
    text = page(explanation_view(told), markup=True)
    assert "owned" not in text
    assert "\u202e" not in text
    assert "\x9b" not in text
    assert "[red]Plants" in text


def test_code_is_quoted_where_it_checks_cases_in_place_of_the_question() -> None:
    code = "import math\nx = 1\nfor n in range(100):\n    assert f(n)\nprint('holds')"
    assert telling_lines(code, ("for n in range(100):",)) == [
        "for n in range(100):",
        "    assert f(n)",
        "print('holds')",
    ]
    assert telling_lines("", ()) == ["(nothing)"]
    assert len(telling_lines("line\n" * 1_000_000, ("x" * 5,))) == 3


def test_a_result_is_quoted_where_it_holds_most_of_what_only_a_wrong_option_says() -> None:
    page = "\n".join(
        f"L{n}: {line}"
        for n, line in enumerate(["A script.", "", "It takes", "one script line,", "cycle.cmp", "or two"])
    )
    assert telling_lines(page, (), {"script", "cycle"}) == ["L3: one script line,", "L4: cycle.cmp", "L5: or two"]
    assert telling_lines(page, ("takes",), {"script"})[0] == "L2: It takes"
    choices = ("the inlet", "run the cycle script", "the bypass", "none")
    question = QUESTION.model_copy(update={"choices": choices, "target": ChoiceTarget(letters=("A",))})
    events = (*ran("x", page), *ended("Answer: A, B"))
    found = evidence(events, score=wrong().model_copy(update={"extracted": ("A", "B")}))
    text = flat(shown(explanation(explained(found), conversation=events, question=question)))
    assert "gives (event 1): │ L3: one script line, │ L4: cycle.cmp │ L5: or two" in text


def test_a_page_is_quoted_without_what_the_browser_says_of_it() -> None:
    opened = "[0a1b] Title (https://x)\nlines 0-1 of 2\nL0: First.\nL1: Second."
    assert telling_lines(opened, ()) == ["L0: First.", "L1: Second."]


def test_calls_are_told_by_what_they_say_first() -> None:
    events = (*ran("import math\n# a comment\ntotal = 3 * 4", "12"), *ended("Answer: B"))
    text = flat(shown(told_of(events)))
    assert "calls python: total = 3 * 4" in text
    assert "python gives: 12" in text


def test_a_simulated_model_is_announced() -> None:
    assert "SIMULATED" in shown(explanation(provider="simulated"))
    assert "SIMULATED" not in shown()
