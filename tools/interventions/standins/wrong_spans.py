"""Spans that are wrong and look like the right ones."""

import itertools
import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import islice

from toolablate.tools.donors import same_words
from toolablate.tools.interventions.standins.numerals import stated
from toolablate.tools.interventions.standins.spelling import searched

_NUMBER = re.compile(r"\d+(?:[,']\d{3})*(?:\.\d+)?")
_FACTORS = (0.6, 0.7, 0.8, 1.2, 1.3, 1.4, 1.6, 1.7, 2.0, 0.5, 3.0)
_NEAREST = 0.03
"""What share of itself a number is off at least."""

_MOST_TRIED = 200
_MOST_NAMES = 4
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
    nobody asked for. None of them says what a right one does, nor what another of them does."""
    said = {words for span in right for words in _words(span)}
    words = iter(_wrong_words([span for span in right if not _number(span)], said, others, rng))
    taken = [value for span in right if _number(span) for value in _values(searched(span))]
    wrong: list[str] = []
    for span in right:
        number = _number(span)
        if number is None:
            wrong.extend(islice(words, 1))
            continue
        changed = _changed(number, said, taken, rng)
        said |= _words(changed)
        taken += _values(changed)
        wrong.append(changed)
    return wrong


def _words(span: str) -> set[str]:
    return {same_words(span), same_words(searched(span))}


def _number(span: str) -> re.Match[str] | None:
    return _NUMBER.search(searched(span))


def _wrong_words(
    right: Sequence[str], said: Set[str], others: Iterable[Sequence[str]], rng: random.Random
) -> Sequence[str]:
    """In place of the right ones without a number."""
    if not right:
        return ()
    if opposite := _free(map(_opposite, right), said):
        return opposite
    for spans in others:
        if usable := _free((span for span in spans if not _number(span)), said):
            return usable[: len(right)]
    names = list(_NAMES if all(span.isascii() for span in right) else _CHINESE_NAMES)
    rng.shuffle(names)
    free = (name for name in _combined(names) if not _words(name) & said)
    return list(islice(free, min(len(right), _MOST_NAMES)))


def _free(candidates: Iterable[str], said: Set[str]) -> list[str]:
    """Those that say something, and neither what is said already nor what one before them does, not even between
    others in a list."""
    found: list[str] = []
    taken = {"", *said}
    for span in candidates:
        parts = {words for part in (span, *span.split(";")) for words in _words(part)}
        if not parts & taken:
            found.append(span)
            taken |= parts
    return found


def _combined(names: Sequence[str]) -> Iterator[str]:
    """Without an end: the names, then any two of them, and so on."""
    for count in itertools.count(1):
        yield from map(" ".join, itertools.product(names, repeat=count))


def _changed(number: re.Match[str], said: Set[str], taken: Sequence[float], rng: random.Random) -> str:
    """A span with another number in the place of this one, and with its sign, its currency and what stands around."""
    before, after = number.string[: number.start()], number.string[number.end() :]
    for text in _other_numbers(number[0], rng):
        changed = f"{before}{text}{after}"
        near = (math.isclose(value, other, rel_tol=_NEAREST) for value in _values(changed) for other in taken)
        if not _words(changed) & said and not any(near):
            return changed
    more = (f"{before}{'9' * count}{number[0]}{after}" for count in itertools.count(1))
    return next(changed for changed in more if not _words(changed) & said)


def _values(span: str) -> Sequence[float]:
    """What it states; where it states nothing, as the name of a room, the number that is in it."""
    number = _NUMBER.search(span)
    return stated(span) or ((float(_plain(number[0])),) if number else ())


def _plain(number: str) -> str:
    return number.replace(",", "").replace("'", "")


def _other_numbers(text: str, rng: random.Random) -> Iterable[str]:
    plain = _plain(text)
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
