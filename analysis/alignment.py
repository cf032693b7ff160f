"""Two trials of one question side by side: aligned steps, where they part, and settings that differ."""

import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import JsonValue

from toolablate.analysis.attribution.signals.answers import AnswerForm, final_answer, leaning
from toolablate.analysis.attribution.signals.signal_types import Answered
from toolablate.traces.records import Artifact, Condition, Event, Model, ModelCall, Question, ToolCall, Trial
from toolablate.traces.records.difference import shared_start
from toolablate.traces.thoughts import after_thoughts

LAID_OUT = 100
"""Calls of one reply whose arguments are read; those of more are taken as they were written."""


@dataclass(frozen=True, slots=True)
class AlignedStep:
    """`first` is the index of the first of its `events` in the conversation. The reply is the first of them that is a
    ModelCall; only a conversation without any reply has a step without one.

    `said` is what the model said and did: its thoughts, its words, then each call's tool and arguments. Ids that an
    endpoint gave are no part of it, nor is the layout of arguments that are JSON.
    """

    first: int
    events: tuple[Event, ...]
    said: tuple[str, ...]

    @property
    def asked(self) -> ModelCall | None:
        return next((event for event in self.events if isinstance(event, ModelCall)), None)

    @property
    def results(self) -> tuple[ToolCall, ...]:
        return tuple(event for event in self.events if isinstance(event, ToolCall))

    @property
    def shown(self) -> tuple[tuple[str, str, tuple[Artifact, ...]], ...]:
        """What its calls gave, as text and as images."""
        return tuple((each.status, each.output, tuple(filter(is_image, each.artifacts))) for each in self.results)

    @property
    def tools(self) -> frozenset[str]:
        """The names of those that the reply calls."""
        return frozenset() if self.asked is None else frozenset(c.name for c in self.asked.reply.message.tool_calls)


def is_image(artifact: Artifact) -> bool:
    """A drawing in SVG is none: programs give the parts of one and the same other names each time."""
    kind = artifact.mime.strip().lower()
    return kind.startswith("image/") and not kind.startswith("image/svg")


def steps_of(conversation: Sequence[Event]) -> tuple[AlignedStep, ...]:
    """Every event is in one step, in order. A step begins with each reply of the model and goes on to the next one: so
    it has the results of the calls that the reply made, and failures before the next reply. What came before the first
    reply belongs to the first step."""
    begins = [index for index, event in enumerate(conversation) if isinstance(event, ModelCall)]
    begins = [0, *begins[1:]] if conversation else []
    ends = [*begins[1:], len(conversation)] if conversation else []
    return tuple(_step(first, tuple(conversation[first:end])) for first, end in zip(begins, ends, strict=True))


def _step(first: int, events: tuple[Event, ...]) -> AlignedStep:
    asked = next((event for event in events if isinstance(event, ModelCall)), None)
    if asked is None:
        return AlignedStep(first, events, ())
    message = asked.reply.message
    calls = message.tool_calls
    plain = (part for call in calls[:LAID_OUT] for part in (call.name, _plain_arguments(call.arguments)))
    as_written = (part for call in calls[LAID_OUT:] for part in (call.name, call.arguments))
    return AlignedStep(first, events, (message.reasoning.strip(), message.content.strip(), *plain, *as_written))


def _plain_arguments(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, sort_keys=True)
    except (ValueError, RecursionError):
        return text


# How alike the steps of two conversations are, cheaply: a thousand by a thousand in well under a second.


READ = 1_000
"""Characters of the beginning and of the end of a text that are looked at."""

_BUCKETS = 1_024
_WORD = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]{1,100}")
_NEARLY = 0.99


def similarity(left: Sequence[AlignedStep], right: Sequence[AlignedStep]) -> NDArray[np.float32]:
    """One row for each left step, one column for each right one; in [0, 1], and 1 only where the model said and did the
    same.

    Half of it is for calling the same tools, or none (the share of tools in common of all that either calls), half for
    what was said: the cosine of counts of words, each count as log(1 + count), hashed into 1,024 buckets (feature
    hashing: Weinberger and others 2009, "Feature Hashing for Large Scale Multitask Learning").
    """
    alike = _vectors(left) @ _vectors(right).T
    found = np.minimum(0.5 * _same_tools(left, right) + 0.5 * alike, _NEARLY).astype(np.float32)
    numbers: dict[tuple[str, ...], int] = {}
    ours, theirs = (np.array([numbers.setdefault(each.said, len(numbers)) for each in side]) for side in (left, right))
    found[np.equal.outer(ours, theirs)] = 1.0
    return found


def _same_tools(left: Sequence[AlignedStep], right: Sequence[AlignedStep]) -> NDArray[np.float32]:
    sets: dict[frozenset[str], int] = {}
    ours, theirs = ([sets.setdefault(each.tools, len(sets)) for each in side] for side in (left, right))
    shares = [[len(one & other) / len(one | other) if one | other else 1.0 for other in sets] for one in sets]
    return np.array(shares, dtype=np.float32)[np.ix_(ours, theirs)]


def _vectors(steps: Sequence[AlignedStep]) -> NDArray[np.float32]:
    found = np.zeros((len(steps), _BUCKETS), dtype=np.float32)
    for row, step in zip(found, steps, strict=True):
        text = "\n".join(part if len(part) <= 2 * READ else part[:READ] + part[-READ:] for part in step.said)
        words = [_bucket(word) for word in _WORD.findall(text[: 4 * READ])]
        row += np.log1p(np.bincount(words, minlength=_BUCKETS)) if words else 0
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    found /= np.maximum(lengths, 1e-9)
    return found


@lru_cache(maxsize=100_000)
def _bucket(word: str) -> int:
    return zlib.crc32(word.casefold().encode("utf-8", "surrogatepass")) % _BUCKETS


# Which items of two sequences belong together, in order.


def best_matches(gains: NDArray[np.float32]) -> list[tuple[int, int]]:
    """Pairs of a row and a column, rising in both, whose gains sum to the most that is possible; what is left without a
    partner costs nothing, so a pair that gains nothing is never made.

    Dynamic programming, a row at a time (Needleman and Wunsch 1970): time and memory are rows x columns.
    """
    rows, columns = gains.shape
    best = np.zeros((rows + 1, columns + 1), dtype=np.float32)
    for row in range(rows):
        matched = best[row, :-1] + np.maximum(gains[row], 0)
        best[row + 1, 1:] = np.maximum.accumulate(np.maximum(best[row, 1:], matched))
    pairs = []
    row, column = rows, columns
    while row and column:
        if best[row, column] == best[row - 1, column]:
            row -= 1
        elif best[row, column] == best[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs[::-1]


# Two conversations of one question, step by step.


Kind = Literal["same", "results", "reply", "left", "right"]
"""Of a row: the model said and did the same and was shown the same; said the same and was shown something else; said
something else; or only one side has such a step."""

AT_ONCE = 2_000
"""Steps of either side that are aligned in one go; of longer conversations each such stretch on its own."""

_WORTH = 0.4
"""Steps less alike than this stand alone."""


@dataclass(frozen=True, slots=True)
class AlignedRow:
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

    left: tuple[AlignedStep, ...]
    right: tuple[AlignedStep, ...]
    rows: tuple[AlignedRow, ...]

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


def _rows(left: Sequence[AlignedStep], right: Sequence[AlignedStep]) -> Iterator[AlignedRow]:
    ends = (len(left), len(right))
    for (row, column), (next_row, next_column) in pairwise([(-1, -1), *_pairs(left, right), ends]):
        if row >= 0:
            yield AlignedRow(row, column, _kind(left[row], right[column]))
        yield from (AlignedRow(each, None, "left") for each in range(row + 1, next_row))
        yield from (AlignedRow(None, each, "right") for each in range(column + 1, next_column))


def _pairs(left: Sequence[AlignedStep], right: Sequence[AlignedStep]) -> Iterator[tuple[int, int]]:
    start = 0
    while start < min(len(left), len(right)) and left[start].said == right[start].said:
        yield start, start
        start += 1
    for begin in range(start, min(len(left), len(right)), AT_ONCE):
        found = _matched(left[begin : begin + AT_ONCE], right[begin : begin + AT_ONCE])
        yield from ((begin + row, begin + column) for row, column in found)


def _matched(left: Sequence[AlignedStep], right: Sequence[AlignedStep]) -> list[tuple[int, int]]:
    """Of several ways that are as good it chooses the same whichever side is which."""
    if [step.said for step in left] > [step.said for step in right]:
        return [(row, column) for column, row in _matched(right, left)]
    return best_matches(similarity(left, right) - _WORTH)


def _kind(left: AlignedStep, right: AlignedStep) -> Kind:
    if left.said != right.said:
        return "reply"
    return "same" if left.shown == right.shown else "results"


# Where two aligned conversations begin to support different answers.


READ_OF_A_STEP = 2_000
"""Characters of the end of a reply that is not the last one: many replies are read for one page."""


def stated_answers(steps: Sequence[AlignedStep], question: Question) -> tuple[Answered, ...]:
    """What the reply of each step supports at its end, () where it supports nothing; that of the last step as a
    final reply, which may be the answer and nothing else."""
    form = AnswerForm.of(question)
    return tuple(
        final_answer(after_thoughts(_words(step)).strip(), form) or leaning(_words(step), form)
        if step is steps[-1]
        else leaning(_words(step)[-READ_OF_A_STEP:], form)
        for step in steps
    )


def parting(alignment: Alignment, left: Sequence[Answered], right: Sequence[Answered]) -> int | None:
    """The row from which on the answers that the two sides last supported differ, to the end; None where they support
    the same in the end, or one of them for none. `left` and `right` are what the steps of each support."""
    ours: Answered = ()
    theirs: Answered = ()
    found = None
    for index, row in enumerate(alignment.rows):
        ours = (row.left is not None and left[row.left]) or ours
        theirs = (row.right is not None and right[row.right]) or theirs
        if not ours or not theirs or ours == theirs:
            found = None
        elif found is None:
            found = index
    return found


def _words(step: AlignedStep) -> str:
    if step.asked is None:
        return ""
    message = step.asked.reply.message
    return f"{message.reasoning}\n{message.content}" if message.reasoning else message.content


# In what two trials of one question differ by design: condition, model and repeat.


_CONDITION = {
    "prompt": "prompt",
    "tools": "tools",
    "tool_choice": "tool choice",
    "parallel_tool_calls": "parallel calls",
    "reasoning": "reasoning between calls",
    "answer_schema": "form of the answer",
    "show_plots": "plots shown",
    "budget": "budget",
    "interventions": "interventions",
    "resumed": "change",
}
_UNTOLD = frozenset({"version", "name", "price", "capabilities", "api_key_env", "concurrency"})


@dataclass(frozen=True, slots=True)
class Differing:
    """Something that is not the same for both, as text; "" where one side has none."""

    name: str
    left: str
    right: str


def settings(left: tuple[Trial, Model, Condition], right: tuple[Trial, Model, Condition]) -> tuple[Differing, ...]:
    """What differs, and nothing else: names of models and conditions first, then what stands behind them."""
    ours, theirs = dict(_told(*left)), dict(_told(*right))
    names = [*ours, *(name for name in theirs if name not in ours)]
    found = (Differing(name, ours.get(name, ""), theirs.get(name, "")) for name in names)
    return tuple(each for each in found if each.left != each.right)


def _told(trial: Trial, model: Model, condition: Condition) -> Iterator[tuple[str, str]]:
    yield "model", model.name
    yield "condition", condition.name if condition.resumed is None else f"replay of {condition.resumed.trial[:10]}"
    yield "repeat", str(trial.repeat)
    content = condition.model_dump(mode="json")
    for field, name in _CONDITION.items():
        if field == "resumed":
            yield name, _change(condition)
        else:
            yield name, _text(content[field])
    for field, value in model.model_dump(mode="json").items():
        if field not in _UNTOLD:
            yield field.replace("_", " "), _text(value)


def _change(condition: Condition) -> str:
    if condition.resumed is None:
        return ""
    change = condition.resumed.change
    said = {name: value for name, value in change.model_dump(mode="json").items() if name != "kind" and value}
    return f"{change.kind.replace('_', ' ')} from event {condition.resumed.event}" + (
        f": {_text(said)}" if said else ""
    )


def _text(value: JsonValue) -> str:
    """Tools and interventions by their names, with the options that they have; of objects what is set."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    if isinstance(value, dict):
        if set(value) == {"name", "options"}:
            options = _text(value["options"])
            return f"{value['name']} ({options})" if options else str(value["name"])
        return ", ".join(f"{name.replace('_', ' ')} {_text(each)}" for name, each in value.items() if each is not None)
    return json.dumps(value)


# What differs between two texts, word by word.


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
class DiffPiece:
    """A stretch of two texts: the `same` in both, or what stands only in the left one (`removed`) or only in the right
    one (`added`)."""

    text: str
    kind: Literal["same", "removed", "added"]


def pieces(left: str, right: str) -> tuple[DiffPiece, ...]:
    """Both texts at once: the same and the removed pieces are the left text, the same and the added ones the right.

    By words, in which a Chinese character is one; where there are too many of them by lines; as wholes where they have
    next to nothing in common. Time is bounded, whatever the texts.
    """
    start = shared_start(left, right)
    end = shared_start(left[start:][::-1], right[start:][::-1])
    start, end = _at_word(left, right, start), _until_word(left, right, start, end)
    middle = _middle(left[start : len(left) - end], right[start : len(right) - end])
    whole = (DiffPiece(left[:start], "same"), *middle, DiffPiece(left[len(left) - end :], "same"))
    found = tuple(_joined(whole))
    kept = sum(len(piece.text) for piece in found if piece.kind == "same")
    if left and right and kept < LEAST_KEPT * min(len(left), len(right)):
        return DiffPiece(left, "removed"), DiffPiece(right, "added")
    return found


def side_of(found: Sequence[DiffPiece], side: Literal["left", "right"]) -> tuple[DiffPiece, ...]:
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


def _middle(left: str, right: str) -> Iterator[DiffPiece]:
    replaced = DiffPiece(left, "removed"), DiffPiece(right, "added")
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


def _between(left: Sequence[str], right: Sequence[str], matched: Sequence[tuple[int, int]]) -> Iterator[DiffPiece]:
    ends = (len(left), len(right))
    for (row, column), (next_row, next_column) in pairwise([(-1, -1), *matched, ends]):
        if row >= 0:
            yield DiffPiece(left[row], "same")
        yield DiffPiece("".join(left[row + 1 : next_row]), "removed")
        yield DiffPiece("".join(right[column + 1 : next_column]), "added")


def _joined(found: Sequence[DiffPiece] | Iterator[DiffPiece]) -> Iterator[DiffPiece]:
    """Neighbours of one kind as one piece, and no empty ones."""
    texts: list[str] = []
    kind: Literal["same", "removed", "added"] = "same"
    for piece in found:
        if piece.text and piece.kind != kind:
            if texts:
                yield DiffPiece("".join(texts), kind)
            texts, kind = [], piece.kind
        if piece.text:
            texts.append(piece.text)
    if texts:
        yield DiffPiece("".join(texts), kind)
