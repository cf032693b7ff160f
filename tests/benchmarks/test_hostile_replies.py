"""Reading stays linear: a pattern that backtracks badly would take hours on these, and the time limit would end it."""

import pytest

from toolablate.benchmarks.answer_extraction.letters import read_letters
from toolablate.benchmarks.answer_extraction.numbers import read_number
from toolablate.benchmarks.answer_extraction.spans import read_scaled_spans, read_spans, read_text
from toolablate.benchmarks.scoring.code import read_code
from toolablate.benchmarks.scoring.math import MAX_CHARS, alternatives, is_words, plain, words

UNITS = [
    "answer is ",
    "the answer to a b c d e f g h ",
    "correct answer ",
    "answers choice ",
    "Answer: ",
    "Answer: A or ",
    "Answer: = , ",
    'Answer: ["a", ',
    "答案",
    "因此选",
    "\\boxed{",
    "\\frac{1}{",
    "<answer>",
    "<think>",
    "Question: ",
    "\nQ: ",
    "B <|im_end|> ",
    "answer would be 7 if ",
    "Had they a ",
    " (not A",
    "_*",
    "ab ",
    "(A) ",
    "A, ",
    "option A is ",
    " is (A",
    "but (A) ",
    "or B and ",
    "those who may say ",
    "A. No, wait, ",
    "answer is not A, ",
    "Answer: A if it is, ",
    "but is (A) not ",
    "[",
    "(",
    "9",
    "1,",
    "1/",
    "10^",
    "{,}",
    "-",
    "**",
    "\n",
    " ",
    "\t\u3000",
    "'\"",
    "\ud800",
    "$",
    "$a$ and ",
    "\\(",
    "\\[ ",
    "sqrt(",
    "1e5 ab ",
    "```python\n",
    "```\nx\n",
    "\n- a",
    "\n1. ",
    "Answer:\n- a\n",
]
# The slowest per character, of the above and of combinations that were tried.
WORST = ["A, ", "(A) ", " is (A", "1/", "answer is ", "答案", " ", "\n- a", "\n", "\\(", "```python\n"]


@pytest.mark.deep
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("unit", "opening", "characters"),
    [(unit, opening, 20_000) for unit in UNITS for opening in ("", "Answer: ")]
    + [(unit, "", characters) for unit in WORST for characters in (100_000, 300_000)],
)
def test_long_hostile_replies_are_read(unit: str, opening: str, characters: int) -> None:
    reply = opening + unit * (characters // len(unit))
    for reading in (
        read_letters(reply, "ABCD", ["x", "y y", "answer is", "(A) (A)"]),
        read_number(reply),
        read_scaled_spans(reply)[0],
        read_spans(reply, wanted="one"),
        read_spans(reply, wanted="several", unannounced="whole"),
        read_text(reply),
        read_text(reply, unannounced="whole"),
        read_code(reply, "f"),
    ):
        assert (reading.value is None) == bool(reading.reason)
    cut = reply[:MAX_CHARS]
    assert [plain(cut), is_words(cut), words(cut), *alternatives(cut, "(1, 2)")]


@pytest.mark.deep
def test_an_answer_after_a_long_reply_is_found() -> None:
    reply = "The answer is not clear yet. " * 30_000 + "\nAnswer: C"
    assert read_letters(reply, "ABCD").value == ("C",)
    assert read_number(reply.replace("C", "7")).value == ("7",)
