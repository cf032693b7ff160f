"""Where two conversations begin to speak for different answers, and in what trials differ by design."""

from tests.traces.alignment.turns import Turn, conversation
from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, SIMULATED

from toolablate.analysis.alignment import Differing, align, parting, settings, stated_answers, steps_of
from toolablate.traces.records import Budget, Condition, InterventionUse, Resumption, Swap, ToolUse, Trial

YES: Turn = ("So the answer is A.", "print(1)", "1")
NO: Turn = ("So the answer is B.", "print(1)", "1")
SILENT: Turn = ("Let me look.", "print(1)", "1")


def _parting(left: list[Turn], right: list[Turn]) -> int | None:
    found = align(conversation(left), conversation(right))
    return parting(found, *(stated_answers(side, QUESTIONS[0]) for side in (found.left, found.right)))


def test_answers_part_where_they_differ_to_the_end() -> None:
    final_yes, final_no = ("A", "", ""), ("B", "", "")
    assert _parting([SILENT, YES, final_yes], [SILENT, NO, final_no]) == 1
    assert _parting([SILENT, YES, final_yes], [SILENT, NO, final_yes]) is None, "they agree in the end"
    assert _parting([YES, final_yes], [YES, final_no]) == 1
    assert _parting([YES, final_yes], [SILENT, ("I cannot tell.", "", "")]) is None, "one says nothing"


def test_one_letter_is_an_answer_at_the_end_alone() -> None:
    steps = steps_of(conversation([("A", "print(1)", "1"), ("A", "", "")]))
    assert stated_answers(steps, QUESTIONS[0]) == ((), ("A",))
    assert stated_answers((), QUESTIONS[0]) == ()


def test_settings_are_those_that_differ() -> None:
    trial = Trial(question=QUESTIONS[0].identity(), model=MODEL.identity(), condition=NONE.identity())
    assert settings((trial, MODEL, NONE), (trial, MODEL, NONE)) == ()
    tools = ToolUse(name="search", options={"results": 3})
    noisy = Condition(
        name="noisy",
        prompt="Think.",
        tools=(ToolUse(name="python"), tools),
        budget=Budget(turns=3),
        interventions=(InterventionUse(name="fail", options={"rate": 0.6}),),
    )
    found = {each.name: each for each in settings((trial, MODEL, NONE), (trial, MODEL, noisy))}
    assert list(found) == ["condition", "prompt", "tools", "budget", "interventions"]
    assert found["tools"] == Differing("tools", "", "python, search (results 3)")
    assert found["interventions"].right == "fail (rate 0.6)"
    assert "turns 3" in found["budget"].right
    assert [each.name for each in settings((trial, MODEL, CODE), (trial, SIMULATED, CODE))][:1] == ["model"]


def test_the_change_of_a_replay_is_told() -> None:
    trial = Trial(question=QUESTIONS[0].identity(), model=MODEL.identity(), condition=CODE.identity())
    resumed = Resumption(trial="3f" * 16, event=4, change=Swap(content="null", text="No result."))
    replay = CODE.model_copy(update={"resumed": resumed})
    found = {each.name: each for each in settings((trial, MODEL, CODE), (trial, MODEL, replay))}
    assert found["condition"].right == "replay of 3f3f3f3f3f"
    assert found["change"].right == "swap from event 4: content null, text No result."
