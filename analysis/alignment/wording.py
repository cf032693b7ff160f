"""What differs between two texts, word by word."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from toolablate.analysis.alignment.matching import best_matches
from toolablate.traces.records.difference import shared_start

MOST_TOKENS = 1_500
"""Of either side, between what both begin and end with; of longer texts lines are compared, and of still longer ones
nothing between."""

LONGEST = 400_000
"""Characters of either side that are taken apart, between what both begin and end with."""

LEAST_KEPT = 0.25
"""Of the shorter text; where two texts have less in common, what they share is chance and marks would hide it."""

CRUMB_LETTERS = 3

_TOKEN = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"  # Chinese, Japanese, Korean: by character
    r"|[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+|[^\S\n]+|\n|[^\w\s]"
)
_LINE = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of two texts: the `same` in both, or what stands only in the left one (`removed`) or only in the right
    one (`added`)."""

    text: str
    kind: Literal["same", "removed", "added"]


def pieces(left: str, right: str) -> tuple[Piece, ...]:
    """Both texts at once: the same and the removed pieces are the left text, the same and the added ones the right.

    By words, in which a Chinese character is one; where there are too many of them by lines; as wholes where they have
    next to nothing in common. Time is bounded, whatever the texts.
    """
    start = shared_start(left, right)
    end = shared_start(left[start:][::-1], right[start:][::-1])
    start, end = _at_word(left, right, start), _until_word(left, right, start, end)
    middle = _middle(left[start : len(left) - end], right[start : len(right) - end])
    whole = (Piece(left[:start], "same"), *middle, Piece(left[len(left) - end :], "same"))
    found = tuple(_joined(whole))
    kept = sum(len(piece.text) for piece in found if piece.kind == "same")
    if left and right and kept < LEAST_KEPT * min(len(left), len(right)):
        return Piece(left, "removed"), Piece(right, "added")
    return found


def side_of(found: Sequence[Piece], side: Literal["left", "right"]) -> tuple[Piece, ...]:
    """One of the two texts, in its pieces."""
    other = "added" if side == "left" else "removed"
    return tuple(_joined(piece for piece in found if piece.kind != other))


def _at_word(left: str, right: str, start: int) -> int:
    """Back to where a word begins, so that no piece begins within one; words are rarely longer than a hundred."""
    limit = max(0, start - 100)
    while start > limit and not (_ends_word(left, start) and _ends_word(right, start)):
        start -= 1
    return start


def _until_word(left: str, right: str, start: int, end: int) -> int:
    end = min(end, len(left) - start, len(right) - start)
    limit = max(0, end - 100)
    while end > limit and not (_ends_word(left, len(left) - end) and _ends_word(right, len(right) - end)):
        end -= 1
    return end


def _ends_word(text: str, place: int) -> bool:
    inside = 0 < place < len(text) and text[place - 1].isalnum() and text[place].isalnum()
    return not inside


def _middle(left: str, right: str) -> Iterator[Piece]:
    replaced = Piece(left, "removed"), Piece(right, "added")
    if not left or not right or max(len(left), len(right)) > LONGEST:
        yield from replaced
        return
    for token in (_TOKEN, _LINE):
        ours, theirs = token.findall(left), token.findall(right)
        if max(len(ours), len(theirs)) <= MOST_TOKENS:
            yield from _between(ours, theirs, _matches(ours, theirs))
            return
    yield from replaced


def _matches(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int]]:
    """The longest common subsequence, in which blanks and signs count little beside words."""
    numbers: dict[str, int] = {}
    ours, theirs = (np.array([numbers.setdefault(token, len(numbers)) for token in side]) for side in (left, right))
    weights = np.array([1.0 if any(map(str.isalnum, token)) else 0.125 for token in left], dtype=np.float32)
    same = np.equal.outer(ours, theirs)
    return _without_crumbs(left, best_matches(same * weights[:, None]), len(left), len(right))


def _without_crumbs(
    left: Sequence[str], matched: list[tuple[int, int]], ours: int, theirs: int
) -> list[tuple[int, int]]:
    """What says next to nothing between two changes is part of these: blanks and signs, or a word such as "of"."""
    runs: list[list[tuple[int, int]]] = []
    for pair in matched:
        follows = bool(runs) and pair == (runs[-1][-1][0] + 1, runs[-1][-1][1] + 1)
        if follows:
            runs[-1].append(pair)
        else:
            runs.append([pair])
    return [
        pair
        for run in runs
        if not _is_crumb("".join(left[row] for row, _ in run)) or run[0] == (0, 0) or run[-1] == (ours - 1, theirs - 1)
        for pair in run
    ]


def _is_crumb(text: str) -> bool:
    letters = "".join(filter(str.isalnum, text))
    return not letters or (letters.isascii() and len(letters) <= CRUMB_LETTERS)


def _between(left: Sequence[str], right: Sequence[str], matched: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    ends = (len(left), len(right))
    for (row, column), (next_row, next_column) in pairwise([(-1, -1), *matched, ends]):
        if row >= 0:
            yield Piece(left[row], "same")
        yield Piece("".join(left[row + 1 : next_row]), "removed")
        yield Piece("".join(right[column + 1 : next_column]), "added")


def _joined(found: Sequence[Piece] | Iterator[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind as one piece, and no empty ones."""
    texts: list[str] = []
    kind: Literal["same", "removed", "added"] = "same"
    for piece in found:
        if piece.text and piece.kind != kind:
            if texts:
                yield Piece("".join(texts), kind)
            texts, kind = [], piece.kind
        if piece.text:
            texts.append(piece.text)
    if texts:
        yield Piece("".join(texts), kind)
