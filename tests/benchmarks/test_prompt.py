import pytest

from toolablate.benchmarks.prompt import render
from toolablate.traces.records import (
    ChoiceTarget,
    NumberTarget,
    Question,
    QuestionFile,
    ReferenceTarget,
    SpansTarget,
    Target,
)

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


@pytest.mark.parametrize(("language", "ending"), [("en", "final answer."), ("zh", "最终答案。")])
def test_what_is_answered_in_words_is_asked_for_so(language: str, ending: str) -> None:
    question = Question(id="q", prompt="Why?", target=ReferenceTarget(answer="So."), language=language)
    assert render(question).splitlines()[-1].endswith(ending)
    assert "So." not in render(question)


@pytest.mark.parametrize("target", [ONE, NUMBER, SPANS, ReferenceTarget(answer="So.")])
def test_as_it_is_nothing_is_added_but_the_names_of_files(target: Target) -> None:
    file = QuestionFile(name="t.csv", sha256="0" * 64, size=1)
    choices = ("red", "green") if target is ONE else ()
    question = Question(id="q", prompt="Which?\nA. red\nB. green\n", choices=choices, target=target, as_is=True)
    assert render(question) == "Which?\nA. red\nB. green"
    named = question.model_copy(update={"files": (file,)})
    assert render(named).startswith('Which?\nA. red\nB. green\n\nFiles of this question: "t.csv".')
