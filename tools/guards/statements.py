"""What a long answer says one by one, and the runs of words by which each of these is known again."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from toolablate.tools.guards.normal import normal_text
from toolablate.tools.guards.passages import (
    LIGHT,
    MIN_CHARACTERS,
    MIN_WORDS,
    SHINGLE,
    is_character,
    words_of,
)

_COUNT = "[一二三四五六七八九十]{1,3}"
_MARK = rf"(?:[-*•·]\s+|[(（]?(?:\d{{1,2}}|{_COUNT})[)）、]\s*|(?:\d{{1,2}}|{_COUNT})[.．](?!\d)\s*)"
_ENDS = re.compile(
    rf"\n\s*(?:{_MARK})?|^\s*{_MARK}|[①-⑳]\s*|(?<=[,;:.]\s)\d{{1,2}}\.\s+|(?<=[\s;；。])[(（]?\d{{1,2}}[)）]\s*"
    r"|(?<=[;；。])\d{1,2}[.．、](?!\d)\s*|[.!?][\"')\]]?\s+(?=[^a-z])|[。;；!！?？]"
)
_CHARACTER_SIZE = MIN_WORDS / MIN_CHARACTERS
_LEAST = 3.0
"""Words of a statement that is looked for at least, or five characters where the script has no blanks."""

_TELLING = 2
"""Words that carry weight which a run has at least, of two characters where the script has no blanks."""


def statements(text: str) -> tuple[str, ...]:
    """The sentences, lines and items of a list that a text is made of, without the marks of a list."""
    parts = (normal_text(part).strip() for part in _ENDS.split(text))
    return tuple(part for part in parts if part)


def size_of(text: str) -> float:
    """How long a text is, in words; ten characters count as six words where the script has no blanks."""
    return _size(word for word, _, _ in words_of(normal_text(text)))


class Runs:
    """Any six words in a row of any statement (ten characters where the script has no blanks); of a shorter statement
    all of it, from three words on. Runs of words that carry little weight are left out.

    Six words are what the leak guard looks for at least, too: fewer are said by chance.
    """

    def __init__(self, said: Iterable[str]) -> None:
        self._rest: dict[tuple[str, ...], set[tuple[str, ...]]] = defaultdict(set)
        self.letters = 0
        for statement in said:
            for run in _runs(tuple(word for word, _, _ in words_of(statement))):
                self._rest[run[:SHINGLE]].add(run[SHINGLE:])
                self.letters = max(self.letters, len("".join(run)))

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where one of them stands in a normal text, from which character to which. Takes time in its length."""
        if not self._rest:
            return
        found = list(words_of(text))
        words = [word for word, _, _ in found]
        for place, first in enumerate(zip(words, words[1:], words[2:], strict=False)):
            for rest in self._rest.get(first, ()):
                end = place + SHINGLE + len(rest)
                if tuple(words[place + SHINGLE : end]) == rest:
                    yield found[place][1], found[end - 1][2]


def _runs(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if _size(words) < MIN_WORDS:
        if len(words) >= SHINGLE and _size(words) >= _LEAST and _tells(words):
            yield words
        return
    end, size = 0, 0.0
    for start, first in enumerate(words):
        # Sums of tenths are not exact.
        while end < len(words) and size < MIN_WORDS - 1e-6:
            size += _size(words[end : end + 1])
            end += 1
        if size >= MIN_WORDS - 1e-6 and _tells(words[start:end]):
            yield words[start:end]
        size -= _size((first,))


def _tells(words: Iterable[str]) -> bool:
    return _size(word for word in words if word not in LIGHT) >= _TELLING


def _size(words: Iterable[str]) -> float:
    return sum(_CHARACTER_SIZE if is_character(word) else 1.0 for word in words)
