import pytest

from toolablate.benchmarks.answer_extraction.announcements import announcements, last_box
from toolablate.benchmarks.answer_extraction.letters import read_letters
from toolablate.benchmarks.answer_extraction.numbers import read_number
from toolablate.benchmarks.answer_extraction.spans import read_spans, read_text


@pytest.mark.parametrize(
    ("reply", "content"),
    [
        (r"So it is \boxed{10}, which occurs when x = 4.", "10"),
        (r"$\boxed{4}$ 30-minute episodes", "4"),
        (r"\boxed{1}, no: \boxed{2}.", "2"),
        (r"The answer is \boxed{4}. The answer is unique, since the answer was 5 before.", "4"),
        (r"\boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{\text{(C)}} is the correct answer: A was close.", r"\text{(C)}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\left\{ x \right.}", r"\left\{ x \right."),
        (r"\boxed{\boxed{5}}", "5"),
        (r"\fbox{7}", "7"),
        (r"\boxed 4.", "4"),
        (r"$\boxed 4$ eggs", "4"),
        (r"\boxed {4}", "4"),
        (r"\boxed4", "4"),
        (r"\boxed{\text{The answer is 5}}", r"\text{The answer is 5}"),
        (r"It is \boxed{3}, and the answer belongs in \boxed{}.", "3"),
        ("\\boxed{3}\n\nQuestion: What is 2+2?\nAnswer: \\boxed{4}", "3"),
    ],
)
def test_the_last_box_decides(reply: str, content: str) -> None:
    assert next(announcements(reply)) == content


@pytest.mark.parametrize(
    ("reply", "head"),
    [
        ("So \\boxed{3}.\n\nAnswer: 5", " 5"),
        ("So \\boxed{3}.\n\n**Final answer:** 5", "** 5"),
        ("So \\boxed{3}.\n\n<answer>5</answer>", "5</answer>"),
        (r"The answer is \boxed{1", "1"),
    ],
)
def test_a_line_of_its_own_below_the_box_comes_before_it(reply: str, head: str) -> None:
    assert next(announcements(reply)) == head


def test_prose_below_a_box_is_looked_at_where_the_box_holds_no_choice() -> None:
    assert list(announcements(r"The answer is \boxed{x^2}. The correct option is B.")) == ["x^2", " B.", " "]
    assert read_letters(r"The answer is \boxed{x^2}. The correct option is B.", "ABCD").value == ("B",)


def test_all_readers_go_by_the_box() -> None:
    assert read_number(r"It is \boxed{10}. The answer is found when x = 4.").value == ("10",)
    assert read_letters(r"It is \boxed{\text{(C)}}. The best option is B of the others.", "ABCD").value == ("C",)
    assert read_spans('It is \\boxed{["a", "b"]}. The answer is a list.').value == ("a", "b")


def test_the_finder_is_for_others_too() -> None:
    assert last_box(r"a \boxed{\text{x}} b") == (r"\text{x}", 2, 18)
    assert last_box(r"a \boxed{\text{x} b") is None
    assert last_box("none") is None


LABELS = [
    "**Answer**: {}",
    "**Answer:** {}",
    "**Answer**: **{}**",
    "**Answer**: ***{}***",
    "**Answer: {}**",
    "**Answer:** *{}*",
    "**Answer** : {}",
    "**Final Answer**: {}",
    "*Answer*: {}",
    "Answer: *{}*",
    "__Answer__: {}",
    "__Answer__: __{}__",
    "_Answer_: _{}_",
    "**Answer**\n\n{}",
    "The **answer** is {}",
]


@pytest.mark.parametrize("label", LABELS)
def test_emphasis_around_the_label_or_the_value_is_seen_by_all_readers(label: str) -> None:
    reply = "There are 99 words before.\n\n" + label
    assert read_number(reply.format("12")).value == ("12",)
    assert read_letters(reply.format("B"), "ABCD").value == ("B",)
    assert read_spans(reply.format("Paris"), wanted="one").value == ("Paris",)
    for text in ("Paris", r"\frac{3}{4}", "x_1"):
        assert read_text(reply.format(text)).value == (text,)


def test_a_mark_that_nothing_opened_belongs_to_the_text() -> None:
    assert read_text("Answer: A*").value == ("A*",)
    assert read_text("**Answer:** A*").value == ("A*",)


@pytest.mark.parametrize("given", ["Answer: {}", "The answer is {}\n", "{}", "**Answer**: {}"])
@pytest.mark.parametrize(
    "following",
    [
        "\n\nQ: What else?\nA: D7\nAnswer: {}",
        "\n\n**Q2.** What else?\n**A**: {}\nAnswer: {}",
        "\n\nQuestion: What else?\nA. x\nB. y\nAnswer: {}",
        "\n\nQuestion 2: What else?\nAnswer: ({})",
        "\n\n## Problem\nWhat else?\nAnswer: {}",
        "\n\n问题：别的？\n答案：{}",
        "<|im_end|>\n<|im_start|>user\nWhat else?\nAnswer: {}",
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\nAnswer: {}",
        "\n\nUser: What else?\nAnswer: {}",
    ],
)
def test_another_question_ends_the_reply_for_all_readers(given: str, following: str) -> None:
    reply = given + following.replace("{}", "{other}")
    assert read_letters(reply.format("B", other="D"), "ABCD").value == ("B",)
    assert read_number(reply.format("12", other="7")).value == ("12",)
    assert read_text(reply.format("12", other="7")).value == ("12",)


def test_a_question_that_is_asked_before_the_answer_ends_nothing() -> None:
    assert read_number("Let me see.\n\nQuestion: How many?\nAnswer: 7").value == ("7",)
    assert read_text("Let me see.\n\nQuestion: Where?\nAnswer: Rome").value == ("Rome",)
    assert read_letters("A good one.\n\nQuestion: Which?\nAnswer: D", "ABCD").value == ("D",)


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("Answer: 12\nIf we had counted zero, the answer would be 13.", "12"),
        ("Answer: 12\n\nNote: without the last step the answer would be 7.", "12"),
        ("The answer is 12. If we had counted zero, the answer would be 13.", "12"),
        ("Answer: 12\n\nHad we counted zero, the answer is 13.", "12"),
        ("To find the answer, add. So the answer would be 12.", "12"),
        ("The answer is found by adding 3 and 4. So the answer would be 12.", "12"),
    ],
)
def test_what_would_be_the_answer_is_none_once_one_was_given(reply: str, number: str) -> None:
    assert read_number(reply).value == (number,)
