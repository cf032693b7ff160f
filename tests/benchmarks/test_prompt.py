from typing import Any

import pytest

from toolablate.benchmarks.prompt import not_in_part, question_input, render
from toolablate.traces.records import (
    ChoiceTarget,
    Condition,
    NumberTarget,
    Picture,
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


# A part of the question alone.


CHOICES, QUESTION = Condition(name="c", shown="choices"), Condition(name="q", shown="question")


def test_a_part_is_asked_for_in_the_questions_language() -> None:
    whole = Question(id="q", prompt="哪个？", choices=("红", "绿"), target=ONE, language="zh")
    assert question_input(whole, CHOICES).prompt == (
        "题干未给出。请仅根据选项判断最可能正确的答案。\n\nA. 红\nB. 绿\n\n"
        "请在回复的最后单独写一行“答案：X”，其中 X 是正确选项的字母。"
    )
    assert question_input(whole, QUESTION).prompt == (
        "本题的选项未给出。请用自己的话作答。\n\n哪个？\n\n请在回复的最后单独写一行“答案：X”，其中 X 只写答案本身。"
    )
    several = whole.model_copy(update={"target": TWO})
    assert "写出所有正确选项的字母" in question_input(several, CHOICES).prompt


def test_a_part_that_is_cut_still_says_what_it_is() -> None:
    whole = Question(id="q", prompt="Which? " * 100, choices=("x", "y"), target=ONE)
    cut = question_input(whole, QUESTION.model_copy(update={"input_tokens": 60}))
    assert cut.cut is not None
    assert cut.prompt.startswith("The options of this question are not shown.")


@pytest.mark.parametrize(
    ("changes", "choices", "question"),
    [
        ({}, "", ""),
        ({"choices": (), "as_is": True}, "no choices that stand", "no choices that stand"),
        ({"choices": (), "target": NUMBER}, "no choices that stand", "no choices that stand"),
        ({"as_is": True}, "", "their choices in the prompt"),
        ({"target": TWO}, "", "several right choices"),
        ({"images": ("picture",)}, "images", ""),
        ({"images": ("picture",), "choices": ("<image 1>", "y")}, "images", "images in their choices"),
    ],
)
def test_why_a_part_cannot_be_shown(changes: dict[str, Any], choices: str, question: str) -> None:
    if "images" in changes:
        changes = {**changes, "images": (Picture(mime="image/png", data="AA==", width=1, height=1),)}
    whole = Question(id="q", prompt="Which?", choices=("x", "y"), target=ONE).model_copy(update=changes)
    found = not_in_part(whole, "choices"), not_in_part(whole, "question")
    assert [bool(said) for said in found] == [bool(choices), bool(question)]
    assert found[0].startswith(choices)
    assert found[1].startswith(question)
    assert not_in_part(whole, "all") == ""
