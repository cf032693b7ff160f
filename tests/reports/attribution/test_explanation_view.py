"""One trial on a page."""

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.analysis.attribution.stories import QUESTION, ended, ran, right, wrong
from tests.reports.attribution.contradictions import contradictions
from tests.reports.attribution.samples import (
    IDENTITY,
    REPLAYED,
    UNREPLAYED,
    believed,
    evidence,
    explained,
    explanation,
    inputs,
    kinds_of_run,
    page,
    rungs_of,
)
from tests.reports.attribution.samples import part as told_part

from toolablate.analysis.attribution.belief import Probe, flip_step, trajectory
from toolablate.analysis.attribution.decomposition import Arms, Replay
from toolablate.analysis.attribution.evidence import Explained, Explanation
from toolablate.analysis.shapley import ShapleyEstimate
from toolablate.reports.terminal.explanation import explanation_view
from toolablate.reports.why.causes import WRONG_ANYWAY
from toolablate.reports.why.page import in_short
from toolablate.reports.why.quoted import telling_line
from toolablate.traces.records import ChoiceTarget, Diagnosis, Event, Mechanism, NumberTarget

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
    assert "A: carbon dioxide; B: molecular nitrogen; " in text
    assert "3 of 4 the offer of tools and the condition's prompt: availability" in text
    assert "without tools: A; A; C (wrong); A" in text
    assert (
        "Asked at once after its steps, this trial turns wrong at event 1: 15 of 16 right before it, 0 of 8 after it."
        in text
    )
    assert "event 1, web_search gives: │ Plants take molecular nitrogen from the air." in text


def steps_of(text: str) -> list[str]:
    """Without the title, up to the next."""
    steps = text.partition("\nThis trial step by step")[2].partition("\n\n")[0]
    return [flat(line).strip() for line in steps.splitlines()[1:]]


def counts_of(told: Explanation) -> dict[str, str]:
    return {row.name: row.came for row in kinds_of_run(told)}


def test_each_call_and_each_result_has_a_row_with_the_belief_after_it() -> None:
    assert steps_of(shown())[:5] == [
        "event right says",
        "before any call 8 of 8 A",
        "0 calls web_search: which gas do plants take 7 of 8 A (7), B (1)",
        "1 web_search gives: …ants take molecular nitroge… 0 of 8 B",
        "2 replies: Answer: B wrong B",
    ]


def test_two_calls_of_one_reply_have_rows_of_their_own() -> None:
    first, second = ran("print(1)", "1"), ran("print(2)", "2")
    reply = first[0]
    both = (*reply.reply.message.tool_calls, *second[0].reply.message.tool_calls)
    message = reply.reply.message.model_copy(update={"tool_calls": both})
    asked = reply.model_copy(update={"reply": reply.reply.model_copy(update={"message": message})})
    rows = steps_of(shown(told_of((asked, first[1], second[1], *ended("Answer: B")))))
    assert rows[2:6] == [
        "0 calls python: print(1)",
        "0 calls python: print(2)",
        "1 python gives: 1",
        "2 python gives: 2",
    ]


def test_all_that_is_said_at_a_step_stands_there() -> None:
    probes = [
        Probe(0, {"A": 8}, 0, 8),
        Probe(1, {"A": 2, "B": 2, "C": 1, "D": 1, "E": 1}, 2, 2),
        Probe(2, {"B": 8}, 0, 0),
    ]
    found = trajectory(probes)
    text = shown(explanation(explained(evidence(trajectory=found, flip=flip_step(found, 0.3)))))
    said = [line[-13:].strip() for line in text.partition("\nThis trial step by step")[2].splitlines()]
    start = said.index("A (2)")
    assert said[start : start + 5] == ["A (2)", "B (2)", "C (1)", "D (1)", "others (3)"]


def test_steps_that_nobody_asked_about_have_no_belief() -> None:
    sparse = believed((8, 0))
    moved = type(sparse)((sparse.beliefs[0], replace(sparse.beliefs[1], step=2)))
    found = evidence(trajectory=moved, flip=flip_step(moved, 0.3))
    rows = steps_of(shown(explanation(explained(found))))
    assert " of 8" not in rows[2]
    assert "0 of 8" in rows[3]
    assert "between events 0 and 1: 8 of 8 right before it, 0 of 8 after it" in flat(
        shown(explanation(explained(found)))
    )


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
    counts = counts_of(explanation())
    for changed, came in (
        ("with all replies after its first result drawn again", "2 of 8"),
        ("with no result at event 1", "3 of 4"),
        ("with the search's results swapped for equally long ones of another question", "3 of 4"),
        ("told to ignore its tool results (asked otherwise)", "7 of 8"),
    ):
        assert counts[changed] == came
    assert "Shapley value of event 1's result: −.50 (standard error .20)." in shown()


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
    assert "mean .62 of 2" in text
    assert "mean 1.0 of 2" in text


def part(told: Explanation, title: str) -> str:
    return flat(told_part(told, title))


def test_a_trial_is_told_in_parts() -> None:
    told = explanation(explained(shares={"retrieval_distraction": 0.82, "lock_in": 0.15, "calling": 0.03}))
    assert part(told, "Verdict") == (
        "Very likely retrieval distraction (what a search or page gave cost it the right answer): web_search gave its"
        " wrong answer, molecular nitrogen (event 1), a misleading result believed. Probability .82, from the 36"
        " answers counted below. Less likely: computational lock-in (.15)."
    )
    assert [(rung.taken, rung.came, rung.cause) for rung in rungs_of(told)] == [
        ("nothing (drawn again)", "2 of 16", "sampling noise under .01 (before: .45)"),
        ("what its search and pages gave", "6 of 8", "retrieval distraction .82 (before: .39)"),
        (
            "its own first reply and its calls",
            "8 of 8",
            "sampling noise, as above; calling .03 (before: under .01)",
        ),
        (
            "the offer of tools and the condition's prompt",
            "3 of 4",
            "availability under .01 (before: under .01); prompt under .01 (before: under .01)",
        ),
        (
            "all runs together",
            "19 of 36",
            "the model's own error under .01 (before: .16)",
        ),
        ("no run tests it", "", "computational lock-in .15 (before: under .01)"),
        ("Not counted", "", ""),
        ("Counted in “before” alone, by where it turns wrong", "", ""),
    ]
    assert part(told, "How we know") == (
        "Without “retrieval distraction” (from the line “what its search and pages gave” on) 17 of 20 are right, with it 2 of 16."
        " Asked at once after its steps, this trial turns wrong at event 1: 15 of 16 right before it, 0 of 8 after it."
        " Without tools it answers A (3 of 4); C (1 of 4), and never B."
        " event 0, calls web_search: │ which gas do plants take"
        " event 1, web_search gives: │ Plants take molecular nitrogen from the air."
        " Here, “computational lock-in”: its own computation cost it the right answer."
    )
    assert part(told, "How sure").startswith(
        "Leave out any one kind of run, and “retrieval distraction” is still the likeliest, with .70 to .81."
    )
    assert part(told, "What speaks against it") == "Nothing that counts."
    assert part(told, "What else it may be") == ""
    assert part(told, "What would tell") == (
        "8 replays with another question's result at event 1 (about 8 requests). Mostly right speaks for “retrieval"
        " distraction”, mostly wrong for “computational lock-in”. toolablate replay runs/a.sqlite"
        f" {IDENTITY[:10]} --from 1 --swap placebo --repeats 8"
    )


def test_what_was_asked_before_any_call_is_one_state_and_has_a_row_of_each_owner() -> None:
    """Never right here and always there is 2 of 10; no arm forbids its tools."""
    told = explanation(
        explained(evidence(trajectory=believed((0, 0, 0)), flip=None, outset=(1.0,) * 2), mechanism="calling")
    )
    assert "Before any call 2 of 10 early answers are right (8 asked in this trial, 2 in other repeats)" in part(
        told, "What speaks against it"
    )
    assert "turn wrong at no clear place; after its first call: 0 of 16 right; before it: 0 of 8 right." in part(
        told, "What speaks against it"
    )
    assert counts_of(told)["asked at once before any call (8 asked in this trial, 2 in other repeats)"] == "2 of 10"
    assert "before any call 0 of 8 B" in steps_of(shown(told))


def test_a_trial_alone_is_no_run_to_compare_it_with_and_a_sign_that_is_lost_is_named() -> None:
    question = QUESTION.model_copy(update={"target": NumberTarget(value=50.37), "choices": ()})
    found = evidence(**UNREPLAYED, score=wrong().model_copy(update={"trial": IDENTITY, "extracted": ("-50.37",)}))
    told = explanation(explained(found, method="trace", mechanism="format", distraction=None), question=question)
    assert "it answered “-50.37”, where “50.37” is right: the other sign" in part(told, "Verdict")
    assert "its other repeats" not in shown(told)
    twice = explanation(explained(replace(found, repeats=(1.0,)), method="trace"), question=question)
    assert counts_of(twice)["its other repeats"] == "1 of 1"


def test_early_answers_that_are_wrong_before_any_call_speak_against_what_needs_one() -> None:
    found = evidence(trajectory=believed((1, 0, 0)), flip=None)
    told = explanation(explained(found, mechanism="own_error", confidence=0.4, distraction=None))
    assert part(told, "Verdict").startswith("No cause is more likely than not; the likeliest is the model's own error")
    assert "Before any call 1 of 8 early answers are right: the error may need no call" in part(
        explanation(explained(found)), "What speaks against it"
    )


def test_what_judges_read_is_told_as_a_hypothesis() -> None:
    known: dict[str, Any] = {"trial": IDENTITY, "error_type": "knowledge", "distraction": "over_engineering"}
    read_so = Diagnosis(judge="j@1", reason="R", evidence=(0, 2), distraction_reason="D", **known)
    silent = Diagnosis(judge="k@1", reason="no format", trial=IDENTITY, error_type=None, distraction=None)
    judged = flat(shown(explanation(explained(evidence(diagnoses=(read_so, silent))))))
    assert "Judge j@1: knowledge (events 0 and 2), a hypothesis: R Distraction: over-engineering, a hyp" in judged
    assert "Judge k@1 gave no label: no format" in judged


def test_of_a_scripted_model_nothing_can_be_known_otherwise() -> None:
    found = explained(evidence(**UNREPLAYED), method="trace", confidence=0.5)
    for provider, reason in (
        ("scripted", "its replies are recordings"),
        ("imported", "its model cannot be asked again"),
    ):
        told = explanation(found, provider=provider)
        assert f"No command can: {'it is from' if provider == 'imported' else ''}" in part(told, "What would tell")
        assert reason in part(told, "What would tell")
        assert "toolablate" not in part(told, "What would tell")


def test_a_trial_that_was_not_replayed_is_a_guess_with_the_command_that_would_tell() -> None:
    found = explained(evidence(**UNREPLAYED), method="trace", confidence=0.5)
    told = explanation(found)
    assert "a guess from the trace: nothing was run again." in part(told, "Verdict")
    again = f"    toolablate replay runs/a.sqlite {IDENTITY[:10]} --from 2 --repeats 8\n"
    assert again in shown(told)


def test_replays_that_no_label_rests_on_are_not_denied() -> None:
    told = explanation(explained(evidence(inputs=inputs()), method="trace"))
    assert re.search(r"a guess from the trace: its \d+ replays do not test it", part(told, "Verdict"))


def test_where_no_arm_has_the_words_alone_both_are_named() -> None:
    found = explained(evidence(tuple(ended("Answer: B")), trajectory=None, flip=None), mechanism="availability")
    bare = replace(found, evidence=replace(found.evidence, inputs=replace(inputs(replay=REPLAYED), tools=frozenset())))
    together = "the offer of tools and the condition's prompt"
    assert together in [rung.taken for rung in rungs_of(explanation(bare))]
    arms = Arms(none=(1.0,), scaffold=(1.0,))
    of_words = replace(bare, evidence=replace(bare.evidence, inputs=replace(bare.evidence.inputs, arms=arms)))
    assert together not in [rung.taken for rung in rungs_of(explanation(of_words))]


def test_a_right_trial_is_blamed_for_nothing_and_gains_are_told() -> None:
    found = evidence(
        score=right(), inputs=inputs(1.0, replay=Replay(rollouts=REPLAYED.rollouts, signals=frozenset({"retrieved"})))
    )
    text = flat(shown(explanation(Explained(found, None))))
    assert "The answer is right. Its search found what the model did not know." in text
    assert "What would tell" not in text


def test_a_budget_that_ran_out_and_faults_have_lines_of_their_own() -> None:
    stopped = (
        *ran("1/0", "", status="error", error="injected_failure"),
        *ended("Answer: B", "turns"),
    )
    spent = Replay(extended=(1.0, 0.0), repaired=(1.0, 0.0), rollouts=REPLAYED.rollouts)
    told = told_of(stopped, inputs=inputs(replay=spent), pivotal=evidence().pivotal)
    rungs = {rung.taken: rung.came for rung in rungs_of(told)}
    assert (rungs["its limit"], rungs["the failure of its tool"]) == ("1 of 2", "1 of 2")
    text = flat(shown(told))
    assert "from event 1 on, with no result there" in text
    assert "with tools that work, and with twice the budget" in text
    assert "python fails: made to fail on purpose" in text


def test_levels_for_which_nothing_was_run_have_no_line() -> None:
    stopped = (
        *ran("1/0", "ZeroDivisionError", status="error", error="ZeroDivisionError"),
        *ended("Answer: B", "reply_length"),
    )
    own = Replay(extended=(0.0,), repaired=(0.0,), rollouts=REPLAYED.rollouts)
    text = flat(shown(told_of(stopped, inputs=inputs(replay=own))))
    assert "with all replies after its first result" in text
    assert ", and with" not in text
    assert "twice the budget" not in text
    assert "tools that work" not in text


def test_a_trial_without_results_replies_again() -> None:
    asked = replace(inputs(replay=Replay(rollouts={frozenset(): (1.0, 0.0)})), tools=frozenset())
    text = flat(shown(told_of(tuple(ended("Answer: B")), inputs=asked)))
    assert "1 of 2 nothing (drawn again)" in text
    assert "with all its replies drawn again" in text
    assert "first result" not in text


def test_runs_that_all_end_alike_are_not_called_certain() -> None:
    text = flat(shown(explanation(explained(evidence(shapley={1: ShapleyEstimate(-1.0, 0.0)})))))
    assert "\u22121.0 (runs of a kind all end alike)" in text


def test_a_call_that_failed_where_it_fell_did_not_give_anything() -> None:
    failed = (*ran("1/0", "This call failed.", status="error", error="injected_failure"), *ended("Answer: B"))
    text = flat(shown(explanation(explained(evidence(failed)), conversation=failed)))
    assert "event 1, python fails: │ This call failed." in text
    assert "Early answers turn wrong at event 1 (15 of 16 right before it, 0 of 8 after it), where a call gave" in text


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


def test_a_line_is_quoted_that_holds_what_matters() -> None:
    code = "import math\nx = 1\nfor n in range(100):\n    assert f(n)\nprint('holds')"
    assert telling_line(code, ("for n in range(100):",)) == "for n in range(100):"
    assert telling_line("", ()) == "(nothing)"
    assert telling_line("line\n" * 1_000_000, ("x" * 5,)) == "line"
    assert telling_line(f"{'a ' * 500}42 and more", ("42",)).startswith("…a a")
    assert "42 and more" in telling_line(f"{'a ' * 500}42 and more", ("42",))


def test_a_result_is_quoted_where_it_holds_most_of_what_only_a_wrong_option_says() -> None:
    page = "\n".join(
        f"L{n}: {line}"
        for n, line in enumerate(["A script.", "", "It takes", "one script line,", "cycle.cmp", "or two"])
    )
    assert telling_line(page, (), {"script", "cycle"}) == "L4: cycle.cmp"
    assert telling_line(page, ("takes",), {"script"}) == "L2: It takes"
    choices = ("the inlet", "run the cycle script", "the bypass", "none")
    question = QUESTION.model_copy(update={"choices": choices, "target": ChoiceTarget(letters=("A",))})
    events = (*ran("x", page), *ended("Answer: A, B"))
    found = evidence(events, score=wrong().model_copy(update={"extracted": ("A", "B")}))
    told = explained(found, mechanism="lock_in", distraction=None)
    text = flat(shown(explanation(told, conversation=events, question=question)))
    assert "event 1, python gives: │ L4: cycle.cmp" in text


def test_a_page_is_quoted_without_what_the_browser_says_of_it() -> None:
    opened = "[0a1b] Title (https://x)\nlines 0-1 of 2\nL0: First.\nL1: Second."
    assert telling_line(opened, ()) == "L0: First."


def test_calls_are_told_by_what_they_say_first() -> None:
    events = (*ran("import math\n# a comment\ndef twelve():\n    return 3 * 4", "12"), *ended("Answer: B"))
    text = flat(shown(told_of(events)))
    assert "calls python: return 3 * 4" in text
    assert "python gives: 12" in text


def test_an_answer_that_no_result_has_is_said_to_come_from_none() -> None:
    asked = QUESTION.model_copy(update={"choices": (), "target": NumberTarget(value=12)})
    for answer, gave, known in (("77", "12", True), ("77", "77 of them", False), ("about 77", "77.0", False)):
        events = (*ran("print(text)", gave), *ended("Answer: 77"))
        found = evidence(events, **UNREPLAYED, score=wrong().model_copy(update={"extracted": (answer,)}))
        told = explained(found, shares={"own_error": 1.0}, mechanism="own_error", confidence=1.0, distraction=None)
        page = explanation(told, conversation=events, question=asked)
        assert f"It answered “{answer}” (event 2), after 1 call." in part(page, "Verdict")
        assert (f"No result names its answer, {answer}." in part(page, "How we know")) == known, gave


def test_a_simulated_model_is_announced() -> None:
    assert "SIMULATED" in shown(explanation(provider="simulated"))
    assert "SIMULATED" not in shown()


def test_what_needs_no_tool_is_one_where_it_is_likelier_together_than_the_likeliest_cause() -> None:
    shares: dict[Mechanism, float] = {"lock_in": 0.42, "sampling_noise": 0.31, "own_error": 0.27}
    told = explanation(explained(shares=shares, mechanism="sampling_noise", confidence=0.58, distraction=None))
    assert in_short(told) == (
        "Undecided: sampling noise or the model's own error, which need no tool, together: .58, or computational"
        " lock-in: .42."
    )
    assert part(told, "Verdict").startswith(f"Undecided: sampling noise ({WRONG_ANYWAY}) or the model's own error (")
    assert ", which need no tool, together: .58, or computational lock-in (its own computation" in part(told, "Verdict")
    assert contradictions(told) == []


def test_what_would_tell_says_what_has_come_of_it_and_is_not_asked_for_twice() -> None:
    shares: dict[Mechanism, float] = {"own_error": 0.6, "sampling_noise": 0.4}
    few, many = (
        part(
            explanation(
                explained(
                    evidence(pivotal=None, inputs=inputs(replay=Replay(last_reply=(0.0,) * asked))),
                    shares=shares,
                    mechanism="own_error",
                    distraction=None,
                ),
            ),
            "What would tell",
        )
        for asked in (2, 8)
    )
    assert "8 replays of its last reply, drawn again" in few
    assert "So far 0 of 2 right (with its last reply drawn again)." in few
    assert "of its last reply, drawn again" not in many
