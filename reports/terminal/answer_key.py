"""What answers are compared with, where that is more than a letter, a number or a few words."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from toolablate.reports.terminal.events import indented
from toolablate.traces.plain import inert, one_line
from toolablate.traces.records import CodeTarget, Question, ReferenceTarget

MAX_REFERENCE_CHARS = 100
"""Of a reference answer that is told in one line."""


def answer_key_view(question: Question, max_chars: int | None) -> Iterator[RenderableType]:
    """A long reference answer, and what a rubric has besides the target; nothing of most questions."""
    for title, text in answer_key_parts(question):
        yield Text(f"{title}:", "dim")
        yield indented(inert(text, max_chars=max_chars))


def answer_key_parts(question: Question) -> Iterator[tuple[str, str]]:
    """The same as titles and texts, foreign as they are."""
    target, rubric = question.target, question.rubric
    answer = target.answer if isinstance(target, ReferenceTarget) else ""
    if answer and not is_short(answer):
        yield "reference answer", answer
    if isinstance(target, CodeTarget):
        yield "tests", "\n".join(target.tests)
    if rubric is not None and rubric.reference not in ("", answer):
        yield "the rubric's reference", rubric.reference
    if rubric is not None and rubric.points:
        yield "points to be met", rubric.points


def is_short(reference: str) -> bool:
    return len(reference) <= MAX_REFERENCE_CHARS and reference == one_line(reference)
