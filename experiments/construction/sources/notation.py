"""What is said by where letters stand, in plain text."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

_READS_ALONG = re.compile(r"st|nd|rd|th|TM|SM|[′″°∘]+", re.IGNORECASE)
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")


def scripted(sign: str, said: str, after: str = "") -> str:
    """A superscript (`sign` is "^") or subscript ("_"): "10^8", "H_2O", "10^(-8)". A number or a single sign stands
    bare, unless `after`, the next character, would read as a part of it; all else is in brackets. "1st" and "25°" stay.
    """
    said = said.strip()
    if not said or (sign == "^" and _READS_ALONG.fullmatch(said)):
        return said
    alike = after[:1].isdecimal() if said.isdecimal() else said.isalpha() and after[:1].isalpha()
    bare = (said.isdecimal() or len(said) == 1) and not alike
    return f"{sign}{said}" if bare or _BRACKETED.fullmatch(said) else f"{sign}({said})"


class Letter(NamedTuple):
    """One of a page, in points: where it begins and ends across, its baseline from above, and its size. `at` is its
    place in the page's text, -1 of what was put in. Blanks between words that are drawn apart, and ends of lines, have
    no size."""

    sign: str
    at: int
    left: float = 0.0
    right: float = 0.0
    baseline: float = 0.0
    size: float = 0.0


# Accents that stand on their letter, as OT1 fonts of LaTeX set them.

ACCENTS = {"`": "\u0300", "ˆ": "\u0302", "ˇ": "\u030c"} | {
    accent: unicodedata.normalize("NFKD", accent)[1] for accent in "´˜¯˘˙¨˚˝¸˛"
}
_DOTLESS = {"ı": "i", "ȷ": "j"}


def with_accents(letters: Iterable[Letter]) -> Iterator[Letter]:
    """ "Größe" where the page has "Gr¨oße", an accent and a letter in one place."""
    last: Letter | None = None
    for letter in letters:
        if last is not None and (composed := _composed(last, letter)):
            last = composed
            continue
        if last is not None:
            yield last
        last = letter
    if last is not None:
        yield last


def _composed(one: Letter, other: Letter) -> Letter | None:
    accent, letter = (one, other) if one.sign in ACCENTS else (other, one)
    if accent.sign not in ACCENTS or not letter.left <= (accent.left + accent.right) / 2 <= letter.right:
        return None
    both = unicodedata.normalize("NFC", _DOTLESS.get(letter.sign, letter.sign) + ACCENTS[accent.sign])
    return letter._replace(sign=both) if len(both) == 1 else None


# Smaller letters above or below the line.

_SMALLER = (0.4, 0.88)
_RAISED = (0.27, 0.7)
_LOWERED = (0.1, 0.45)
"""Of the size of what they stand at. The A of the word LaTeX is raised by .21."""
_LONGEST = 20
"""Signs. What is longer is a line beside a large initial."""
_NEAR = 1.0
"""Of the size: the least gap of columns is larger."""
_GAP, _OVER = 0.15, 0.3
"""Of the size: the least blank, and how far an index may stand below the letter that it belongs to."""
_MARK = re.compile(r"\d{1,3}(?:\s*[,–-]\s*\d{1,3})*|[*∗†‡§¶]+")
_ENDED = re.compile(r"[.,;:!?。，；：！？\"”’»«]\Z")
_WORD = re.compile(r"(?:(?<![^\W\d_])(?!(?:sin|cos|tan|cot|sec|csc)h)[^\W\d_]{4,}|[\u4e00-\u9fff])\Z")
_EQUATION = re.compile(r"[=×÷·∝≈≤≥<>+/]")


@dataclass(slots=True)
class _Row:
    """What stands on one baseline, with the scripts on it. `end` is that of its own letters, `whole` of all."""

    sign: str
    baseline: float
    size: float = 0.0
    end: float = 0.0
    whole: float = 0.0
    letters: list[Letter] = field(default_factory=list)

    def add(self, run: Sequence[Letter]) -> None:
        self.letters += run
        self.size = run[-1].size
        self.end = self.whole = run[-1].right

    def has(self, letter: Letter) -> bool:
        return abs(letter.baseline - self.baseline) <= 0.06 * self.size and self._goes_on_at(letter.left)

    def sign_of(self, letter: Letter) -> str:
        """ "^" or "_" of a script on it, else ""."""
        raised = (self.baseline - letter.baseline) / self.size
        if not _SMALLER[0] <= letter.size / self.size <= _SMALLER[1] or not self._goes_on_at(letter.left):
            return ""
        if _RAISED[0] <= raised <= _RAISED[1]:
            return "^"
        return "_" if _LOWERED[0] <= -raised <= _LOWERED[1] else ""

    def _goes_on_at(self, left: float) -> bool:
        return any(-_OVER * self.size <= left - end <= _NEAR * self.size for end in (self.end, self.whole))

    def written(self, before: Sequence[Letter], after: str) -> list[Letter]:
        """As a script behind what is before it."""
        said = "".join(each.sign for each in self.letters)
        if len(said) > _LONGEST:
            return self.letters
        behind = "".join(each.sign for each in before)
        if self.sign == "^" and _MARK.fullmatch(said):
            word = _WORD.search(behind)
            if _ENDED.search(behind) or (word and not said[0].isdecimal()):
                return []
            if word and not _EQUATION.search(behind):
                return [Letter(" ", -1), Letter("[", -1), *self.letters, Letter("]", -1)]
        put, _, closing = scripted(self.sign, said, after).partition(said)
        return [*(Letter(sign, -1) for sign in put), *self.letters, *(Letter(sign, -1) for sign in closing)]


def with_scripts(letters: Sequence[Letter]) -> list[Letter]:
    """Superscripts and subscripts as `scripted` writes them, in the line of what they stand at. A footnote's mark goes
    where it cannot be a power: behind a point, or a sign such as "*" behind a word of four letters or more. A number
    behind such a word is set apart, "textbook [3]", unless the line has an equation: "mass × speed^2"."""
    done: list[Letter] = []
    rows: list[_Row] = []
    blanks: list[Letter] = []
    for run in _runs(letters):
        first = run[0]
        if not first.size:
            blanks += run
            continue
        while rows and not rows[-1].has(first) and not rows[-1].sign_of(first):
            beside = not blanks or -_OVER <= (first.left - rows[-1].whole) / first.size <= _GAP
            _close(rows, done, first.sign if beside else "")
        if not rows:
            done += blanks
            rows.append(_Row("", first.baseline))
        else:
            below = rows[-1]
            below.letters += _between(blanks, first.left - below.whole, below.size)
            if not below.has(first):
                rows.append(_Row(below.sign_of(first), first.baseline))
        rows[-1].add(run)
        blanks = []
    while rows:
        _close(rows, done, "")
    return done + blanks


def _runs(letters: Sequence[Letter]) -> Iterator[list[Letter]]:
    """Of one size on one baseline."""
    for _, run in groupby(letters, key=attrgetter("size", "baseline")):
        yield list(run)


def _close(rows: list[_Row], done: list[Letter], after: str) -> None:
    row = rows.pop()
    if rows:
        rows[-1].letters += row.written(rows[-1].letters, after)
        rows[-1].whole = max(rows[-1].whole, row.whole)
    else:
        done += row.letters


def _between(blanks: Sequence[Letter], gap: float, size: float) -> Sequence[Letter]:
    """Within a line no line ends."""
    if not any(each.sign == "\n" for each in blanks):
        return blanks
    blank = any(each.sign == " " for each in blanks) or gap > _GAP * size
    return [Letter(" ", blanks[0].at)] if blank else []
