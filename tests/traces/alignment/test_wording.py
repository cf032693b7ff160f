"""What differs between two texts."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.analysis.alignment import LONGEST, MOST_TOKENS, Piece, pieces, side_of

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
    assert pieces(text, text) == ((Piece(text, "same"),) if text else ())


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
    began = time.process_time()
    for left, right in (
        ("a " * LONGEST, "a a" * LONGEST),
        ("x\n" * LONGEST + "y", "y" + "x\n" * LONGEST),
        ("ab" * (MOST_TOKENS - 1), "ba" * MOST_TOKENS),
        (" ." * (MOST_TOKENS // 2 - 1), ". " * (MOST_TOKENS // 2 - 1)),
        ("\u202e" * 2_000_000, "\u202e" * 2_000_001),
    ):
        pieces(left, right)
    assert time.process_time() - began < 30


def test_texts_with_next_to_nothing_in_common_are_whole() -> None:
    left, right = "The call failed: there is no result of it.", "Results for the limits: it grows, as of now."
    assert pieces(left, right) == (Piece(left, "removed"), Piece(right, "added"))
    assert len(pieces(left, f"{left} {right * 20}")) == 2, "what was only added to is not another text"
