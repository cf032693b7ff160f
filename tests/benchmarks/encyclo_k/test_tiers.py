from collections.abc import Callable

import pytest
from tests.benchmarks.encyclo_k.made_replies import CORRECTED, NAMING_NONE, NAMING_ONE, RUN_ON
from tests.benchmarks.kinds import kinds_scored

from toolablate.benchmarks.answer_extraction.announcements import ExtractedAnswer
from toolablate.benchmarks.answer_extraction.letters import read_letters
from toolablate.benchmarks.encyclo_k.scorer import read_letter
from toolablate.benchmarks.scoring.scorers import scorer_for
from toolablate.traces.records import ChoiceTarget, Question

CHOICES = (
    "the sender site",
    "12.5 km",
    "wheat",
    "none of the above",
    "a fruit fly",
    "grass",
    "30",
    "snails",
    "oats",
    "rye",
)
COMBINATIONS = ("I, II", "I, II, III", "II, V", "I, IV, VIII", "I, V", "II, III", "III, V", "I, III", "II, IV", "IV, V")


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        # Standard forms, simplified forms and isolated letters in the last line.
        ("A is tempting.\nThe answer is: C", "C"),
        ("The correct option would be (J).", "J"),
        ("The answer is A.\nAnswer: C", "C"),
        ("**Answer: C**", "C"),
        ("所以选C。", "C"),
        ("我认为A不对。\n答案：C", "C"),
        ("正确选项是：Ｃ", "C"),
        ("The answer is A, I thought. It is not.\n\n(C)", "C"),
        ("The one that fits best is (C).", "C"),
        ("Of all these options, option C is the best answer.", "C"),
        # The same in the whole text.
        ("The answer is (C).\n\nI hope that this is of use.", "C"),
        ("Answer: C\nBecause wheat is a plant.", "C"),
        ("Option C is correct.\nWheat grows.", "C"),
        ("The answer is A. Hm.\nAnswer: C\nThat is better than the first.", "C"),
        ("So the answer is (c) wheat, of course.", "C"),
        # The text of an option.
        ("The plant that it has to be is wheat.", "C"),
        ("Thus the distance comes to 12.5 km.", "B"),
        ("Answer: wheat", "C"),
        ("The answer is not listed, but it is closest to 12.5 km.", "B"),
        ("As far as one can tell, it is due to a fruit fly (E).", "E"),
        ("It then comes to $12.5$ km (Option B).\n\n\n\n\n\nA further one\nA. 2\nB. 3\n", "B"),
        # Runs on to other questions.
        ("The answer is (C).\n\n\nAnswer: The answer is (A).", "C"),
        ("The answer is (C).\n\nQuestion: what else?\nThe answer is (A).", "C"),
        (
            "The answer is (C).\n\nAnswer: The answer is (C).\nAnswer: The answer is (A).\n\nAnswer: The answer is (B).",
            "C",
        ),
        ("The answer is (C).\n\nFinal Answer:\nThe answer is G. 15 N.", "C"),
        ("<think>Answer: A</think>Answer: C", "C"),
    ],
)
def test_the_letter_is_read(reply: str, letter: str) -> None:
    reading = read_letter(reply, "ABCDEFGHIJ", CHOICES)
    assert reading.value == (letter,), reading.reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (None, "empty"),
        ("", "empty"),
        ("Wheat is (C) and grass is (F), as everybody knows, but", "no answer"),
        ("The answer is (A) and (C).", "several letters: A, C"),
        ("The answer is (A) for the first and (C) for the second part.", "several letters: A, C"),
        ("(a) It is wheat. The answer is (C). (b) It is grass. The answer is (F).", "several letters: C, F"),
        ("The answer is not listed, but it is closest to 21.4 $^{\\circ} \\mathrm{C}$.", "no choice fits"),
        ("Answer: A, C", "several letters"),
        ("The answer is (A) or (C).", "undecided"),
        ("The answer is (C) or (the question has no answer).", "undecided"),
        ("Answer: none", "no choice fits"),
        ("The closest option is (A), but it is wrong. Therefore, none of the options are correct.", "no choice fits"),
        ("Answer: K", "K is none of A to J"),
        ("The answer is (B), one would think, but the correct answer is actually (K).", "K is none of A to J"),
        ("The answer is probably some sort of", "names no choice"),
        ("The result is 12.5 km", "no answer"),
        ("The result is 12.5 km and not more.", "no answer"),
        ("It is not wheat.", "no answer"),
        ("It comes to 112.5 km.", "no answer"),
        ("It is wheat, a fruit fly, or so.", "no answer"),
        ("There are 30.", "no answer"),
        ("A. the sender site\nB. 12.5 km\nC", "no answer"),
        ("The philosopher is (A), one thinks. More likely, we mean the school of (C) here.", "no answer"),
        # Named to be denied.
        ("The closest option is (G), but it's not correct.", "names no choice"),
        ("The closest option is (G). However, this is wrong.", "names no choice"),
        ("The answer would be C, but C is incorrect because wheat is a plant.", "names no choice"),
        ("I do not think the answer is C.", "no answer"),
        ("I am not sure that the correct answer is (C).", "no answer"),
        ("If the answer is C, then wheat is a plant", "no answer"),
    ],
)
def test_what_names_no_letter_is_a_miss(reply: str | None, reason: str) -> None:
    reading = read_letter(reply, "ABCDEFGHIJ", CHOICES)
    assert reading.value is None
    assert reason in reading.reason


@pytest.mark.parametrize(
    "reply",
    [
        "The closest option is (C), but it is not exact.",
        "The answer is (C), although D is wrong.",
        "The answer is (C). However, it is wrong to say that wheat grows by itself.",
        "Answer: C\nIf the answer is D, wheat is no plant.",
        "I was not sure, but the answer is C.",
    ],
)
def test_a_letter_beside_another_denial_is_read(reply: str) -> None:
    assert read_letter(reply, "ABCDEFGHIJ", CHOICES).value == ("C",)


@pytest.mark.parametrize("read", [read_letter, read_letters])
@pytest.mark.parametrize(("reply", "letter"), NAMING_ONE)
def test_the_letter_that_is_meant_is_read(reply: str, letter: str, read: Callable[..., ExtractedAnswer]) -> None:
    assert read(reply, "ABCDEFGHIJ", CHOICES).value == (letter,)


@pytest.mark.parametrize("read", [read_letter, read_letters])
@pytest.mark.parametrize(("reply", "letter"), [*RUN_ON, *CORRECTED])
def test_the_first_answer_counts_before_other_questions_and_the_last_after_a_correction(
    reply: str, letter: str, read: Callable[..., ExtractedAnswer]
) -> None:
    choices = ("dry", "12.5 km", "wheat", "smooth", "a fruit fly", "grass", "30", "snails", "oats", "rye")
    assert read(reply, "ABCDEFGHIJ", choices).value == (letter,)


@pytest.mark.parametrize("read", [read_letter, read_letters])
@pytest.mark.parametrize("reply", NAMING_NONE)
def test_a_letter_that_is_denied_or_in_passing_is_a_miss(reply: str, read: Callable[..., ExtractedAnswer]) -> None:
    assert read(reply, "ABCDEFGHIJ", CHOICES).value is None


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Answer: I, II, III", "B"),
        ("The correct statements are I, II and III only.", "B"),
        ("I went through them. The only correct statement is I.\nThat leaves one.\nSo the answer is B.", "B"),
        ("The answer is I and II since both are in the book.", "A"),
        ("The answer is I and III as far as I see.", "H"),
        ("The answer is I and II or II and III.", None),
        ("正确的陈述是I、II、III这三条。", "B"),
        ("正确的陈述是i、iv、viii，对应选项D。", "D"),
        ("综上，i、ii、iii正确。", "B"),
        ("正确的陈述是I、II、IX这三条。", None),
        ("Answer: I, II and III", "B"),
        ("答案：I、II和III", "B"),
        ("The correct statements are III, I, and II.", "B"),
        ("正确的陈述是 I、IV 和 VIII。", "D"),
        ("综上，正确的是 I 和 II，对应选项A", "A"),
        ("Statements I, II, and III are true, and no others are.\nAnswer: I", "I"),
        ("So we are left with I and V.", "E"),
        ("Statement I is correct. Statement II is correct. Statement V is false.", None),
        ("The answer is I, III, and V.", None),
        ("Statements I and II are", None),
        ("Answer: B) I, II, III", "B"),
    ],
)
def test_combinations_of_statements_are_contents_and_no_letters(reply: str, letter: str | None) -> None:
    assert read_letter(reply, "ABCDEFGHIJ", COMBINATIONS).value == (letter and (letter,))


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Answer: i, ii, iii", "B"),
        ("The correct statements are iii, i, and II.", "B"),
        ("正确的陈述是 i、iv 和 viii。", "D"),
        ("The answer is i, iii, and v.", None),
        ("Answer: B", "B"),
    ],
)
def test_combinations_in_small_numerals_are_read_alike(reply: str, letter: str | None) -> None:
    choices = [choice.lower() for choice in COMBINATIONS]
    assert read_letter(reply, "ABCDEFGHIJ", choices).value == (letter and (letter,))


def test_combinations_of_many_statements_are_contents() -> None:
    choices = ["i, xii, xxxix", "ii, xiv", "xx, xxi"]
    assert read_letter("The correct ones are I, XII and XXXIX only.", "ABCDEFGHI", choices).value == ("A",)
    assert read_letter("The answer is XXI and XX.", "ABCDEFGHI", choices).value == ("C",)
    assert read_letter("The answer is I and XL.", "ABCDEFGHI", choices).value != ("A",)


def test_a_letter_is_read_where_the_choices_stand_in_the_prompt() -> None:
    assert read_letter("Answer: C", "ABCDEFGHIJ").value == ("C",)


@pytest.mark.parametrize(
    ("answer", "verdict", "value"),
    [("Answer: B", "correct", 1.0), ("Answer: A", "wrong", 0.0), ("Answer: A, B", "unparsed", 0.0)],
)
def test_the_scorer_wants_the_one_right_letter(answer: str, verdict: str, value: float) -> None:
    question = Question(id="q", prompt="p", choices=CHOICES, target=ChoiceTarget(letters=("B",)))
    score = scorer_for("encyclo-k").score(question, "t", answer)
    assert (score.verdict, score.value, score.scorer) == (verdict, value, "encyclo-k")
    excluding = scorer_for("encyclo-k", unparsed="exclude")
    assert excluding.name == "encyclo-k[unparsed=exclude]"
    assert excluding.score(question, "t", "no").value is None


def test_a_target_with_several_letters_is_unscored() -> None:
    question = Question(id="q", prompt="p", choices=CHOICES, target=ChoiceTarget(letters=("B", "C")))
    score = scorer_for("encyclo-k").score(question, "t", "Answer: B")
    assert (score.verdict, score.value) == ("unscored", None)
    assert "B, C" in score.reason


@pytest.mark.parametrize(
    ("answer", "verdict", "given"),
    [
        ("The answer is (B).\nAnswer: A", "wrong", ("A",)),
        ("The correct option is $\\boxed{B}$. It is not A.", "correct", ("B",)),
        ("The answer is: a matter of taste. Answer: B", "wrong", ("a",)),
        ("Answer: J", "wrong", ("J",)),
        ("B. 12.5 km", "correct", ("B",)),
        ("The answer is: 12.5 km", "correct", ("B",)),
        ("The answer is (B) or (C).", "correct", ("B",)),
        ("Option B is right.", "unparsed", ()),
        ("", "unparsed", ()),
    ],
)
def test_the_official_scorer_reads_as_published(answer: str, verdict: str, given: tuple[str, ...]) -> None:
    question = Question(id="q", prompt="p", choices=CHOICES[:4], target=ChoiceTarget(letters=("B",)))
    score = scorer_for("encyclo-k-official").score(question, "t", answer)
    assert (score.verdict, score.extracted, score.scorer) == (verdict, given, "encyclo-k-official")
    assert bool(score.reason) == (verdict == "unparsed")


@pytest.mark.parametrize("name", ["encyclo-k", "encyclo-k-official"])
def test_a_target_of_another_kind_is_unscored(name: str) -> None:
    assert kinds_scored(name) == {"choice"}
