import pytest

from toolablate.benchmarks.extraction import read_letters, read_number, read_spans
from toolablate.benchmarks.extraction.markers import announcements, last_box


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
