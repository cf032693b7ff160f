"""The right answer of a question in words, and a wrong one that looks like it."""

import random
from collections.abc import Sequence
from itertools import combinations

from toolablate.tools.guards.normal import normal_text
from toolablate.tools.interventions.intervention import Setting
from toolablate.tools.interventions.standins.numerals import bare_number
from toolablate.traces.records import ChoiceTarget, NumberTarget, Question, SpansTarget

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTERS_WITHOUT_CHOICES = 4
_BETWEEN = "; "
_FACTORS = (0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.6, 1.7)
_LAST_FACTORS = (2.0, 0.5, 3.0, 0.3, 5.0, 0.1, 9.0)
_FAR = 3.0
"""How many times the tolerance a wrong number is off at least."""

_SETS_DRAWN_FROM = 12


def right_answer(question: Question) -> str:
    """The texts of the right choices, the number, or the spans."""
    target = question.target
    if isinstance(target, NumberTarget):
        return written(target.value)
    if isinstance(target, SpansTarget):
        return _BETWEEN.join(target.spans)
    return _spoken(question, target.letters)


def wrong_answer(question: Question, setting: Setting) -> str:
    """The same in all trials of a question: other choices, a number of the same sign and size that is off by more than
    three times the tolerance, or spans of another question or changed ones."""
    rng = random.Random(f"adversarial {question.id} {question.identity()}")  # noqa: S311 - a draw, not a secret
    target = question.target
    if isinstance(target, NumberTarget):
        return written(_wrong_number(target, rng))
    if isinstance(target, SpansTarget):
        return _BETWEEN.join(_wrong_spans(question, target, setting, rng))
    return _spoken(question, _wrong_letters(question, target, rng))


def written(value: float) -> str:
    """The shortest text of exactly this number, without an exponent where it is short."""
    if value.is_integer() and abs(value) < 1e15:
        return f"{value:.0f}"
    return repr(value)


def _spoken(question: Question, letters: Sequence[str]) -> str:
    """The texts of choices; letters where the choices stand in the prompt alone."""
    if not question.choices:
        return _BETWEEN.join(letters)
    return _BETWEEN.join(question.choices[_LETTERS.index(letter)] for letter in sorted(letters))


def _wrong_letters(question: Question, target: ChoiceTarget, rng: random.Random) -> tuple[str, ...]:
    """As many as are right; another number of them where all of that number are right."""
    count = len(question.choices) or max(_LETTERS_WITHOUT_CHOICES, *(_LETTERS.index(x) + 1 for x in target.letters))
    right = _meaning(question, target.letters)
    sizes = [len(target.letters), *range(1, count + 1)]
    for size in sizes:
        drawn = list(_LETTERS[:count])
        rng.shuffle(drawn)
        sets = combinations(drawn[:_SETS_DRAWN_FROM], size)
        wrong: tuple[str, ...] | None = next((each for each in sets if _meaning(question, each) != right), None)
        if wrong is not None:
            return wrong
    return target.letters


def _meaning(question: Question, letters: Sequence[str]) -> set[str]:
    """Two choices may say the same."""
    return {_plain(_spoken(question, [letter])) for letter in letters}


def _wrong_number(target: NumberTarget, rng: random.Random) -> float:
    value = target.value
    far = _FAR * max(target.absolute, target.relative * abs(value))
    if not value:
        return far * 2 or 1.0
    decimals = len(repr(value).partition(".")[2]) if "e" not in repr(value) and not value.is_integer() else None
    factors = (*rng.sample(_FACTORS, len(_FACTORS)), *_LAST_FACTORS)
    for factor in factors:
        wrong = value * factor if "e" in repr(value) else round(value * factor, decimals or 0)
        if wrong * value > 0 and abs(wrong - value) > far and wrong not in (float("inf"), float("-inf")):
            return float(wrong)
    # A tolerance wider than the number itself leaves nothing near it.
    return value + (far * 2 if value > 0 else -far * 2)


def _wrong_spans(question: Question, target: SpansTarget, setting: Setting, rng: random.Random) -> list[str]:
    right = {_plain(span) for span in target.spans}
    numbers = [bare_number(span) for span in target.spans]
    if any(number is not None for number in numbers):
        return [
            span if number is None else _changed_number(span, number, rng)
            for span, number in zip(target.spans, numbers, strict=True)
        ]
    others = setting.donors.others(f"adversarial {question.id}") if setting.donors else []
    for other in others:
        spans = other.target.spans if isinstance(other.target, SpansTarget) else ()
        usable = [span for span in spans if bare_number(span) is None and _plain(span) not in right]
        if usable:
            return usable[: len(target.spans)]
    return [_turned(span) for span in target.spans]


def _changed_number(span: str, number: float, rng: random.Random) -> str:
    wrong = written(_wrong_number(NumberTarget(value=number, relative=0.01), rng))
    return wrong + ("%" if span.rstrip().endswith("%") else "")


def _turned(span: str) -> str:
    """Where there is nothing to take another text from: its own letters, the other way round."""
    return span[::-1].capitalize() if _plain(span[::-1]) != _plain(span) else f"{span}{span}"


def _plain(text: str) -> str:
    return " ".join(normal_text(text).casefold().split())
