"""Passages of a text that nearly say what another text says, in one normal spelling; `guards.leaks` has the measure."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

# What is common in Chinese and in typeset text; a text with nothing else to change need not be normalised, which takes
# thirty times as long. Two ligatures of whole Arabic sentences would make a text eighteen times as long.
_COMMON = tuple(
    zip("\xa0\u3000，：；？！（）…～\ufdfa\ufdfb", [*"  ,:;?!()", "...", "~", " ", " "], strict=True),
)
_CHUNK = re.compile(r"(?s).{1,200}(?:(?<=\S)\S{1,200})?")
_IGNORABLE = (
    r"\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_INVISIBLE = re.compile(f"[{_IGNORABLE}]+")


def normal_text(text: str) -> str:
    """The text in Unicode's compatibility form (NFKC), without what nobody sees: format characters (soft hyphens,
    zero-width blanks, directions), variation selectors and fillers."""
    if text.isascii():
        return text
    for spelling, plain in _COMMON:
        text = text.replace(spelling, plain)
    if _has_invisible().search(text.encode("utf-8", "replace")):
        text = _INVISIBLE.sub("", text)
    if unicodedata.is_normalized("NFKC", text):
        return text
    # A run of combining marks takes time in the square of its length.
    return "".join(unicodedata.normalize("NFKC", chunk[0]) for chunk in _CHUNK.finditer(text))


@lru_cache(maxsize=1)
def _has_invisible() -> Any:
    """As `_INVISIBLE`, several times as fast where there is nothing to find."""
    import re2

    return re2.compile(re.sub(r"\\[xuU]([0-9a-f]+)", r"\\x{\1}", f"[{_IGNORABLE}]"))


SHINGLE = 3
"""Words of a run, or characters where the script has no blanks."""

MIN_WORDS = 6
MIN_CHARACTERS = 10
"""What is shorter is never looked for."""

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_CHARACTER = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"[{CJK}]|\d+(?:,\d{{3}})+(?:\.\d+)?|\d+(?:\.\d+)?|[^\W\d_{CJK}]+")
_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
# Before a small letter it may begin a command of LaTeX: \nabla, \neq.
_ESCAPED_LINE = re.compile(r"(?<!\\)(?:\\r)?\\n(?![a-z])")
LIGHT = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by for from has have how if in is it its of on or that the then there these this to was"
        " were what when where which who will with you your 的 了 是 在 和 与 有 一 个 中 为 下 列 哪 什 么 以",
    )
)
_LIGHT_WEIGHT = 0.25
_STEPS = ((12, 0.95), (20, 0.85), (40, 0.75))
_LONG_SHARE = 0.65
_NUMBERS_SHARE = 0.7
SLACK = 1.6
"""How much longer than what is wanted a passage may be that holds it."""

_WORDS_OF_CHARACTER = MIN_WORDS / MIN_CHARACTERS
# Words of passages with other numbers that are looked at; more of them are made to keep us busy.
_MAX_OTHERS = 10_000_000


def unescaped(text: str) -> str:
    """The text with the escapes read by which JSON keeps to ASCII, and those by which it writes the end of a line."""
    if "\\n" in text:
        text = _ESCAPED_LINE.sub("\n", text)
    if "\\u" not in text:
        return text
    text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text)
    # What lies beyond the first 65,536 characters is escaped as two.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(frozen=True, slots=True)
class SoughtPassage:
    """What is looked for: its words, what each weighs, and where each run of them stands."""

    words: tuple[str, ...]
    weights: tuple[float, ...]
    places: dict[tuple[str, ...], list[int]]
    numbers: frozenset[str]

    @classmethod
    def of(cls, text: str) -> "SoughtPassage":
        words = tuple(word for word, _, _ in words_of(normal_text(text)))
        places: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, shingle in enumerate(_shingles(words)):
            places[shingle].append(place)
        weights = tuple(_LIGHT_WEIGHT if word in LIGHT else 1.0 for word in words)
        numbers = frozenset(word for word in words if word[0].isdigit())
        return cls(words, weights, dict(places), numbers)

    @property
    def share(self) -> float:
        """How much of it a passage must hold: the shorter, the more."""
        size = len(self.words) - (1 - _WORDS_OF_CHARACTER) * self._characters
        return next((share for length, share in _STEPS if size < length), _LONG_SHARE)

    @property
    def long_enough(self) -> bool:
        return len(self.words) >= (MIN_CHARACTERS if 2 * self._characters > len(self.words) else MIN_WORDS)

    @property
    def _characters(self) -> int:
        return sum(map(is_character, self.words))


def words_of(text: str) -> Iterator[tuple[str, int, int]]:
    """The words of a normal text as they are compared, each with where it begins and ends."""
    for match in _WORD.finditer(text):
        yield _plain(match[0]), match.start(), match.end()


def is_character(word: str) -> bool:
    """Whether it is one of a script without blanks."""
    return _CHARACTER.match(word) is not None


class Passages:
    """A normal text as words that can be searched for passages. Places and ends are numbers of words; case is kept, and
    does not matter."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = [match.span() for match in _WORD.finditer(text)]

    @cached_property
    def _words(self) -> list[str]:
        return [_plain(self._text[start:end]) for start, end in self._spans]

    def text_of(self, start: int, end: int) -> str:
        """The text from one word up to another, that one left out."""
        spans = self._spans[max(start, 0) : end]
        return self._text[spans[0][0] : spans[-1][1]] if spans else ""

    def places(self, words: tuple[str, ...]) -> list[int]:
        """Where the words stand one after the other."""
        if not words:
            return []
        return [
            place
            for place, word in enumerate(self._words)
            if word == words[0] and tuple(self._words[place : place + len(words)]) == words
        ]

    def places_of(self, pattern: re.Pattern[str]) -> list[int]:
        """At which word each match of the pattern ends."""
        starts = [start for start, _ in self._spans]
        return [bisect_left(starts, match.end()) - 1 for match in pattern.finditer(self._text)]

    def holding(self, wanted: SoughtPassage) -> Iterator[tuple[int, int]]:
        """The passages that nearly say what is wanted, from first to last; none overlaps the one before it."""
        length = int(len(wanted.words) * SLACK) + SHINGLE
        needed = wanted.share * sum(wanted.weights)
        cover = _Cover(wanted)
        hits: list[int] = []
        first = others = 0
        for place, shingle in enumerate(_shingles(self._words)):
            if shingle not in wanted.places:
                continue
            hits.append(place)
            cover.add(shingle)
            while place - hits[first] > length:
                cover.remove(self._shingle(hits[first]))
                first += 1
            if cover.weight >= needed:
                start, end = hits[first], place + SHINGLE
                if self._has_numbers(wanted, start, end):
                    yield start, end
                    cover = _Cover(wanted)
                    first = len(hits)
                else:
                    others += end - start
                    if others > _MAX_OTHERS:
                        return

    def _shingle(self, place: int) -> tuple[str, ...]:
        return tuple(self._words[place : place + SHINGLE])

    def _has_numbers(self, wanted: SoughtPassage, start: int, end: int) -> bool:
        numbers = wanted.numbers
        there = numbers.intersection(self._words[max(start - SHINGLE, 0) : end + SHINGLE])
        return len(there) >= _NUMBERS_SHARE * len(numbers)


class _Cover:
    """Which words of what is wanted the runs of a passage cover, and what these weigh together."""

    def __init__(self, wanted: SoughtPassage) -> None:
        self._wanted = wanted
        self._counts: Counter[int] = Counter()
        self.weight = 0.0

    def add(self, shingle: tuple[str, ...]) -> None:
        for place in self._places(shingle):
            self._counts[place] += 1
            if self._counts[place] == 1:
                self.weight += self._wanted.weights[place]

    def remove(self, shingle: tuple[str, ...]) -> None:
        for place in self._places(shingle):
            self._counts[place] -= 1
            if self._counts[place] == 0:
                self.weight -= self._wanted.weights[place]

    def _places(self, shingle: tuple[str, ...]) -> Iterator[int]:
        return (place + offset for place in self._wanted.places[shingle] for offset in range(SHINGLE))


def _shingles(words: "tuple[str, ...] | list[str]") -> Iterator[tuple[str, ...]]:
    return zip(words, words[1:], words[2:], strict=False)


def _plain(word: str) -> str:
    """In lower case; numbers without the separators of thousands and without zeros at the end of a fraction."""
    if not word[0].isdigit():
        return word.lower()
    number = word.replace(",", "")
    return number.rstrip("0").rstrip(".") if "." in number else number
