"""What a trial did, a line for each step, with the belief after it."""

import json
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from rich.table import Table
from rich.text import Text

from toolablate.analysis.attribution.belief import Belief
from toolablate.analysis.attribution.explanation import Explanation
from toolablate.analysis.attribution.steps import belief_steps
from toolablate.traces.plain import one_line, shortened
from toolablate.traces.records import Event, ModelCall, ToolCall, ToolRequest

T = TypeVar("T")

BAR_CELLS, SHARE_CELLS, ANSWER_CELLS, EVENT_CELLS = 10, 7, 12, 5
LEAST_WHAT = 16
MOST_LINES, FIRST, LAST, AROUND = 24, 8, 6, 2
FULL, EMPTY, FALLS = "█", "·", "↓"
SHOWN_CALLS = 2
NO_ANSWER = "(none)"
_SKIPPED = ("import ", "from ", "#")


@dataclass(frozen=True, slots=True)
class Line:
    """`event` is the first of the step, None for the question alone. `right` of `samples` answers are right after it,
    and `answer` is what most of them say; no sample where nobody asked."""

    event: int | None
    what: str
    right: int
    samples: int
    answer: str


def steps_table(told: Explanation, room: int) -> Table:
    """At most `room` cells wide, if that is 60 or more."""
    lines = list(step_lines(told))
    probed = any(line.samples for line in lines)
    beside = BAR_CELLS + SHARE_CELLS + ANSWER_CELLS + 3 if probed else 0
    cells = max(LEAST_WHAT, room - EVENT_CELLS - 1 - beside)
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", width=EVENT_CELLS, style="dim")
    table.add_column(width=cells, no_wrap=True, overflow="ellipsis")
    if probed:
        for width in (BAR_CELLS, SHARE_CELLS, ANSWER_CELLS):
            table.add_column(width=width, no_wrap=True)
        table.add_row("event", "", *(Text(title, style="dim") for title in ("right now", "", "says")))
    shown = _shown(told, len(lines))
    for place, line in enumerate(lines):
        if place not in shown:
            if place - 1 in shown:
                table.add_row("", Text(f"... {_gap(place, shown)} steps more", style="dim"))
            continue
        number = "" if line.event is None else str(line.event)
        falls = _falls(told, place)
        what = Text(line.what, style="bold" if falls else "")
        table.add_row(number, what, *(_belief(line, falls=falls) if probed else ()))
    if probed:
        answer = one_line(", ".join(told.explained.evidence.score.extracted)) or NO_ANSWER
        table.add_row("", "its answer", told.explained.evidence.score.verdict, "", shortened(answer, ANSWER_CELLS))
    return table


def _shown(told: Explanation, lines: int) -> Set[int]:
    """The places of the lines of a page: of many the first, the last, and those where the belief falls."""
    if lines <= MOST_LINES:
        return frozenset(range(lines))
    flip = told.explained.evidence.flip
    falls = range(max(0, flip.after - AROUND), flip.step + AROUND + 1) if flip is not None else ()
    return frozenset({*range(FIRST), *range(lines - LAST, lines), *falls})


def _gap(place: int, shown: Set[int]) -> int:
    """How many lines are left out from this one on."""
    return next(each for each in sorted(shown) if each > place) - place


def step_lines(told: Explanation) -> Iterator[Line]:
    """The question alone, then what lies between each two belief steps, with the belief at the latter; after
    the last nobody is asked."""
    evidence = told.explained.evidence
    steps = belief_steps(told.conversation)
    beliefs = {each.step: each for each in evidence.trajectory.beliefs} if evidence.trajectory else {}
    yield _line(None, "the question alone", beliefs.get(0))
    for place, (start, end) in enumerate(pairwise((*steps, len(told.conversation))), start=1):
        yield _line(start, _what(told.conversation[start:end]), beliefs.get(place))


def called(request: ToolRequest) -> str:
    """`python: total = 3 * 4`, by what an argument says first."""
    return f"{one_line(request.name)}: {_argument(request.arguments)}"


def given(event: ToolCall) -> str:
    """What a call gave, on one line."""
    name = one_line(event.call.name)
    said = one_line(event.error or event.output) or "(nothing)"
    return f"{name} {'gives' if event.status == 'ok' else 'fails'}: {said}"


def _line(event: int | None, what: str, belief: Belief | None) -> Line:
    if belief is None:
        return Line(event, what, 0, 0, "")
    return Line(event, what, round(belief.right.mean * belief.samples), belief.samples, _leading(belief))


def _leading(belief: Belief) -> str:
    name, share = max(belief.options.items(), key=lambda item: item[1].mean, default=("", belief.unreadable))
    if not name or belief.unreadable.mean > share.mean:
        return NO_ANSWER
    return one_line(name)


def _falls(told: Explanation, place: int) -> bool:
    """Whether the belief falls at a line, as far as its steps were asked about."""
    flip = told.explained.evidence.flip
    return flip is not None and flip.after < place <= flip.step


def _belief(line: Line, *, falls: bool) -> Sequence[Text]:
    if not line.samples:
        return ()
    filled = round(BAR_CELLS * line.right / line.samples)
    bar = Text.assemble((FULL * filled, "green"), (EMPTY * (BAR_CELLS - filled), "dim"))
    shares = Text(f"{line.right}/{line.samples}{f' {FALLS}' if falls else ''}")
    return bar, shares, Text(shortened(line.answer, ANSWER_CELLS))


def _what(events: Sequence[Event]) -> str:
    reply = next((event for event in events if isinstance(event, ModelCall)), None)
    if reply is not None:
        return _said(reply)
    return _listed(given, [event for event in events if isinstance(event, ToolCall)])


def _said(call: ModelCall) -> str:
    message = call.reply.message
    if message.tool_calls:
        return f"calls {_listed(called, message.tool_calls)}"
    lines = [line for line in message.content[-2_000:].splitlines() if line.strip()]
    last = "replies, its budget gone" if call.purpose == "final" else "replies"
    return f"{last}: {one_line(lines[-1])}" if lines else f"{last}: (nothing)"


def _listed(say: Callable[[T], str], each: Sequence[T]) -> str:
    more = f"; and {len(each) - SHOWN_CALLS} more" if len(each) > SHOWN_CALLS else ""
    return "; ".join(map(say, each[:SHOWN_CALLS])) + more


def _argument(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return one_line(arguments)
    said = next((each for each in given.values() if isinstance(each, str)), None) if isinstance(given, dict) else None
    if said is None:
        return one_line(arguments)
    lines = (line.strip() for line in said[:4_000].splitlines())
    return one_line(next((line for line in lines if line and not line.startswith(_SKIPPED)), said))
