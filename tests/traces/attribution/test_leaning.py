"""What a text speaks for, and that it takes no more than linear time to find out."""

import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolablate.analysis.attribution.signals import answers as reader
from toolablate.analysis.attribution.signals.answers import AnswerForm, final_answer, leaning, texts_of

LETTERS = AnswerForm("letters", "ABCD")
MMLU_PRO = AnswerForm("letters", "ABCDEFGHIJ")
DATA = Path(os.environ.get("TOOLABLATE_DATA", Path(__file__).parents[4] / "shared/data")) / "mmlu_pro_outputs.jsonl"
NUMBER = AnswerForm("number")
TEXT = AnswerForm("text")


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("I think it is C.", "C"),
        ("Answer: A", "A"),
        ("**Answer:** (B)", "B"),
        ("Answer: A, C", "AC"),
        ("So the answer must be B, I think.", "B"),
        ("Given the results, I now think the answer is D.", "D"),
        ("I'm leaning towards B because of x", "B"),
        ("I would lean to option (A) since it fits", "A"),
        ("I'd go with D", "D"),
        ("Option B is correct", "B"),
        ("The correct option is B.", "B"),
        ("Therefore, C is the correct answer.", "C"),
        ("$\\boxed{\\text{D}}$", "D"),
        ("The answer isn't C, it is D.", "D"),
        ("The page says the answer is C, but I think it is B.", "B"),
        ("Some say C. I pick A.", "A"),
        ("First I thought the answer is A. Now I believe it is B.", "B"),
        ("I think it is A. No, A is wrong. It must be D.", "D"),
        ("It is not B. On reflection I think it is B.", "B"),
        ("Answer: C. A is wrong, and B is not it.", "C"),
        ("答案：C", "C"),
        ("我认为应该选C", "C"),
        ("我倾向于B", "B"),
        ("所以选B", "B"),
        ("答案不是C，而是B。", "B"),
    ],
)
def test_a_leaning_is_read(text: str, letters: str) -> None:
    assert leaning(text, LETTERS) == tuple(letters)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Let me compute this.",
        "The answer is not C.",
        "I don't think it is C",
        "The page says the answer is C.",
        "According to the forum, the answer is B",
        "If the answer is C, then x is even.",
        "Let me check whether it is C",
        "Is it C or D?",
        "The answer is C? Hardly.",
        "It is A good question",
        "The answer is A bit long",
        "vitamin C is the best",
        "A和C正确",
        "答案不是C",
        "如果答案是C",
        "Answer: E",
        "选项（C）与此无关",
        "I thought the answer is C. But it is not C.",
        "I think it is B. Hm, B cannot be.",
        "我认为选C，但C是错的",
    ],
)
def test_silence_is_silence(text: str) -> None:
    assert leaning(text, LETTERS) == ()


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("The answer is 1,200.50", "1200.5"),
        ("I think it is about 42.", "42"),
        ("Answer: -3", "-3"),
        ("Answer: $12", "12"),
        ("答案是3.5", "3.5"),
    ],
)
def test_numbers_have_one_form(text: str, number: str) -> None:
    assert leaning(text, NUMBER) == (number,)


@pytest.mark.parametrize("text", ["the answer is not 5", "x = 5", "it is 5"])
def test_numbers_that_are_no_answer_are_none(text: str) -> None:
    assert leaning(text, NUMBER) == ()


def test_a_final_reply_may_be_the_answer_alone() -> None:
    assert final_answer("C", LETTERS) == ("C",)
    assert final_answer("It follows.\n(B)", LETTERS) == ("B",)
    assert final_answer("7", NUMBER) == ("7",)
    assert final_answer('["$13.330", "Net  Sales"]', TEXT) == ("13.33", "net sales")
    assert final_answer("So the answer is:\nFoo bar.", TEXT) == ("foo bar",)
    assert final_answer("According to the page, the answer is B.", LETTERS) == ("B",)
    assert final_answer("x" * 1_000, TEXT) == ()
    assert texts_of("[" * 19_000) == ()


def test_letters_of_real_replies_are_those_that_were_extracted() -> None:
    """By the benchmark's authors, who take the first of several letters; for Llama they are partly guesses."""
    if not DATA.exists():
        pytest.skip(f"the recorded data are not here: {DATA} (set TOOLABLATE_DATA to their folder)")
    with DATA.open(encoding="utf-8") as lines:
        outputs = [output for line in lines for output in json.loads(line)["outputs"].items()]
    known = [output for model, output in outputs if "Llama" not in model and output["pred"] is not None]
    read = [(final_answer(output["text"], MMLU_PRO), (output["pred"],)) for output in known]
    assert len(read) == 1_943
    assert sum(found == pred for found, pred in read) >= 0.965 * len(read)
    assert sum(bool(found) and found != pred for found, pred in read) <= 0.025 * len(read)


HOSTILE = (
    "the answer is ",
    "I think ",
    "A, ",
    "answer: A and ",
    "\\boxed{ ",
    "option A is ",
    "[",
    "9,",
    "if not ",
    "答案",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_are_read_in_bounded_time(piece: str) -> None:
    """The tests' time limit is what holds it: five million characters each."""
    text = piece * (5_000_000 // len(piece))
    for form in (LETTERS, NUMBER, TEXT):
        leaning(text, form)


PIECES = (
    *HOSTILE,
    *(
        "A",
        "C ",
        "I will go with ",
        "B is right",
        "(D) must be the best",
        "选B",
        "B是正确的",
        "12.5 ",
        "$1,200",
        "\n",
        ". ",
    ),
    *("A cat sat. ", "words that lead nowhere and hold no letter. " * 30, "x" * 600, "7" * 600, "C" * 600),
)


@settings(max_examples=200, deadline=None)
@given(pieces=st.lists(st.sampled_from(PIECES), max_size=30))
def test_what_is_read_around_letters_and_numbers_alone_is_what_all_would_be(pieces: list[str]) -> None:
    text = "".join(pieces)
    for first, pattern in (reader._LETTER_ALONE, reader._LETTER), (reader._FIRST_DIGIT, reader._NUMBER):
        near = [match.span() for match in reader._near(first, pattern, text)]
        assert near == [match.span() for match in pattern.finditer(text)]
        parsed = re._parser.parse(pattern.pattern, pattern.flags & re.MULTILINE)  # type: ignore[attr-defined]
        assert parsed.getwidth()[1] + 20 <= reader._LONGEST
