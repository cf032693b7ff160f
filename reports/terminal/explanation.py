"""Why one trial went as it did, on one page of a terminal."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.analysis.attribution.belief import BeliefFlip, EarlyAnswers, belief_steps
from toolablate.analysis.attribution.evidence import Explanation
from toolablate.reports.cause_wording import asked, without_tools
from toolablate.reports.changed_runs import rows
from toolablate.reports.not_known import Apart, Said, trace_command
from toolablate.reports.plain_why import why_parts
from toolablate.reports.tables import simulated_banner
from toolablate.reports.turn import last_reply_step, turn_of
from toolablate.reports.turned import shapley_lines, turned
from toolablate.traces.records import Event, ModelCall, Score, ToolCall, ToolRequest
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line, shortened

T = TypeVar("T")

BAR_CELLS, SHARE_CELLS, ANSWER_CELLS, EVENT_CELLS = 10, 7, 12, 5
LEAST_WHAT = 16
MOST_LINES, FIRST, LAST, AROUND = 24, 8, 6, 2
FULL, EMPTY, FALLS = "█", "·", "↓"
SHOWN_CALLS = 2
NO_ANSWER = "(none)"
_SKIPPED = ("import ", "from ", "#")


@dataclass(frozen=True, slots=True)
class BeliefStep:
    """`step` is that of the belief after it, 0 for the question alone; a call that the provider made within a reply has
    the reply's, and a line of its own. `event` is the first of the line, None for the question alone. `right` of
    `samples` answers are right after it, and `answer` is what most of them say; no sample where nobody asked."""

    step: int
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
    shown = _shown(told, lines)
    for place, line in enumerate(lines):
        if place not in shown:
            if place - 1 in shown:
                table.add_row("", Text(f"... {_gap(place, shown)} steps more", style="dim"))
            continue
        number = "" if line.event is None else str(line.event)
        falls = _falls(told, line)
        what = Text(line.what, style="bold" if falls else "")
        table.add_row(number, what, *(_belief(line, falls=falls) if probed else ()))
    if probed:
        answer = one_line(", ".join(told.explained.evidence.score.extracted)) or NO_ANSWER
        table.add_row("", "its answer", _verdict(told.explained.evidence.score), "", shortened(answer, ANSWER_CELLS))
    return table


def _shown(told: Explanation, lines: Sequence[BeliefStep]) -> Set[int]:
    """The places of the lines of a page: of many the first, the last, and those where the belief falls."""
    if len(lines) <= MOST_LINES:
        return frozenset(range(len(lines)))
    falls = around_fall(told.explained.evidence.flip, lines, AROUND)
    return frozenset({*range(FIRST), *range(len(lines) - LAST, len(lines)), *falls})


def around_fall(flip: BeliefFlip | None, lines: Sequence[BeliefStep], around: int) -> Iterator[int]:
    """The places of the lines where the belief falls, and of so many steps before and after."""
    if flip is not None:
        near = range(flip.after - around, flip.step + around + 1)
        yield from (place for place, line in enumerate(lines) if line.step in near)


def _gap(place: int, shown: Set[int]) -> int:
    """How many lines are left out from this one on."""
    return next(each for each in sorted(shown) if each > place) - place


def step_lines(told: Explanation) -> Iterator[BeliefStep]:
    """The question before any call, then what lies between each two belief steps, with the belief at the latter; after
    the last nobody is asked. Calls that the provider made within a reply come first, by their own events."""
    evidence = told.explained.evidence
    steps = belief_steps(told.conversation)
    beliefs = {each.step: each for each in evidence.trajectory.beliefs} if evidence.trajectory else {}
    yield _line(0, None, "the question, before any call", beliefs.get(0))
    for step, (start, end) in enumerate(pairwise((*steps, len(told.conversation))), start=1):
        while isinstance(made := told.conversation[start], ToolCall) and made.by_provider and start + 1 < end:
            yield _line(step, start, _by_provider(made), None)
            start += 1
        yield _line(step, start, _what(told.conversation[start:end]), beliefs.get(step))


def called(request: ToolRequest) -> str:
    """`python: total = 3 * 4`, by what an argument says first."""
    return f"{one_line(request.name)}: {_argument(request.arguments)}"


def given(event: ToolCall) -> str:
    """What a call gave, on one line."""
    name = one_line(event.call.name)
    # By the plan, which takes the part of a tool that is broken.
    error = "made to fail on purpose" if event.error == "injected_failure" else event.error
    said = one_line(error or event.output) or "(nothing)"
    return f"{name} {'gives' if event.status == 'ok' else 'fails'}: {said}"


def _by_provider(event: ToolCall) -> str:
    return f"the provider's {called(event.call) if event.status == 'ok' else given(event)}"


def _line(step: int, event: int | None, what: str, belief: EarlyAnswers | None) -> BeliefStep:
    if belief is None:
        return BeliefStep(step, event, what, 0, 0, "")
    return BeliefStep(step, event, what, round(belief.right.mean * belief.samples), belief.samples, _leading(belief))


def _leading(belief: EarlyAnswers) -> str:
    name, share = max(belief.options.items(), key=lambda item: item[1].mean, default=("", belief.unreadable))
    if not name or belief.unreadable.mean > share.mean:
        return NO_ANSWER
    leading = [each for each, other in belief.options.items() if other.mean == share.mean]
    return one_line(name if len(leading) == 1 else " = ".join(leading) if len(leading) == 2 else SEVERAL)


def _falls(told: Explanation, line: BeliefStep) -> bool:
    """Whether the belief surely falls at a line, as far as its steps were asked about."""
    flip, turn = told.explained.evidence.flip, turn_of(told.explained.evidence)
    return flip is not None and turn is not None and turn.sure and flip.after < line.step <= flip.step


def _belief(line: BeliefStep, *, falls: bool) -> Sequence[Text]:
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
    return _calls_listed(given, [event for event in events if isinstance(event, ToolCall)])


def _said(call: ModelCall) -> str:
    message = call.reply.message
    if message.tool_calls:
        return f"calls {_calls_listed(called, message.tool_calls)}"
    lines = [line for line in message.content[-2_000:].splitlines() if line.strip()]
    last = "replies, its budget gone" if call.purpose == "final" else "replies"
    return f"{last}: {one_line(lines[-1])}" if lines else f"{last}: (nothing)"


def _calls_listed(say: Callable[[T], str], each: Sequence[T]) -> str:
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


# One trial on a page: what it would have said without tools, where its belief turned, and by what.


PAGE_CELLS = 80
SEVERAL = "several"
_LEGEND = (
    (FALLS, "where they get worse"),
    (" = ", "as many say the one as the other"),
    (SEVERAL, "as many say each of three or more"),
    (NO_ANSWER, "most have no readable answer"),
)


def early_legend(told: Explanation) -> str:
    """What the columns of early answers mean, and the signs that stand in them."""
    lines = list(step_lines(told))
    there = "".join(line.answer if line.samples else "" for line in lines)
    there += FALLS if any(_falls(told, line) for line in lines) else ""
    signs = "".join(f" {sign.strip()}: {means}." for sign, means in _LEGEND if sign in there)
    asked = "Early answers: after a step it was asked to answer at once. 1/2: one of two is right"
    last, runs = last_reply_step(told.explained.evidence), told.explained.evidence.all_runs
    drawn = [line for line in lines if line.samples and line.step == last]
    same = " The last are its last reply drawn again, the same runs as below" if drawn else ""
    if (
        drawn
        and runs is not None
        and (drawn[0].right, drawn[0].samples) != (sum(runs.last_reply), len(runs.last_reply))
    ):
        same += ", where what could not be read was asked for once more"
    same += "." if same else ""
    return f"{asked}; then what most say.{same}{signs}"


def explanation_view(told: Explanation) -> RenderableType:
    """At most PAGE_CELLS wide. Everything foreign is made inert."""
    return Constrain(_Page(told), PAGE_CELLS)


@dataclass(frozen=True, slots=True)
class _Page:
    told: Explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        told, evidence = self.told, self.told.explained.evidence
        yield from _heading(told)
        for part in why_parts(told):
            yield from _section(part.title, part.lines)
        yield Text()
        yield Text("What it did", style="bold")
        yield Padding(steps_table(told, options.max_width - 2), (0, 0, 0, 2))
        if evidence.trajectory is not None:
            yield from _lines([early_legend(told)])
        yield from _section("Where the answers turn", turned(told))
        yield from _section("Runs to compare with", ())
        for title, some in rows(evidence):
            yield from _lines([f"{title}:"])
            yield Padding(_pairs([(row.came, row.changed) for row in some]), (0, 0, 0, 4))
        yield from _lines(shapley_lines(evidence))
        yield from _section("Answers without tools", without_tools(evidence))
        yield from _section("The whole trace", (trace_command(told),))


def _verdict(score: Score) -> str:
    return "no readable answer" if score.verdict == "unparsed" else score.verdict


def _heading(told: Explanation) -> Iterator[RenderableType]:
    evidence = told.explained.evidence
    score = evidence.score
    value = "without a score" if score.value is None else _verdict(score)
    if score.value is not None and 0 < score.value < 1:
        value = f"{value} ({score.value:g})"
    trial = evidence.signals.trial[:ID_CHARS]
    ended = " · out of budget" if told.outcome == "budget" else ""
    whose = f"{one_line(evidence.model)} · {one_line(evidence.condition)} · repeat {told.repeat}{ended}"
    yield Text.assemble("Trial ", (trial, "bold"), f"  {whose} · {value}", overflow="fold")
    if told.simulated:
        yield simulated_banner()
    domain = f" ({one_line(evidence.domain)})" if evidence.domain else ""
    yield from _section(f"Question {one_line(evidence.question)}{domain}", asked(told))


def _section(title: str, lines: Iterable[Said]) -> Iterator[RenderableType]:
    yield Text()
    yield Text(title, style="bold", overflow="fold")
    yield from _lines(lines)


def _lines(lines: Iterable[Said]) -> Iterator[RenderableType]:
    for line in lines:
        if isinstance(line, Apart) and line.text.startswith("toolablate "):
            yield _Command(line.text)
        elif isinstance(line, Apart):
            yield Padding(inert(line.text, "cyan"), (0, 0, 0, 4))
        else:
            yield Padding(inert(line), (0, 0, 0, 2))


@dataclass(frozen=True, slots=True)
class _Command:
    """As a shell takes it from the page: a long one goes over several lines, each option beside its value, and none is
    padded, since a blank after a backslash joins no lines. A path is never broken; print it without cropping."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        line = ""
        for piece in self.text.split(" --"):
            option = f" --{piece}" if line else piece
            if line and len(line + option) > options.max_width - len(_INDENT) - len(_GOES_ON):
                yield self._line(line + _GOES_ON)
                line = f" {option}"
            else:
                line += option
        yield self._line(line)

    def _line(self, text: str) -> Text:
        shown = inert(f"{_INDENT}{text}", "cyan")
        shown.no_wrap, shown.overflow = True, "ignore"
        return shown


_INDENT, _GOES_ON = "    ", " \\"


def _pairs(rows: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for came, changed in rows:
        table.add_row(Text(came), Text(changed))
    return table
