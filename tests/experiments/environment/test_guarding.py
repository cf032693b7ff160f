"""What of a question the guard looks for."""

import pytest

from toolablate.experiments.environment.web import answers_of
from toolablate.traces.records import (
    ChoiceTarget,
    NumberTarget,
    Question,
    ReferenceTarget,
    Rubric,
    SpansTarget,
    Target,
)


@pytest.mark.parametrize(
    ("target", "choices", "rubric", "answers"),
    [
        (ReferenceTarget(answer="It is so."), (), None, ("It is so.",)),
        (ReferenceTarget(answer="It is so."), (), Rubric(reference="It is so.", points="Says so."), ("It is so.",)),
        (ChoiceTarget(letters=("C",)), (), None, ("C",)),
        (
            ChoiceTarget(letters=("B",)),
            ("x", "y"),
            Rubric(reference="B, since it is y"),
            ("y", "B", "B, since it is y"),
        ),
        (NumberTarget(value=1200), (), Rubric(points="1200"), ("1200", "1,200")),
        (SpansTarget(spans=("x", "y")), (), Rubric(), ("x", "y")),
    ],
)
def test_answers_are_those_of_the_target_and_of_the_rubric(
    target: Target, choices: tuple[str, ...], rubric: Rubric | None, answers: tuple[str, ...]
) -> None:
    assert answers_of(Question(id="q", prompt="?", choices=choices, target=target, rubric=rubric)) == answers
