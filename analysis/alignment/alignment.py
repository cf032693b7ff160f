"""Two conversations of one question, step by step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from toolablate.analysis.alignment.likeness import likeness
from toolablate.analysis.alignment.matching import best_matches
from toolablate.analysis.alignment.steps import Step, steps_of
from toolablate.traces.records import Event

Kind = Literal["same", "results", "reply", "left", "right"]
"""Of a row: the model said and did the same and was shown the same; said the same and was shown something else; said
something else; or only one side has such a step."""

AT_ONCE = 2_000
"""Steps of either side that are aligned in one go; of longer conversations each such stretch on its own."""

_WORTH = 0.4
"""Steps less alike than this stand alone."""


@dataclass(frozen=True, slots=True)
class Row:
    """`left` and `right` are indices of steps; one of them is None where only the other side has such a step."""

    left: int | None
    right: int | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class Alignment:
    """Every step of `left` and of `right` is in one of the `rows`, in order.

    `divergence` is the first row in which the model said or did something else, or which only one side has; `results`
    the first before it in which it was shown something else after the same words. Both None where there is none. What a
    condition itself differs in, its prompt and the tools that it offers, is no divergence.
    """

    left: tuple[Step, ...]
    right: tuple[Step, ...]
    rows: tuple[Row, ...]

    @property
    def divergence(self) -> int | None:
        return next((index for index, row in enumerate(self.rows) if row.kind in ("reply", "left", "right")), None)

    @property
    def results(self) -> int | None:
        before = self.rows[: self.divergence]
        return next((index for index, row in enumerate(before) if row.kind == "results"), None)


def align(left: Sequence[Event], right: Sequence[Event]) -> Alignment:
    """Rows of two conversations: those pairs of steps, in order, that are most alike in sum. A step of one side that
    has no like on the other has a row of its own; of several in a row those of the left come first.

    Swapping the sides swaps the pairs. Takes steps x steps in time, up to 2,000 of each side at once.
    """
    ours, theirs = steps_of(left), steps_of(right)
    return Alignment(ours, theirs, tuple(_rows(ours, theirs)))


def _rows(left: Sequence[Step], right: Sequence[Step]) -> Iterator[Row]:
    ends = (len(left), len(right))
    for (row, column), (next_row, next_column) in pairwise([(-1, -1), *_pairs(left, right), ends]):
        if row >= 0:
            yield Row(row, column, _kind(left[row], right[column]))
        yield from (Row(each, None, "left") for each in range(row + 1, next_row))
        yield from (Row(None, each, "right") for each in range(column + 1, next_column))


def _pairs(left: Sequence[Step], right: Sequence[Step]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < min(len(left), len(right)) and left[start].said == right[start].said:
        yield start, start
        start += 1
    for begin in range(start, min(len(left), len(right)), AT_ONCE):
        found = _matched(left[begin : begin + AT_ONCE], right[begin : begin + AT_ONCE])
        yield from ((begin + row, begin + column) for row, column in found)


def _matched(left: Sequence[Step], right: Sequence[Step]) -> list[tuple[int, int]]:
    """Of several ways that are as good it chooses the same whichever side is which."""
    if [step.said for step in left] > [step.said for step in right]:
        return [(row, column) for column, row in _matched(right, left)]
    return best_matches(likeness(left, right) - _WORTH)


def _kind(left: Step, right: Step) -> Kind:
    if left.said != right.said:
        return "reply"
    return "same" if left.shown == right.shown else "results"
