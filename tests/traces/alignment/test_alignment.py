"""Two conversations, step by step."""

import time

from hypothesis import given
from hypothesis import strategies as st
from tests.traces.alignment.turns import Turn, conversation

from toolablate.analysis.alignment import AlignedRow, Alignment, align, steps_of
from toolablate.traces.records import Failure, Rebuilt

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
    began = time.process_time()
    found = align(one, other)
    assert time.process_time() - began < 30, "a hundred times what it takes"
    alone = [row.left for row in found.rows if row.kind == "left"]
    assert alone == [number for number in range(1_000) if not number % 10]
