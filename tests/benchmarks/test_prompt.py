import pytest

from toolablate.benchmarks import render
from toolablate.traces.records import ChoiceTarget, NumberTarget, Question, SpansTarget, Target

ONE, TWO, NUMBER, SPANS = (
    ChoiceTarget(letters=("B",)),
    ChoiceTarget(letters=("A", "B")),
    NumberTarget(value=3),
    SpansTarget(spans=("x",)),
)


@pytest.mark.parametrize(
    ("language", "target", "ending"),
    [
        ("en", ONE, '"Answer: X"'),
        ("en", TWO, '"Answer: X, Y"'),
        ("en", NUMBER, "plain number"),
        ("en", SPANS, '"Answer: [...]"'),
        ("zh", ONE, "“答案：X”"),
        ("zh-CN", TWO, "“答案：X, Y”"),
        ("zh", NUMBER, "数字"),
        ("zh", SPANS, "“答案：[...]”"),
    ],
)
def test_the_last_line_says_how_to_answer(language: str, target: Target, ending: str) -> None:
    choices = ("red", "green") if isinstance(target, ChoiceTarget) else ()
    text = render(Question(id="q", prompt="Which? \n", choices=choices, target=target, language=language))
    assert text.startswith("Which?\n\nA. red\nB. green\n\n" if choices else "Which?\n\n")
    assert ending in text.splitlines()[-1]


def test_the_number_of_right_choices_can_be_hidden() -> None:
    one, two = (
        Question(id="q", prompt="p", choices=("x", "y"), target=target, metadata={"several": True})
        for target in (ONE, TWO)
    )
    assert render(one) == render(two)


def test_nothing_of_the_target_is_shown() -> None:
    rendered = {
        render(Question(id="q", prompt="p", choices=("x", "y"), target=ChoiceTarget(letters=(letter,))))
        for letter in "AB"
    }
    assert len(rendered) == 1
