from collections.abc import Callable, Iterator
from typing import Any

import pytest

from toolablate.benchmarks.answer_extraction.letters import read_letters

Recorded = Callable[[str], Iterator[dict[str, Any]]]
CHOICES = ["Virtue ethics", "A bird in the hand", "Ethics of care", "0.5", "5 km"]


@pytest.mark.parametrize(
    ("reply", "letters"),
    [
        ("Answer: C", "C"),
        ("Answer: (C)", "C"),
        ("**Answer:** C", "C"),
        ("**Answer: C**", "C"),
        ("Answer: **C. Ethics of care**", "C"),
        ("ANSWER: c", "C"),
        ("Answer - C", "C"),
        ("answer = C", "C"),
        ("### Final Answer\n\nC", "C"),
        ("## Answer:\n\n**C**", "C"),
        ("The answer is (C).", "C"),
        ("The answer is: C because of care", "C"),
        ("The correct option is C.", "C"),
        ("The best answer would be option C, I believe.", "C"),
        ("The answer to this old question is (C).", "C"),
        ("Therefore, the most appropriate choice is [C].", "C"),
        ("\\boxed{C}", "C"),
        ("$$\\boxed{\\text{C}}$$", "C"),
        ("\\[\\boxed{\\mathrm{(C)}}\\]", "C"),
        ("\\(C\\) hm. Answer: \\(C\\)", "C"),
        ("<answer>C</answer>", "C"),
        ('{"reasoning": "...", "answer": "C"}', "C"),
        ("答案：C", "C"),
        ("答案是AC", "AC"),
        ("答案：（C）。", "C"),
        ("**答案**：Ｃ", "C"),
        ("最终答案为 A、C", "AC"),
        ("因此选C。", "C"),
        ("故选：C", "C"),
        ("正确选项是A和C", "AC"),
        ("选项A错误，选项C正确的答案", "C"),
        ("Answer: Ｃ", "C"),
        ("Answer: 𝐂", "C"),
        ("Answer: A and C", "AC"),
        ("Answer: A, C", "AC"),
        ("Answer: A, C, and D.", "ACD"),
        ("Answer: (A), (C)", "AC"),
        ("Answer: A & C", "AC"),
        ("Answer: A/C", "AC"),
        ("Answer: AC", "AC"),
        ("Answer: C, A, C", "AC"),
        ("Answer: A C", "AC"),
        ('Answer: ["A", "C"]', "AC"),
        ("Answer: options A and C", "AC"),
        ("Answer: both A and C", "AC"),
        ("Answer: Ethics of care", "C"),
        ("Answer: ethics  of CARE.", "C"),
        ("The answer is a bird in the hand, as they say", "B"),
        ("Answer: 0.5", "D"),
        ("Answer: 5 km (E)", "E"),
        ("The answer is 6 km (E).", "E"),
        ("Answer: C\n\nI hope this helps! A good question, B students like it.", "C"),
        ("Answer: B. No wait, that is wrong.\nAnswer: C", "C"),
        ("The answer is B. Hm, the answer is C", "C"),
        ("The answer is (C). The answer is not A.", "C"),
        ("The answer is not listed, but the closest option is (C)", "C"),
        ("The answer is not listed, but it is closest to (C).", "C"),
        ("<think>The answer is A</think>The answer is C", "C"),
        ("The answer is (C).\n\nQuestion: What is next?\nThe answer is (A).", "C"),
        ("C", "C"),
        ("c", "C"),
        ("(C)", "C"),
        ("C.", "C"),
        ("C. Ethics of care", "C"),
        ("Ethics of care", "C"),
        ("Let me think.\n\nC", "C"),
        ("Option C is correct, the others are not.", "C"),
        ("I choose (C).", "C"),
        ("The most likely explanation is (C).", "C"),
        ("The answer is C cells\nAnswer: C", "C"),
        ("The answer is (c) ethics of care, I think", "C"),
        ("The answer is not listed, but it is closest to 0.5.", "D"),
        ("The answer is (A) for the first and (C) for the second.", "AC"),
        ("(a) The answer is (A). (b) The answer is (C).", "AC"),
        ("The one that fits is (C). Options (A) and (B) are not accurate.", "C"),
        ("The answer is (C).\n\nFinal Answer:\nThe answer is B. 15 N.", "C"),
        ("The answer is (C).\nAnswer: The answer is (B).", "C"),
        ("Answer: a,c", "AC"),
        ("Answer: a, c and d.", "ACD"),
        ("Answer: (a), (c)", "AC"),
        ("Answer: a) virtue ethics", "A"),
        ("The philosophy that holds this is: C. Ethics of care", "C"),
        ("So the one that fits would be:\n\nA. Virtue ethics", "A"),
        ("It is a virtue, as stated in option A.", "A"),
        ("After this comes the C. ethics of care stage.", "C"),
        ("The answer is (C).\n- The answer is (B).\n- The answer is (A).\n- The answer is (D).", "C"),
        ("B\n\n2. Which is next?\nA. x\nB. y\nAnswer: D", "B"),
        ("C. Ethics of care\n\nQuestion: Which is next?\nAnswer: D", "C"),
        ("C\nIt is care.\n\nQuestion: Which is next?\nAnswer: D", "C"),
        ("Answer: B\n\nSorry, the answer is A.", "A"),
        ("Answer: B\nOh no, sorry: the answer is A.", "A"),
        ("Initial answer: B\nRevised answer: D", "D"),
        ("Initial answer: B\n\nHm. The answer is D.", "D"),
        ("Answer: B? No. D.", "D"),
        ("B\n\nWait, no. C", "C"),
        ("Final answer: A\n\nNote: if the question had meant something else, the answer would be B.", "A"),
        ("Answer: B\n\nHad they asked for the fourth, the answer is D.", "B"),
        ("Answer: B\n\n(If they had asked for the fourth, the answer is D.)", "B"),
        ("B (not D)", "B"),
        ("B, not D", "B"),
        ("I think B is the answer.", "B"),
        ("My choice: B", "B"),
        ("My guess would be (B).", "B"),
        ("Answer: Not A, but B", "B"),
        ("The answer is definitely not D; it's B.", "B"),
        ("B\nExplanation: A is too hot; the answer is not C.", "B"),
    ],
)
def test_final_answers_are_read(reply: str, letters: str) -> None:
    reading = read_letters(reply, "ABCDE", CHOICES)
    assert reading.value == tuple(letters), reading.reason


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n\t", "empty"),
        ("<think>The answer is A</think>", "empty"),
        ("I am not sure what to say.", "no answer is announced"),
        ("Answer: F", "F is none of A to E"),
        ("Answer: Z", "Z is none of A to E"),
        ("Answer: A, F", "F is none of A to E"),
        ("The answer is B. Answer: F", "F is none of A to E"),
        ("Answer: B or C", "undecided between B and C"),
        ("答案：B或C", "undecided"),
        ("Answer: none of the above", "no choice fits"),
        ("The closest option is (A). Therefore, none of the options are correct.", "no choice fits"),
        ("The answer is (C) or (no number at all).", "undecided between C and something else"),
        ("The thinker is (A) by name. But the school is rather that of (C), one hears.", "no answer"),
        ("Answer: N/A", "no choice fits"),
        ("The answer is (None of the above)", "no choice fits"),
        ("The answer is B. Hm. Answer: none", "no choice fits"),
        ("The answer is not listed.", "no choice fits"),
        ("Answer: A virtue", "names no choice"),
        ("Answer: A bird", "names no choice"),
        ("Answer: I think so", "names no choice"),
        ("The answer is F = ma", "names no choice"),
        ("The answer is -0.5", "names no choice"),
        ("The answer is 0.51", "names no choice"),
        ("The answer is C-reactive protein", "names no choice"),
        ("Answer:", "names no choice"),
        ("The answer is (", "names no choice"),
        ("A. Virtue ethics\nB", "no answer"),
        ("Answer: a or c", "undecided between A and C"),
        ("Answer: a bird, c", "names no choice"),
        ("One of the options is: C. Ethics of care", "no answer"),
        ("It is C. Ethics of care. Rather, it is close to (A) here.", "no answer"),
        ("A, B, C, D and E were considered at length.", "no answer"),
        ("Refusal: I cannot help with that.", "no answer"),
    ],
)
def test_what_is_no_answer_is_unread_with_its_reason(reply: str | None, reason: str) -> None:
    reading = read_letters(reply, "ABCDE", CHOICES)
    assert reading.value is None
    assert reason in reading.reason


def test_a_text_that_two_choices_share_decides_nothing() -> None:
    assert read_letters("Answer: same", "ABC", ["same", "same", "other"]).value is None


def test_a_text_of_capitals_is_not_a_run_of_letters() -> None:
    assert read_letters("Answer: AB", "ABCD", ["A", "B", "AB", "O"]).value == ("C",)
    assert read_letters("Answer: A", "ABCD", ["B", "A", "AB", "O"]).value == ("A",)


def test_letters_are_read_where_the_choices_stand_in_the_prompt() -> None:
    assert read_letters("Answer: J", "ABCDEFGHIJKLMNOPQRSTUVWXYZ").value == ("J",)


@pytest.mark.deep
def test_real_replies(recorded: Recorded) -> None:
    """MMLU-Pro replies of four models against the letters of the authors' extractor.

    Of the 127 disagreements 66 are replies without an answer for which the authors guessed a letter; nearly all others
    are replies that name several letters, where theirs takes the first, or that correct themselves, where it takes
    the earlier. The published extractor of Encyclo-K agrees in 2,652 and reads 111 of the 457 that the authors' did not.
    """
    agreed = announced = rescued = 0
    for row in recorded("mmlu_pro_outputs.jsonl"):
        allowed = "ABCDEFGHIJ"[: len(row["options"])]
        for output in row["outputs"].values():
            letters = read_letters(output["text"], allowed, row["options"]).value
            if output["pred"] is None:
                rescued += letters is not None
            else:
                announced += 1
                agreed += letters == (output["pred"],)
    assert announced == 2743
    assert agreed >= 2615
    assert rescued >= 130
