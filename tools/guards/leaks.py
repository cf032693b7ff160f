"""Marks results that hold the question itself together with its answer, and keeps back what a plan blocks."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from toolablate.tools.guards.guard import BlockedHosts, Inspection
from toolablate.tools.guards.passages import (
    CJK,
    LIGHT,
    MIN_CHARACTERS,
    MIN_WORDS,
    SHINGLE,
    SLACK,
    Passages,
    SoughtPassage,
    is_character,
    normal_text,
    unescaped,
    words_of,
)
from toolablate.tools.text import one_line
from toolablate.traces.records import Marker

LETTER = re.compile(r"[A-Z]")

_KEYS = (
    r"(?<!re)(?<!in)(?<!incorrect )(?<!wrong )"
    r"(?:answer|answer_?key|correct|solution|label|target|答案|正确选项|正確選項|故选|故選|选择|應選|应选)"
)
_LINKS = r"(?:is|was|choice|option|letter|answer|key|为|為|是|选|選)"
# No end of a sentence: "Choose the correct answer. A boat ...".
_BETWEEN = r"(?:[^\w.?!。]|_){0,6}"
# After "A" and a word it is an article, but for words that no article comes before.
_NO_WORD = (
    r"(?![A-Za-z0-9])(?![^\S\n]+(?!(?:because|since|and|is|was|Because|Since|Explanation|Rationale|Reasoning)\b)[^\W\d_])"
    r"(?!(?![项項选選正对對解考点點本故所因其])[\u3400-\u9fff])"
)

_OPTION = re.compile(r"(?<![A-Za-z0-9])([A-Z])\s?[.):、．）：]")
_UNKNOWN = 4
"""Options that a question is taken to have which names none."""


def lettered(prompt: str) -> int:
    """How many options a prompt lists by letters from A on, one after the other ("A. ...", "(B) ..."); four where it
    lists no two."""
    count = 0
    for found in _OPTION.finditer(prompt):
        count += found[1] == chr(ord("A") + count)
    return count if count > 1 else _UNKNOWN


@lru_cache(maxsize=32)
def named_as_answer(letter: str) -> re.Pattern[str]:
    """A capital letter that is said to be the answer, and that neither a word nor the list of choices follows:
    `Answer: B`, `The correct answer is (B).`, `"answer": "B"`, `正确答案是B`."""
    following = chr(ord(letter) + 1)
    no_list = rf"(?!(?P<mark>[.):、])(?s:.{{1,300}}?)(?<!\w){following}(?P=mark))"
    return re.compile(f"(?i:{_KEYS}){_BETWEEN}(?:(?i:{_LINKS}){_BETWEEN}){{0,3}}{letter}{no_list}{_NO_WORD}")


# What a long answer says one by one, and the runs of words by which each of these is known again.


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


# A quick look that finds the few places of a text where a passage need be looked for.


PROBES = 8

_RUN = 4
_ROOM = 100
_RUNS = re.compile(f"[{CJK}]{{{_RUN}}}")
_WORDS = re.compile(rf"[^\W\d_{CJK}]{{2,}}")


class Screen:
    """Whether half of a text's least common words stand close together in another text, a normal one.

    These are taken to be the longest ones; in scripts without blanks, runs of a few characters.
    """

    def __init__(self, text: str) -> None:
        normal = normal_text(text).lower()
        self._probes = _probes(normal)
        self._room = int(len(normal.encode()) * SLACK) + _ROOM

    def stretches(self, text: str) -> list[str]:
        """The parts of the text in which they do, with room around; none in nearly all texts."""
        encoded = text.encode("utf-8", "replace")
        if not self._probes:
            return [text]
        merged: list[list[int]] = []
        for place in self._places(encoded):
            start, end = max(place - 2 * self._room, 0), place + self._room
            if merged and start <= merged[-1][1]:
                merged[-1][1] = end
            else:
                merged.append([start, end])
        return [encoded[start:end].decode("utf-8", "ignore") for start, end in merged]

    def _places(self, encoded: bytes) -> Iterator[int]:
        """Where one of them stands, and enough others not far before it."""
        needed = len(self._probes) - len(self._probes) // 2
        near: deque[tuple[int, bytes]] = deque()
        counts: Counter[bytes] = Counter()
        for match in self._expression.finditer(encoded):
            place, probe = match.start(), b"".join(match.group().lower().split())
            near.append((place, probe))
            counts[probe] += 1
            while place - near[0][0] > self._room:
                _, left = near.popleft()
                counts[left] -= 1
                if not counts[left]:
                    del counts[left]
            if len(counts) >= needed:
                yield place

    @cached_property
    def _expression(self) -> Any:
        import re2

        options = re2.Options()
        options.case_sensitive = False
        # Between characters there may be blanks, as PDF files have them; words are of letters alone.
        spaced = (r"\s*".join(probe) if _RUNS.fullmatch(probe) else probe for probe in self._probes)
        return re2.compile("|".join(spaced), options)


def _probes(normal: str) -> tuple[str, ...]:
    words = sorted(set(_WORDS.findall(normal)) - LIGHT, key=lambda word: (-len(word), word))
    runs = _RUNS.findall(normal)
    every = max(len(runs) // PROBES, 1)
    return tuple((runs[::every] if len(runs) > len(words) else words)[:PROBES])


EXCERPT_CHARS = 200
VICINITY = 200
"""Words around the question in which a short answer must be; a long one may be anywhere in the text."""

_LONG_ANSWER = 6
_SENTENCE = 12


class LeakGuard:
    """The guard of one question. `answers` are texts that each answer it; a single capital letter is one among choices.
    Of an answer of several sentences, lines or items each answers it too, if it is long enough to be looked for.

    `block` keeps leaks back. `blocked_hosts` (`example.org` with all hosts below it, `example.org/data`) are kept back
    always, copies by a service whose address names them too. Raises ValueError for a host that cannot be read.
    """

    def __init__(
        self,
        question: str,
        answers: Sequence[str],
        *,
        block: bool = False,
        blocked_hosts: frozenset[str] = frozenset(),
    ) -> None:
        self._block = block
        self._hosts = BlockedHosts(blocked_hosts)
        self._question = SoughtPassage.of(question)
        self._screen = Screen(question)
        asked = Passages(normal_text(question))
        said = (each for answer in answers if answer.strip() for each in said_by(answer))
        self._answers = [_KnownAnswer(each, asked) for each in dict.fromkeys(said)]

    def inspect(self, url: str, text: str) -> Inspection:
        markers = self._leaks(url, text)
        return Inspection(markers, blocked=(self._block and bool(markers)) or self._hosts.named_by(url))

    def _leaks(self, url: str, text: str) -> tuple[Marker, ...]:
        if not self._answers or not self._question.long_enough:
            return ()
        text = normal_text(unescaped(text))
        if not any(self._holds_question(stretch) for stretch in self._screen.stretches(text)):
            return ()
        passages = Passages(text)
        said = [answer.said_in(passages) for answer in self._answers]
        for start, end in passages.holding(self._question):
            if any(each.is_near(start, end) for each in said):
                excerpt = one_line(passages.text_of(start, end), EXCERPT_CHARS)
                return (Marker(kind="answer_leak", where=url, excerpt=excerpt),)
        return ()

    def _holds_question(self, text: str) -> bool:
        return any(True for _ in Passages(text).holding(self._question))


@dataclass(frozen=True, slots=True)
class _Said:
    """Where a text says an answer of `size` words, which the question itself says `besides` times: these do not count.

    A long answer is said `anywhere` or not at all.
    """

    places: Sequence[int] = ()
    size: int = 1
    besides: int = 0
    anywhere: bool = False

    def is_near(self, start: int, end: int) -> bool:
        """Whether it is said around the words between which the question is."""
        first = bisect_left(self.places, start - VICINITY)
        last = bisect_right(self.places, end + VICINITY - self.size)
        return self.anywhere or last - first > self.besides


class _KnownAnswer:
    """One answer, and how often the question itself says it."""

    def __init__(self, answer: str, question: Passages) -> None:
        self._letter = answer.strip() if LETTER.fullmatch(answer.strip()) else ""
        self._wanted = SoughtPassage.of(answer)
        self._in_question = len(question.places(self._wanted.words))
        # A sentence that says the question again would be found wherever the question is.
        self._is_sentence = len(self._wanted.words) >= _SENTENCE and not any(question.holding(self._wanted))

    def said_in(self, passages: Passages) -> _Said:
        """A long one counts anywhere, since nobody says it by chance: nearly as it is, where it is a sentence."""
        words = self._wanted.words
        if self._letter:
            return _Said(passages.places_of(named_as_answer(self._letter)))
        if self._is_sentence:
            return _Said(anywhere=any(True for _ in passages.holding(self._wanted)))
        places = passages.places(words)
        if len(words) >= _LONG_ANSWER:
            return _Said(anywhere=len(places) > self._in_question)
        return _Said(places, len(words), self._in_question)


def said_by(answer: str) -> Iterator[str]:
    """The answer without the marks of its lists, and what it says one by one."""
    parts = statements(answer)
    yield answer if len(parts) < 2 else "\n".join(parts)
    if len(parts) > 1:
        yield from (part for part in parts if SoughtPassage.of(part).long_enough)
