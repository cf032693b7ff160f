"""Spans that are wrong and look like the right ones."""

import math
import random
import re
from collections.abc import Iterable, Sequence

from toolablate.tools.donors import same_words
from toolablate.tools.interventions.standins.numerals import stated
from toolablate.tools.interventions.standins.spelling import searched

_NUMBER = re.compile(r"\d+(?:[,']\d{3})*(?:\.\d+)?")
_FACTORS = (0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.6, 1.7, 2.0, 0.5, 3.0)
_NEAREST = 0.03
"""What share of itself a number is off at least."""

_MOST_TRIED = 200
_OPPOSITES = (
    ("yes", "no"),
    ("true", "false"),
    ("correct", "incorrect"),
    ("increase", "decrease"),
    ("是", "否"),
    ("对", "错"),
    ("真", "假"),
    ("有", "没有"),
    ("正确", "错误"),
)
_NAMES = ("Alder", "Marlow", "Tessin", "Quarles", "Brandt", "Lindholm", "Ostrava", "Corwin")
_CHINESE_NAMES = ("林河", "秦安", "白石", "陆远", "青州", "周明")


def wrong_spans(right: Sequence[str], others: Iterable[Sequence[str]], rng: random.Random) -> list[str]:
    """As many at most: numbers changed, opposites of what has one, else the spans of another question, else names that
    nobody asked for. None of them says what a right one does."""
    if any(_NUMBER.search(searched(span)) for span in right):
        return _with_other_numbers(right, rng)
    if opposite := [_opposite(span) for span in right if _opposite(span)]:
        return opposite
    said = set(map(same_words, right))
    for spans in others:
        usable = [span for span in spans if not _NUMBER.search(searched(span)) and same_words(span) not in said]
        if usable:
            return usable[: len(right)]
    names = _NAMES if all(span.isascii() for span in right) else _CHINESE_NAMES
    return rng.sample([name for name in names if same_words(name) not in said], min(len(right), 4))


def _with_other_numbers(right: Sequence[str], rng: random.Random) -> list[str]:
    """The number of each, with its sign, its currency and what stands around it, is another; those without any
    stay."""
    taken = [value for span in right for value in stated(span)]
    wrong: list[str] = []
    for span in right:
        number = _NUMBER.search(searched(span))
        changed = span if number is None else _changed(searched(span), number, taken, rng)
        taken += stated(changed)
        wrong.append(changed)
    return wrong


def _changed(span: str, number: re.Match[str], taken: Sequence[float], rng: random.Random) -> str:
    for text in _other_numbers(number[0], rng):
        changed = span[: number.start()] + text + span[number.end() :]
        meant = stated(changed) or (float(text.replace(",", "").replace("'", "")),)
        if not any(math.isclose(value, other, rel_tol=_NEAREST) for value in meant for other in taken):
            return changed
    return f"{span[: number.start()]}9{span[number.start() :]}"


def _other_numbers(text: str, rng: random.Random) -> Iterable[str]:
    plain = text.replace(",", "").replace("'", "")
    decimals = len(plain.partition(".")[2])
    comma = "," if "," in text else ""
    values = [float(plain) * factor for factor in rng.sample(_FACTORS, len(_FACTORS))]
    for value in (*values, *(float(plain) + more for more in range(1, _MOST_TRIED))):
        if math.isfinite(value) and abs(value - float(plain)) > _NEAREST * abs(float(plain)):
            yield f"{value:{comma}.{decimals}f}"


def _opposite(span: str) -> str:
    """Empty where it has none."""
    said = same_words(span)
    for one, other in _OPPOSITES:
        if said in (one, other):
            opposite = other if said == one else one
            return opposite.capitalize() if span[:1].isupper() else opposite
    return ""
