"""The right answer of a question in words, and a wrong one that looks like it."""

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from toolablate.tools.donors import same_words
from toolablate.tools.guards.letters import lettered
from toolablate.tools.interventions.intervention import Setting
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.interventions.standins.wrong_spans import wrong_spans
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    ChoiceTarget,
    NumberTarget,
    Question,
    ReferenceTarget,
    SpansTarget,
    TextTarget,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BETWEEN = "; "
_FACTORS = (0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.6, 1.7)
_LAST_FACTORS = (2.0, 0.5, 3.0, 0.3, 5.0, 0.1, 9.0)
_FAR = 3.0
"""How many times the tolerance a wrong number is off if there is room for it."""

_SETS_DRAWN_FROM = 12
_NO_WORDS = "a target of kind {!r} has no answer in words"


def right_answer(question: Question) -> str:
    """The texts of the right choices, the number, the spans, the first of the texts, or the reference answer. Raises
    InputError where the target has no answer in words: a pattern, or tests of code."""
    target = question.target
    if isinstance(target, NumberTarget):
        return written(target.value)
    if isinstance(target, SpansTarget):
        return _BETWEEN.join(target.stated)
    if isinstance(target, ReferenceTarget):
        return target.answer
    if isinstance(target, TextTarget):
        return target.answers[0]
    if isinstance(target, ChoiceTarget):
        return _spoken(question, target.letters)
    raise InputError(
        f"question {question.id!r}: an oracle has nothing to say, since {_NO_WORDS.format(target.kind)}",
        hint='give the question a text for it: metadata = {"oracle": "..."}, or leave out the condition',
        code="no_right_answer",
    )


def wrong_answer(question: Question, setting: Setting) -> str:
    """The same in all trials of a question: other choices, a number of the same sign and size that is off by more than
    three times the tolerance, spans of another question or changed ones, or another question's reference answer.

    Raises InputError where nothing is wrong: of one choice, of choices that all say the same, of a number with a
    tolerance that takes all numbers, of a reference answer where no other question has another."""
    rng = random.Random(f"adversarial {question.id} {question.identity()}")  # noqa: S311 - a draw, not a secret
    target = question.target
    if isinstance(target, NumberTarget):
        return written(_wrong_number(question, target, rng))
    if isinstance(target, ChoiceTarget):
        return _spoken(question, _wrong_letters(question, target, rng))
    others = setting.donors.others(f"adversarial {question.id}") if setting.donors else []
    if isinstance(target, SpansTarget):
        spans = (other.target.stated for other in others if isinstance(other.target, SpansTarget))
        return _BETWEEN.join(wrong_spans(target.stated, spans, rng))
    if isinstance(target, TextTarget):
        texts = (other.target.answers[:1] for other in others if isinstance(other.target, TextTarget))
        return wrong_spans(target.answers[:1], texts, rng)[0]
    if not isinstance(target, ReferenceTarget):
        raise _nothing_wrong(question, _NO_WORDS.format(target.kind))
    # In this language and of this domain if there is one; else in the order that was drawn.
    near = sorted(others, key=lambda each: (each.language != question.language, each.domain != question.domain))
    return other_reference(question, near)


def other_reference(question: Question, others: Iterable[Question]) -> str:
    """The first reference answer of others that does not say what is right. Raises InputError where there is none."""
    withheld = Withheld(question)
    texts = (each.target.answer for each in others if isinstance(each.target, ReferenceTarget))
    found = next((text for text in texts if not withheld.holds(text)), None)
    if found is None:
        raise _nothing_wrong(question, "no other question has another reference answer")
    return found


def written(value: float) -> str:
    """The shortest text of exactly this number, without an exponent where it is short."""
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return repr(value)


def _spoken(question: Question, letters: Sequence[str]) -> str:
    """The texts of choices; letters where the choices stand in the prompt alone."""
    texts = dict(zip(_LETTERS, question.choices, strict=False))
    return _BETWEEN.join(texts.get(letter, letter) for letter in sorted(letters))


def _wrong_letters(question: Question, target: ChoiceTarget, rng: random.Random) -> tuple[str, ...]:
    """As many as are right; another number of them where all of that number are right."""
    count = len(question.choices) or max(lettered(question.prompt), *(_LETTERS.index(x) + 1 for x in target.letters))
    right = _meaning(question, target.letters)
    for size in (len(target.letters), *range(1, count + 1)):
        drawn = list(_LETTERS[:count])
        rng.shuffle(drawn)
        sets: Iterator[tuple[str, ...]] = combinations(drawn[:_SETS_DRAWN_FROM], size)
        for letters in sets:
            if _meaning(question, letters) != right:
                return letters
    raise _nothing_wrong(question, "its choices all say what is right")


def _meaning(question: Question, letters: Sequence[str]) -> set[str]:
    """Two choices may say the same."""
    return {same_words(_spoken(question, [letter])) for letter in letters}


def _wrong_number(question: Question, target: NumberTarget, rng: random.Random) -> float:
    value = target.value
    tolerance = max(target.absolute, target.relative * abs(value))
    for candidate in _candidates(value, tolerance, rng):
        if math.isfinite(candidate) and candidate != value and abs(candidate - value) > tolerance:
            return candidate
    raise _nothing_wrong(question, f"its tolerance of {tolerance:g} takes every number")


def _candidates(value: float, tolerance: float, rng: random.Random) -> Sequence[float]:
    """From the most alike on: near by, else as near as the tolerance lets it be, else on the other side of zero."""
    far = _FAR * tolerance
    if not value:
        return (far * 2 or 1.0, tolerance * 2)
    decimals = len(repr(value).partition(".")[2]) if "e" not in repr(value) and not value.is_integer() else 0
    factors = (*rng.sample(_FACTORS, len(_FACTORS)), *_LAST_FACTORS)
    near = [value * factor if "e" in repr(value) else round(value * factor, decimals) for factor in factors]
    # A product of the two would come to nothing where both are tiny.
    alike = [wrong for wrong in near if wrong and (wrong > 0) == (value > 0) and abs(wrong - value) > far]
    sign = math.copysign(1.0, value)
    return (*alike, value + sign * far * 2, value + sign * tolerance * 1.5, -value, -value * 1.5, -sign * tolerance)


def _nothing_wrong(question: Question, why: str) -> InputError:
    return InputError(
        f"question {question.id!r}: an adversary finds nothing wrong to say, since {why}",
        hint='give the question a text for it: metadata = {"adversarial": "..."}, or leave out the condition',
        code="no_wrong_answer",
    )
