"""Two traces side by side."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Literal, NamedTuple

from markupsafe import Markup

from toolablate.analysis.alignment import (
    AlignedRow,
    AlignedStep,
    Alignment,
    DiffPiece,
    Kind,
    is_image,
    parting,
    pieces,
    side_of,
    stated_answers,
)
from toolablate.reports.html.cards import Form, MarkedSpan, Marks, Quote
from toolablate.reports.html.marking import as_shown, shown, spans
from toolablate.reports.numbers import counted
from toolablate.traces.records import Artifact, Question, ToolCall

Place = tuple[int, int, str]
"""Of a part in its step: thoughts, words, then each call, what it gave and the images of that; the tool's name."""

MOST_CALLS = 50
"""Calls of one step, and as many results, that are shown."""
MOST_IMAGES = 20
"""Of one result."""

_ONE_TEXT = ("code", "query", "url", "pattern", "id")


class StepPart(NamedTuple):
    """What a part is called, its form, and its text or image."""

    label: str
    form: Form
    text: str
    image: Artifact | None = None


def parts_of(step: AlignedStep) -> Iterator[tuple[Place, StepPart]]:
    """What a step thinks and says where it does, its calls, and what each gave."""
    if step.asked is not None:
        message = step.asked.reply.message
        said: tuple[tuple[int, str, str], ...] = ((0, "thinks", message.reasoning), (1, "says", message.content))
        for place, label, text in said:
            if text.strip():
                yield (place, 0, ""), StepPart(label, "prose", as_shown(text.strip(), "prose"))
        for place, call in enumerate(message.tool_calls[:MOST_CALLS]):
            form, text = _arguments(call.arguments)
            yield (2 + place, 0, call.name), StepPart(f"calls {call.name}", form, as_shown(text, form))
    for place, result in enumerate(step.results[:MOST_CALLS]):
        status = "" if result.status == "ok" else f" ({result.status})"
        label = f"{result.call.name} gives{'' if result.output else ' nothing'}{status}"
        yield (2 + place, 1, result.call.name), StepPart(label, "output", as_shown(result.output, "output"))
        for number, image in enumerate(_images(result)[:MOST_IMAGES]):
            told = StepPart(f"{result.call.name} gives an image", "output", "", image)
            yield (2 + place, 2 + number, result.call.name), told


def _quotes(step: AlignedStep, place: Place, marks: Mapping[int, Marks]) -> tuple[Quote, ...]:
    """Those of the event that a part is of, in the text that it is."""
    at, given, _ = place
    kinds = ("tool_call",) if given else ("model_call",)
    events = [step.first + number for number, event in enumerate(step.events) if event.kind in kinds]
    number = at - 2 if given else 0
    if given > 1 or number >= len(events) or events[number] not in marks:
        return ()
    name = "output" if given else ("reply-reasoning", "reply")[at] if at < 2 else f"reply-call-{at - 2}"
    return tuple(quote for quote in marks[events[number]].quotes if quote.part == name)


def parts_in(step: AlignedStep) -> int:
    """How many there are, however many of them are shown."""
    given = len(step.results) + sum(min(len(_images(each)), MOST_IMAGES) for each in step.results)
    if step.asked is None:
        return given
    message = step.asked.reply.message
    said = sum(bool(text.strip()) for text in (message.reasoning, message.content))
    return said + len(message.tool_calls) + given


def _arguments(text: str) -> tuple[Form, str]:
    """Code, a query or an address as it is, where it is all that is given; else the arguments, laid out."""
    try:
        parsed = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return "code", text
    if isinstance(parsed, dict) and len(parsed) == 1:
        ((name, value),) = parsed.items()
        if name in _ONE_TEXT and isinstance(value, str):
            return "code" if name == "code" else "output", value
    try:
        return "json", json.dumps(parsed, ensure_ascii=False, indent=2)
    except RecursionError:
        return "json", text


def remarks(step: AlignedStep) -> Iterator[str]:
    for event in step.events:
        if event.kind == "failure":
            yield f"{event.boundary} failed ({event.code})" + (", tried again" if event.retried else "")
        elif event.kind == "answer" and event.limit is not None:
            yield f"ran out of {event.limit.replace('_', ' ')}"
        elif event.kind == "rebuilt":
            yield f"forked here, after {event.calls} calls were made again"
        elif event.kind == "tool_call":
            if event.changes:
                yield f"changed by {', '.join(change.intervention for change in event.changes)}"
            if other := len(event.artifacts) - min(len(_images(event)), MOST_IMAGES):
                yield f"{counted(other, 'rich output')} on the trial's page"


def _images(result: ToolCall) -> Sequence[Artifact]:
    return [each for each in result.artifacts if is_image(each)]


Mark = Literal["divergence", "results", "parting"]

SHOWN_ENDS, FOLDED_CHARS = 400, 20_000
"""Of a long stretch both ends are shown, up to so many characters between them are folded, others left out."""
COMPARED_CHARS = 200_000
"""On one page; of what goes beyond, no words are marked."""
ROOM_CHARS = 2_000_000
"""On one page; what is folded is left out beyond it."""

LONGEST_WORD = 60
"""Characters by which a cut may come earlier, so that it is between two lines or words."""

MOST_TEXTS = 3_000
"""On one page; steps beyond it are shown without their texts."""
IMAGE_CHARS = 12_000_000
"""Of all images of one page, as text of base64; those beyond it stand on the trial's page alone."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A piece of a text, cut where it is long: `folded` stands between `head` and `tail`, and `left_out` characters
    that are not on the page do as well. `marks` are what is evidence in these three."""

    kind: Literal["same", "removed", "added"]
    head: str
    folded: str = ""
    tail: str = ""
    left_out: int = 0
    marks: tuple[tuple[MarkedSpan, ...], tuple[MarkedSpan, ...], tuple[MarkedSpan, ...]] = ((), (), ())


@dataclass(frozen=True, slots=True)
class Shown:
    """One text of one side, in stretches, or one image: neither where `label` says all that there is."""

    label: str
    form: Form
    stretches: tuple[Stretch, ...]
    image: Artifact | None = None


@dataclass(frozen=True, slots=True)
class TextPair:
    """One text of a step on both sides; None where a side has none. Where it is the `same` only `left` is there."""

    left: Shown | None
    right: Shown | None
    same: bool


@dataclass(frozen=True, slots=True)
class Heading:
    """A step of one side: its number from 1, the event that it begins with, the answer that it supports, whether the
    belief in the right answer falls there, what it is evidence for, and what else is to be said of it."""

    step: int
    event: int
    answer: str
    falls: bool
    evidence: tuple[str, ...]
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShownRow:
    number: int
    kind: Kind
    left: Heading | None
    right: Heading | None
    texts: tuple[TextPair, ...]
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """Neighbouring rows: `equal` ones, to be folded, or others."""

    equal: bool
    rows: tuple[ShownRow, ...]


@dataclass(frozen=True, slots=True)
class SideBySide:
    """`marked` are the numbers of the rows that have a mark, by its name; `differences` counts rows that differ."""

    groups: tuple[Rows, ...]
    marked: Mapping[str, int]
    differences: int
    equal: int


BothMarks = tuple[Mapping[int, Marks], Mapping[int, Marks]]


def _fell(marks: Mapping[int, Marks]) -> int | None:
    """The event at which it begins to fall."""
    return min((event for event, of in marks.items() if of.falls), default=None)


def side_by_side(
    alignment: Alignment,
    question: Question,
    *,
    marks: BothMarks = ({}, {}),
) -> SideBySide:
    """`marks` are of each side, by event: where the belief in the right answer falls for good, and what is evidence."""
    answers = stated_answers(alignment.left, question), stated_answers(alignment.right, question)
    found = {"divergence": alignment.divergence, "results": alignment.results, "parting": parting(alignment, *answers)}
    marked = {name: row for name, row in found.items() if row is not None}
    left, right = map(_fell, marks)
    page = _PageBudget(alignment, answers, marked, (left, right), marks)
    rows = [page.row(number, row) for number, row in enumerate(alignment.rows)]
    groups = tuple(
        Rows(equal, tuple(each)) for equal, each in groupby(rows, lambda row: row.kind == "same" and not row.marks)
    )
    equal = sum(row.kind == "same" for row in rows)
    return SideBySide(groups, marked, len(rows) - equal, equal)


@dataclass(slots=True)
class _PageBudget:
    """Knows how much of a page is taken."""

    alignment: Alignment
    answers: tuple[Sequence[tuple[str, ...]], Sequence[tuple[str, ...]]]
    marked: Mapping[str, int]
    fell: tuple[int | None, int | None]
    evidence: BothMarks
    compared: int = 0
    taken: int = 0
    told: int = 0
    drawn: int = 0

    def row(self, number: int, row: AlignedRow) -> ShownRow:
        left = None if row.left is None else self.alignment.left[row.left]
        right = None if row.right is None else self.alignment.right[row.right]
        return ShownRow(
            number=number,
            kind=row.kind,
            left=self._heading(0, row.left, left),
            right=self._heading(1, row.right, right),
            texts=tuple(self._texts(left, right)),
            marks=tuple(name for name, at in self.marked.items() if at == number),  # type: ignore[misc]
        )

    def _heading(self, side: int, number: int | None, step: AlignedStep | None) -> Heading | None:
        if number is None or step is None:
            return None
        fell = self.fell[side]
        own = range(step.first, step.first + len(step.events))
        marks = [self.evidence[side][event] for event in own if event in self.evidence[side]]
        evidence = tuple(dict.fromkeys(label for each in marks for label in each.evidence))
        answer = ", ".join(self.answers[side][number])
        return Heading(number + 1, step.first, answer, fell in own, evidence, tuple(remarks(step)))

    def _texts(self, left: AlignedStep | None, right: AlignedStep | None) -> Iterator[TextPair]:
        room = self.told < MOST_TEXTS
        ours, theirs = (dict(parts_of(step)) if step is not None and room else {} for step in (left, right))
        places = sorted({*ours, *theirs})
        self.told += len(places)
        more = max(0 if step is None else parts_in(step) for step in (left, right)) - len(places)
        for place in places:
            one, other = ours.get(place), theirs.get(place)
            quotes = [
                _quotes(step, place, marks) if step is not None else ()
                for step, marks in zip((left, right), self.evidence, strict=True)
            ]
            if one is not None and one == other:
                yield TextPair(self._whole(one, (*quotes[0], *quotes[1])), None, same=True)
            elif one is None or other is None or one.image or other.image:
                # What stands on one side alone is not compared: its place says it. Nor are images: one sees both.
                yield TextPair(one and self._whole(one, quotes[0]), other and self._whole(other, quotes[1]), same=False)
            else:
                yield self._compared(one, other, *quotes)
        if more > 0:
            yield TextPair(Shown(f"{counted(more, 'more part')}, on the trial's page", "prose", ()), None, same=True)

    def _whole(self, told: StepPart, quotes: Sequence[Quote]) -> Shown:
        if told.image is None:
            return self._in_pieces(told, (DiffPiece(told.text, "same"),) if told.text else (), quotes)
        self.drawn += len(told.image.data)
        if self.drawn <= IMAGE_CHARS:
            return Shown(told.label, told.form, (), told.image)
        self.drawn -= len(told.image.data)
        return Shown(f"{told.label}, on the trial's page", told.form, ())

    def _compared(self, left: StepPart, right: StepPart, *quotes: Sequence[Quote]) -> TextPair:
        self.compared += len(left.text) + len(right.text)
        found: tuple[DiffPiece, ...] = DiffPiece(left.text, "removed"), DiffPiece(right.text, "added")
        if self.compared <= COMPARED_CHARS:
            found = pieces(left.text, right.text)
        ours, theirs = side_of(found, "left"), side_of(found, "right")
        return TextPair(self._in_pieces(left, ours, quotes[0]), self._in_pieces(right, theirs, quotes[1]), same=False)

    def _in_pieces(self, told: StepPart, found: Sequence[DiffPiece], quotes: Sequence[Quote]) -> Shown:
        marks, made, at = spans(told.text, quotes), [], 0
        for piece in found:
            made.append(self._stretch(piece, _within(marks, at, at + len(piece.text))))
            at += len(piece.text)
        return Shown(told.label, told.form, tuple(made))

    def _stretch(self, piece: DiffPiece, marks: Sequence[MarkedSpan]) -> Stretch:
        text, ends = piece.text, SHOWN_ENDS if piece.kind == "same" else 4 * SHOWN_ENDS
        self.taken += min(len(text), 2 * ends)
        if len(text) <= 3 * ends:
            return Stretch(piece.kind, text, marks=(tuple(marks), (), ()))
        begin, end = _between_words(text, ends), _between_words(text, len(text) - ends)
        middle = text[begin:end]
        folded = middle[: _between_words(middle, FOLDED_CHARS)] if self.taken + len(middle) < ROOM_CHARS else ""
        self.taken += len(folded)
        parts = (0, begin), (begin, begin + len(folded)), (end, len(text))
        own = tuple(_within(marks, *part) for part in parts)
        return Stretch(piece.kind, text[:begin], folded, text[end:], len(middle) - len(folded), own)  # type: ignore[arg-type]


def _within(marks: Sequence[MarkedSpan], start: int, end: int) -> tuple[MarkedSpan, ...]:
    """What of them is in a part of the text, at its places there."""
    return tuple(
        replace(each, start=max(each.start - start, 0), end=min(each.end, end) - start)
        for each in marks
        if each.start < end and start < each.end
    )


def _between_words(text: str, place: int) -> int:
    """The end of the last line before it, else of the last word, if one ends within a few words."""
    if place >= len(text):
        return len(text)
    near = text[max(0, place - LONGEST_WORD) : place]
    found = near.rfind("\n")
    if found < 0:
        found = max(map(near.rfind, " \t"))
    return place if found < 0 else place - len(near) + found + 1


# The texts of two trials side by side as HTML: what one side alone has is told, and long stretches are folded.


_ELEMENTS: Mapping[str, tuple[str, str]] = {
    "same": ("", ""),
    "removed": ("<del>", "</del>"),
    "added": ("<ins>", "</ins>"),
}


def beside(told: Shown) -> Markup:
    """A `pre` with its text. Code that is cut or taken apart has no colours: a part of a string is no code."""
    alone = len(told.stretches) == 1
    whole = " whole" if alone and told.stretches[0].kind != "same" else ""
    form = told.form if alone and not told.stretches[0].tail and told.form in ("code", "json") else "prose"
    text = "".join(part for each in told.stretches for part in _written(each, form))
    # What browsers leave out after <pre> is a line feed: a text may begin with one. All of `text` is escaped.
    return Markup(f'<pre class="{told.form}{whole}">\n{text}</pre>')  # noqa: S704


def _written(each: Stretch, form: Form) -> Iterator[str]:
    begin, end = _ELEMENTS[each.kind]
    yield begin
    head, folded, tail = each.marks
    yield shown(each.head, form, head)
    if each.folded:
        more, opened = f"{len(each.folded):,} characters more", " open" if folded else ""
        text = shown(each.folded, "prose", folded)
        yield f'<details class="diff-fold"{opened}><summary>{more}</summary>{text}</details>'
    if each.left_out:
        yield f'<span class="diff-left-out">{each.left_out:,} characters left out here</span>'
    if each.tail:
        yield shown(each.tail, "prose", tail)
    yield end
