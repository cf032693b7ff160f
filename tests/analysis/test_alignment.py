"""Conversations of turns that are said in short."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.traces.samples import CODE, MODEL, NONE, QUESTIONS, SIMULATED

from toolablate.analysis.alignment import (
    LONGEST,
    MOST_TOKENS,
    AlignedRow,
    Alignment,
    Differing,
    DiffPiece,
    align,
    parting,
    pieces,
    settings,
    side_of,
    stated_answers,
    steps_of,
)
from toolablate.traces.records import (
    Answer,
    Budget,
    Condition,
    Event,
    Failure,
    InterventionUse,
    Message,
    ModelCall,
    ModelReply,
    ModelRequest,
    Rebuilt,
    Resumption,
    Swap,
    ToolCall,
    ToolRequest,
    ToolUse,
    Trial,
)

ASKED = ModelRequest(messages=(Message(role="user", content="Which?"),))
Turn = tuple[str, str, str]
"""What the model says, the code that it runs ("" for none), and what that prints."""


def conversation(turns: Sequence[Turn], *, salt: str = "") -> tuple[Event, ...]:
    """`salt` makes ids of calls that no other conversation has."""
    events: list[Event] = []
    for number, (said, code, printed) in enumerate(turns):
        call = ToolRequest(id=f"{salt}{number}", name="python", arguments=f'{{"code": "{code}"}}')
        message = Message(role="assistant", content=said, tool_calls=(call,) if code else ())
        reply = ModelReply(message=message, finish_reason="tool_calls" if code else "stop")
        events.append(ModelCall(at=len(events), request=ASKED, reply=reply))
        if code:
            events.append(ToolCall(at=len(events), call=call, output=printed))
    if turns and not turns[-1][1]:
        events.append(Answer(at=len(events), text=turns[-1][0]))
    return tuple(events)


# Two conversations, step by step.


TURNS = st.lists(
    st.tuples(
        st.sampled_from(["", "Let me compute the sum.", "Now the product of both.", "Perhaps C is right."]),
        st.sampled_from(["", "print(1)", "print(2)", "sum(range(10))"]),
        st.sampled_from(["1", "2", "45"]),
    ),
    max_size=9,
)
SEARCHED: Turn = ("I look at the growth rates.", "print(growth)", "0.1 0.2")
ANSWERED: Turn = ("The smallest growth wins.\n\nAnswer: A", "", "")


def _kinds(found: Alignment) -> list[str]:
    return [row.kind for row in found.rows]


@given(TURNS)
def test_a_conversation_beside_itself_has_no_divergence(turns: list[Turn]) -> None:
    found = align(conversation(turns, salt="a"), conversation(turns, salt="b"))
    assert set(_kinds(found)) <= {"same"}
    assert found.divergence is None
    assert found.results is None
    assert [(row.left, row.right) for row in found.rows] == [(each, each) for each in range(len(turns))]


@given(TURNS, TURNS)
def test_every_step_is_in_one_row_in_order(one: list[Turn], other: list[Turn]) -> None:
    found = align(conversation(one), conversation(other))
    assert [row.left for row in found.rows if row.left is not None] == list(range(len(one)))
    assert [row.right for row in found.rows if row.right is not None] == list(range(len(other)))
    assert all((row.left is None) == (row.kind == "right") for row in found.rows)
    assert all((row.right is None) == (row.kind == "left") for row in found.rows)


@given(TURNS, TURNS)
def test_swapping_the_sides_mirrors_the_rows(one: list[Turn], other: list[Turn]) -> None:
    there, back = (align(conversation(a), conversation(b)) for a, b in ((one, other), (other, one)))
    mirrored = {(row.right, row.left) for row in back.rows}
    assert mirrored == {(row.left, row.right) for row in there.rows}
    assert there.divergence == back.divergence
    assert there.results == back.results


def test_the_final_replies_stand_side_by_side_whatever_one_side_called_before() -> None:
    found = align(conversation([ANSWERED]), conversation([SEARCHED, ("By head count.\nAnswer: E", "", "")]))
    assert found.rows == (AlignedRow(None, 0, "right"), AlignedRow(0, 1, "reply"))
    assert found.divergence == 0


def test_a_step_that_one_side_has_more_stands_alone() -> None:
    more: Turn = ("One check of the limit at infinity by sympy.", "limit(f, n, oo)", "0")
    found = align(conversation([SEARCHED, more, ANSWERED]), conversation([SEARCHED, ANSWERED]))
    assert found.rows == (AlignedRow(0, 0, "same"), AlignedRow(1, None, "left"), AlignedRow(2, 1, "same"))


def test_what_was_shown_after_the_same_words_is_no_divergence_yet() -> None:
    swapped = (*SEARCHED[:2], "nothing found")
    found = align(conversation([SEARCHED, ANSWERED]), conversation([swapped, ("Answer: E", "", "")]))
    assert _kinds(found) == ["results", "reply"]
    assert (found.results, found.divergence) == (0, 1)


def test_the_layout_of_arguments_says_nothing() -> None:
    (asked, *rest), other = conversation([SEARCHED]), conversation([SEARCHED])
    assert asked.kind == "model_call"
    call = asked.reply.message.tool_calls[0]
    spaced = call.model_copy(update={"arguments": call.arguments.replace(":", " : ")})
    message = asked.reply.message.model_copy(update={"tool_calls": (spaced,)})
    laid_out = asked.model_copy(update={"reply": asked.reply.model_copy(update={"message": message})})
    assert align((laid_out, *rest), other).divergence is None


def test_events_around_replies_are_in_their_steps() -> None:
    failure = Failure(at=0, boundary="model", code="rate_limit", message="later", retried=True)
    asked, called, final, answer = conversation([SEARCHED, ANSWERED])
    events = (failure, asked, called, failure, Rebuilt(at=3, calls=1), final, answer)
    steps = steps_of(events)
    assert [step.first for step in steps] == [0, 5]
    assert tuple(event for step in steps for event in step.events) == events
    assert steps[0].asked == asked
    assert steps_of((failure,))[0].asked is None
    assert steps_of(()) == ()


def test_a_thousand_steps_beside_a_thousand_others_take_no_time() -> None:
    words = [f"alpha{number % 37} beta{number} gamma{number % 11} " * 40 for number in range(1_000)]
    one = conversation([(text, f"f({number})", "1") for number, text in enumerate(words)])
    other = conversation([(text, f"g({number})", "1") for number, text in enumerate(words) if number % 10])
    found = align(one, other)
    alone = [row.left for row in found.rows if row.kind == "left"]
    assert alone == [number for number in range(1_000) if not number % 10]


# Where two conversations begin to support different answers, and in what trials differ by design.


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


# What differs between two texts.


TEXTS = st.lists(st.sampled_from(["the ", "cat", "dog", " sat", ".", "\n", "是", "的", "  ", "é"]), max_size=30).map(
    "".join
)


def _shown(left: str, right: str) -> str:
    marks = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(marks[piece.kind].format(piece.text) for piece in pieces(left, right))


@given(TEXTS, TEXTS)
def test_both_texts_are_in_the_pieces(left: str, right: str) -> None:
    found = pieces(left, right)
    assert "".join(piece.text for piece in side_of(found, "left")) == left
    assert "".join(piece.text for piece in side_of(found, "right")) == right
    assert all(piece.text for piece in found)


@given(TEXTS)
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert pieces(text, text) == ((DiffPiece(text, "same"),) if text else ())


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        ("It is A.", "It is B.", "It is [-A-]{+B+}."),
        ("the allocation", "the allotment", "the [-allocation-]{+allotment+}"),
        ("sat on mats", "sat mats", "sat [-on -]mats"),
        ("答案是甲", "答案是乙", "答案是[-甲-]{+乙+}"),
        ("one two", "three four", "[-one two-]{+three four+}"),
        ("", "new", "{+new+}"),
        ("So the sum of it. Right.", "So the limit of all. Right.", "So the [-sum of it-]{+limit of all+}. Right."),
        ("No result.", "It grows", "[-No result.-]{+It grows+}"),
    ],
)
def test_words_are_kept_whole(left: str, right: str, shown: str) -> None:
    assert _shown(left, right) == shown


def test_long_texts_are_compared_by_lines() -> None:
    lines = [f"{number} one two three\n" for number in range(MOST_TOKENS // 2)]
    changed = ["first\n", *lines[1:-1], "last\n"]
    found = pieces("".join(lines), "".join(changed))
    assert [piece.kind for piece in found] == ["removed", "added", "same", "removed", "added", "same"], (
        "the last line feed"
    )
    assert found[0].text == lines[0], "whole lines"


def test_hostile_texts_take_no_time() -> None:
    for left, right in (
        ("a " * LONGEST, "a a" * LONGEST),
        ("x\n" * LONGEST + "y", "y" + "x\n" * LONGEST),
        ("ab" * (MOST_TOKENS - 1), "ba" * MOST_TOKENS),
        (" ." * (MOST_TOKENS // 2 - 1), ". " * (MOST_TOKENS // 2 - 1)),
        ("\u202e" * 2_000_000, "\u202e" * 2_000_001),
    ):
        pieces(left, right)


def test_texts_with_next_to_nothing_in_common_are_whole() -> None:
    left, right = "The call failed: there is no result of it.", "Results for the limits: it grows, as of now."
    assert pieces(left, right) == (DiffPiece(left, "removed"), DiffPiece(right, "added"))
    assert len(pieces(left, f"{left} {right * 20}")) == 2, "what was only added to is not another text"
