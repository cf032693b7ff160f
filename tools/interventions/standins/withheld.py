"""What no result under another question may say: the answer of this one, and any of its choices."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from toolablate.tools.guards.normal import normal_text
from toolablate.tools.interventions.standins.numerals import bare_number, is_value, values_in
from toolablate.traces.records import NumberTarget, Question, SpansTarget

_HOST = re.compile(r"(?<=://)\d+(?:\.\d+){3}(?::\d+)?")
"""The numbers of a machine, which say nothing of what it serves."""

_INSIDE = 6
"""Characters of a text that is looked for inside of longer words as well, as in a plural."""


class Withheld:
    """Looks for the choices and spans of a question whatever their case, width, spacing and punctuation, and for its
    numbers by value. A text of a single letter or of none is no content, a number is."""

    def __init__(self, question: Question) -> None:
        self._question = question

    def holds(self, text: str, echoed: Iterable[str] = ()) -> bool:
        """Whether any of it is said, apart from what stands within one of the texts that are `echoed`."""
        normal = normal_text(text)
        patterns = [re.escape(wanted) for each in echoed if (wanted := normal_text(each))]
        own = [match.span() for pattern in patterns for match in re.finditer(pattern, normal)]
        return any(
            not any(first <= start and end <= last for first, last in own) for start, end in self._places(normal)
        )

    def without(self, lines: Sequence[str]) -> list[int]:
        """Numbers of the lines that are left once none of it is said, by one line or by several that follow one
        another."""
        kept = list(range(len(lines)))
        while said := self._lines_saying([lines[number] for number in kept]):
            kept = [number for place, number in enumerate(kept) if place not in said]
        return kept

    def _lines_saying(self, lines: Sequence[str]) -> set[int]:
        normal = [normal_text(line).replace("\n", " ") for line in lines]
        starts = list(accumulate((len(line) + 1 for line in normal[:-1]), initial=0))
        said: set[int] = set()
        for start, end in self._places("\n".join(normal)):
            said.update(range(bisect_right(starts, start) - 1, bisect_left(starts, end)))
        return said

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it is said in a normal text, from where to where."""
        if self._phrases:
            yield from self._phrases_in(text)
        if self._numbers:
            for read, decimals, start, end in values_in(_HOST.sub(_blank, text)):
                if any(is_value(read, decimals, value, tolerance) for value, tolerance in self._numbers):
                    yield start, end

    def _phrases_in(self, text: str) -> Iterator[tuple[int, int]]:
        squeezed = _Squeezed(text)
        for phrase in self._phrases:
            at = squeezed.text.find(phrase)
            while at >= 0:
                if len(phrase) >= _INSIDE or squeezed.is_apart(at, at + len(phrase)):
                    yield squeezed.places[at], squeezed.places[at + len(phrase) - 1] + 1
                at = squeezed.text.find(phrase, at + 1)

    @cached_property
    def _phrases(self) -> tuple[str, ...]:
        wordy = (text for text in _texts(self._question) if bare_number(text) is None)
        squeezed = (_Squeezed(normal_text(text)).text for text in wordy)
        return tuple(dict.fromkeys(text for text in squeezed if len(text) > 1 or text.isdigit()))

    @cached_property
    def _numbers(self) -> tuple[tuple[float, float], ...]:
        """Values with what an answer may be off."""
        target = self._question.target
        of_texts = [(value, 0.0) for text in _texts(self._question) if (value := bare_number(text)) is not None]
        if isinstance(target, NumberTarget):
            tolerance = max(target.absolute, target.relative * abs(target.value))
            return (*of_texts, (target.value, tolerance))
        return tuple(of_texts)


class _Squeezed:
    """A normal text as its letters and digits alone, without accents, in lower case; `places` says where each stood."""

    def __init__(self, text: str) -> None:
        letters: list[str] = []
        places: list[int] = []
        apart: list[bool] = []
        inside = False
        for place, character in enumerate(text):
            if not character.isalnum():
                # An accent that stands by itself belongs to the letter before it.
                inside = inside and unicodedata.combining(character) > 0
                continue
            for letter in _plain(character):
                letters.append(letter)
                places.append(place)
                apart.append(not inside or _stands_alone(letter))
                inside = True
        self.text = "".join(letters)
        self.places = places
        self._apart = apart

    def is_apart(self, start: int, end: int) -> bool:
        """Whether words begin and end there, or characters of a script that has none."""
        return self._apart[start] and (end == len(self._apart) or self._apart[end] or _stands_alone(self.text[end - 1]))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _plain(character: str) -> str:
    if character.isascii():
        return character.lower()
    return "".join(each for each in unicodedata.normalize("NFKD", character.casefold()) if each.isalnum())


def _stands_alone(letter: str) -> bool:
    return "\u3040" <= letter <= "\u9fff" or "\uf900" <= letter <= "\ufaff"


def _texts(question: Question) -> tuple[str, ...]:
    spans = question.target.spans if isinstance(question.target, SpansTarget) else ()
    return (*question.choices, *spans)
