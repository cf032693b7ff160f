"""Reading stays linear: whatever grows with the square of the text would take hours, and the time limit would end it."""

import pytest

from toolablate.benchmarks.encyclo_k.scorer import read_letter, read_official

TEXTS = ("x", "y y", "answer is (A) and on and on", "(A) (A) the beginning of a text")
COMBINATIONS = ("I, II, III", "I, II", "II, III", "I, V, VI")
UNITS = (
    "Answer: ",
    "(A",
    " ",
    "\n",
    "(A) ",
    "is (A). (B) x. ",
    "I, II, ",
    "I、",
    "I, II",
    "statement I ",
    "(A) the beginning of a ",
    "answer is (A) and on and ",
    "Answer: A\n",
    "The answer is (B).\n",
    "The answer is (B).\n\n- - -",
    "Answer: (A) for a b c and ",
    "none of the options are ",
    "closest to ",
    "Question 1: Answer: ",
    "option A is correct. ",
    "答案：",
    ". ",
    "closest is (G), but ",
    "I do not think the ",
    "G, but it is not correct ",
    "if C is correct ",
    "those who may say ",
    "answer is not C, ",
    "Answer: C. Actually no, ",
    "no, wait, ",
    "Answer: C if it is, ",
    "# not, but so it is ",
    "不是A而是",
    "不认为答案是",
    "C. 不对,应该是",
    "answer is C ?",
    "C (not the ",
    "(C) is correct. (D) is wrong ",
    "corresponds to option A. ",
    "The answer is (A).\n",
    "The answer is (A).\nx. ",
    "is: A. x ",
    "Answer: a, b, ",
)

UNITS_OF_OFFICIAL = ("the answerx ", "the answer x ", "Answer: ", "(", "\\boxed{", "\\", "*", " ", "\n", "A)", "[\n")

LONGEST = ("Answer: ", "(A", " ", "(A) the beginning of a ", "I, II, ", "I、", "is (A). (B) x. ")


@pytest.mark.deep
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("unit", "characters"), [(unit, 50_000) for unit in UNITS] + [(unit, 200_000) for unit in LONGEST]
)
def test_hostile_replies_are_read(unit: str, characters: int) -> None:
    for choices in (TEXTS, COMBINATIONS):
        reading = read_letter(unit * (characters // len(unit)), "ABCD", choices)
        assert (reading.value is None) == bool(reading.reason)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", UNITS_OF_OFFICIAL)
@pytest.mark.parametrize("opening", ["", "the answerx ", "Answer:"])
def test_hostile_replies_are_read_as_published(unit: str, opening: str) -> None:
    reading = read_official(opening + unit * (200_000 // len(unit)) + "~", TEXTS)
    assert (reading.value is None) == bool(reading.reason)


@pytest.mark.deep
@pytest.mark.timeout(60)
@pytest.mark.parametrize("unit", ["long ", "a", "I, ", "long long option "])
def test_long_options_cost_no_more(unit: str) -> None:
    options = [f"{'long ' * 4_000}{number}" for number in range(20)]
    options += ["a" * 20_000, "long long option " * 2_000]
    read_letter(f"{unit * (400_000 // len(unit))}.", "ABCDEFGHIJKLMNOPQRSTUV", options)


def test_an_answer_after_a_long_reply_is_found() -> None:
    assert read_letter("The answer is not clear yet. " * 30_000 + "\nAnswer: C", "ABCD", TEXTS).value == ("C",)
