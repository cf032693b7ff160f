"""What an answer is measured by, in words: the reference answer of a question, and the question itself as context."""

from fractions import Fraction

from toolablate.benchmarks.judging.wording import Words
from toolablate.benchmarks.lettering import letters_for
from toolablate.traces.records import (
    ChoiceTarget,
    CodeTarget,
    NumberTarget,
    PatternTarget,
    Question,
    ReferenceTarget,
    TextTarget,
)


def shown_question(question: Question) -> str:
    """The prompt with its lettered choices, without the line that says how to end a reply."""
    if question.as_is or not question.choices:
        return question.prompt.strip()
    return "\n".join([question.prompt.strip(), "", *_lettered(question, letters_for(question))])


def is_measured(question: Question) -> bool:
    """Whether there is anything to compare an answer with."""
    rubric, target = question.rubric, question.target
    given = [rubric.reference, rubric.points] if rubric is not None else []
    return not isinstance(target, ReferenceTarget) or any(text.strip() for text in (target.answer, *given))


def reference_of(question: Question, words: Words) -> str:
    """The reference answer in the benchmark's own words, else what the target says."""
    if question.rubric is not None and question.rubric.reference.strip():
        return question.rubric.reference.strip()
    target = question.target
    if isinstance(target, ReferenceTarget):
        return target.answer.strip()
    if isinstance(target, NumberTarget):
        return _number(target, words)
    if isinstance(target, ChoiceTarget):
        items = _lettered(question, sorted(set(target.letters)))
        return items[0] if len(items) == 1 else "\n".join(items)
    if isinstance(target, PatternTarget):
        return target.pattern
    if isinstance(target, CodeTarget):
        return "\n".join(target.tests)
    if isinstance(target, TextTarget):
        return " / ".join(target.answers)
    items = [f"- {span}" for span in target.stated]
    return target.stated[0] if len(items) == 1 else "\n".join([words.any_order, *items])


def _lettered(question: Question, letters: str | list[str]) -> list[str]:
    texts = dict(zip(letters_for(question), question.choices, strict=False))
    return [f"{letter}. {texts[letter]}" if letter in texts else letter for letter in letters]


def _number(target: NumberTarget, words: Words) -> str:
    """The number as it was written, and the larger of its two tolerances, exact as decimals are."""
    value, relative, absolute = (Fraction(repr(x)) for x in (target.value, target.relative, target.absolute))
    tolerance = max(absolute, relative * abs(value))
    if not tolerance:
        return f"{target.value:.15g}"
    return words.within.format(value=f"{target.value:.15g}", tolerance=f"{float(tolerance):.6g}")
