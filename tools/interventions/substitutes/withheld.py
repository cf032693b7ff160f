"""What no placebo may say: the question's answer, its choices, its rubric, its dates in any spelling."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product

from toolablate.tools.guards.leaks import Runs, size_of, statements
from toolablate.tools.interventions.substitutes.numerals import (
    Squeezed,
    is_value,
    searched,
    stands_alone,
    stated,
    values_in,
)
from toolablate.traces.records import ChecklistTarget, NumberTarget, Question, ReferenceTarget, SpansTarget, TextTarget

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]}|t)?' for name in _MONTHS)})\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (rf"{_MONTH} {_DAY},? {_YEAR}", rf"(?:the )?{_DAY}(?: of)? {_MONTH},? {_YEAR}")
)


def other_dates(text: str) -> Iterator[str]:
    """Nothing for a text that is no such date."""
    found = next((match for date in _DATES if (match := date.fullmatch(text.strip()))), None)
    if found is None:
        return
    number = next(n for n, name in enumerate(_MONTHS, start=1) if name.startswith(found["month"][:3].lower()))
    day, year = int(found["day"]), found["year"]
    for name, ordinal in product((_MONTHS[number - 1], _MONTHS[number - 1][:3]), ("", "st", "nd", "rd", "th")):
        yield from (f"{name} {day}{ordinal} {year}", f"{day}{ordinal} {name} {year}")
        yield f"{day}{ordinal} of {name} {year}"
    for month, on in product((f"{number:02}", str(number)), (f"{day:02}", str(day))):
        yield from (f"{year}-{month}-{on}", f"{on}.{month}.{year}", f"{month}/{on}/{year}", f"{year}年{month}月{on}日")


_HOST = re.compile(r"(?<=://)\d+(?:\.\d+){3}(?::\d+)?")
"""The numbers of a machine, which say nothing of what it serves."""

_INSIDE = 6
"""Characters of a text that is looked for inside of longer words as well, as in a plural."""

_SHORT = 8
"""Words of a reference answer that is looked for as a span is; thirteen characters where the script has no blanks."""

_NUMBER_REACH = 64
"""Letters and digits over which a number may go on from line to line."""

_SIGNED = re.compile(r"[^\W\d_]\s?[-+#*′'″]{1,3}")
_EVERYDAY = frozenset("是否对错真假有无不没会能可要的大小多少高低上下左右前后东南西北中男女人年月日天")
"""Characters that are words by themselves and parts of very many others."""


class Withheld:
    """Looks for the choices and spans of a question whatever their case, width, spacing and punctuation, and for its
    numbers by value. A choice of a single letter or of none is no content, a number is; a span of a single letter is
    looked for as it is written.

    A short reference answer is a span, and so is a short text of a checklist's reference. Nobody says a longer one
    whole: what is looked for is any run of words of what it says (`guards.statements`), and so for the points and the
    reference of a rubric."""

    def __init__(self, question: Question) -> None:
        self._question = question

    def holds(self, text: str) -> bool:
        return any(True for _ in self._places(searched(text)))

    def without(self, lines: Sequence[str]) -> list[int]:
        """Numbers of the lines that are left once none of it is said, by one line or by several that follow one
        another. Takes time in their length."""
        plain = [searched(line).replace("\n", " ") for line in lines]
        kept = list(range(len(lines)))
        while any(True for _ in self._places("\n".join(plain[number] for number in kept))):
            kept = self._cleared(plain, kept)
        return kept

    def _cleared(self, plain: Sequence[str], numbers: Sequence[int]) -> list[int]:
        """Line by line: what is said anew is said by the line that was added, with the end of those before it."""
        kept: list[int] = []
        tails: list[str] = []
        for number in numbers:
            window = [*self._behind(tails), plain[number]]
            starts = [0]
            for line in window[:-1]:
                starts.append(starts[-1] + len(line) + 1)
            # What lies before the new line is clean: only where its own beginning is cut off can it seem not to be.
            said = [start for start, end in self._places("\n".join(window)) if end > starts[-1]]
            kept.append(number)
            tails.append(_end_of(plain[number], self._reach))
            if said:
                covered = len(window) - (bisect_right(starts, min(said)) - 1)
                del kept[-covered:], tails[-covered:]
        return kept

    def _behind(self, tails: Sequence[str]) -> list[str]:
        """The last of the lines, as many as what is withheld can reach over."""
        room, found = self._reach, 0
        while room > 0 and found < len(tails):
            found += 1
            room -= max(len(tails[-found]), 1)
        return list(tails[len(tails) - found :])

    @cached_property
    def _reach(self) -> int:
        return max((_NUMBER_REACH + self._runs.letters, *(len(phrase) + 1 for phrase in self._phrases)))

    def _places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it is said in a searched text, from where to where."""
        if self._phrases:
            yield from self._phrases_in(text)
        for literal in self._literals:
            yield from (match.span() for match in literal.finditer(text))
        yield from self._runs.places(text)
        if self._numbers:
            for read in values_in(_HOST.sub(_blank, text)):
                if any(is_value(read, value, tolerance) for value, tolerance in self._numbers):
                    yield read.start, read.end

    def _phrases_in(self, text: str) -> Iterator[tuple[int, int]]:
        squeezed = Squeezed(text)
        for phrase in self._phrases:
            at = squeezed.text.find(phrase)
            while at >= 0:
                if len(phrase) >= _INSIDE or squeezed.is_apart(at, at + len(phrase)):
                    yield squeezed.places[at], squeezed.places[at + len(phrase) - 1] + 1
                at = squeezed.text.find(phrase, at + 1)

    @cached_property
    def _wordy(self) -> tuple[str, ...]:
        return tuple(text for text in (*self._question.choices, *self._spans) if not stated(text))

    @cached_property
    def _spans(self) -> tuple[str, ...]:
        match self._question.target:
            case SpansTarget(spans=texts) | TextTarget(answers=texts):
                return texts
            case ReferenceTarget(answer=answer) if size_of(answer) <= _SHORT:
                return (answer,)
            case ChecklistTarget() as checklist:
                return tuple(text for text in checklist.texts if size_of(text) <= _SHORT)
        return ()

    @cached_property
    def _runs(self) -> Runs:
        question = self._question
        answers: tuple[str, ...] = ()
        if isinstance(question.target, ReferenceTarget):
            answers = (question.target.answer,)
        elif isinstance(question.target, ChecklistTarget):
            answers = question.target.texts
        rubric = (question.rubric.reference, question.rubric.points) if question.rubric else ()
        long = (text for text in (*answers, *rubric) if text not in self._spans)
        return Runs(searched(each) for text in long for each in statements(text))

    @cached_property
    def _phrases(self) -> tuple[str, ...]:
        dates = (date for text in self._wordy for date in other_dates(text))
        squeezed = dict.fromkeys(Squeezed(searched(text)).text for text in (*self._wordy, *dates))
        alone = (text for text in squeezed if len(text) == 1 and text not in _EVERYDAY and stands_alone(text))
        return (*(text for text in squeezed if len(text) > 1 or text.isdigit()), *alone)

    @cached_property
    def _literals(self) -> tuple[re.Pattern[str], ...]:
        """What letters and digits alone do not tell apart (C++), and single ones."""
        found: list[re.Pattern[str]] = []
        for text in self._wordy:
            plain = searched(text).strip()
            if _SIGNED.fullmatch(plain):
                found.append(re.compile(rf"(?<![^\W_]){re.escape(plain)}(?![-+#*\w])", re.IGNORECASE))
            elif len(plain) == 1 and (plain in _EVERYDAY or (text in self._spans and plain.isalpha())):
                found.append(re.compile(rf"(?<![^\W_]){re.escape(plain)}(?![^\W_])"))
        return tuple(found)

    @cached_property
    def _numbers(self) -> tuple[tuple[float, float], ...]:
        """Values with what an answer may be off."""
        target = self._question.target
        of_texts = [(value, 0.0) for text in (*self._question.choices, *self._spans) for value in stated(text)]
        if isinstance(target, NumberTarget):
            tolerance = max(target.absolute, target.relative * abs(target.value))
            return (*of_texts, (target.value, tolerance))
        return tuple(of_texts)


def _end_of(line: str, reach: int) -> str:
    """The end of a line that holds so many letters and digits, with each row of other characters as one."""
    end: list[str] = []
    for character in reversed(line):
        if character.isalnum():
            reach -= 1
        elif end and not end[-1].isalnum():
            continue
        end.append(character)
        if not reach:
            break
    return "".join(reversed(end))


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
