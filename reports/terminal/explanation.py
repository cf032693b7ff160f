"""Why one trial went as it did, on one page of a terminal."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.analysis.attribution.belief import BeliefFlip, EarlyAnswers, belief_steps
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.reports.cause_wording import asked, chance
from toolablate.reports.tables import simulated_banner
from toolablate.reports.why.happened import Apart, Said, answers_of
from toolablate.reports.why.page import why
from toolablate.reports.why.quoted import held
from toolablate.reports.why.rungs import Rung
from toolablate.reports.why.turn import NO_ANSWER, count, last_reply_step, said_there, told_flip, turn_of
from toolablate.traces.records import Event, ModelCall, Score, ToolCall, ToolRequest
from toolablate.traces.terminal_text import ID_CHARS, inert, one_line, shortened

EVENT_CELLS, COUNT_CELLS, ANSWER_CELLS, RIGHT_CELLS, MARK_CELLS = 5, 10, 13, 10, 9
LEAST_WHAT = 16
MOST_LINES, FIRST, LAST, AROUND = 24, 8, 6, 2
_SKIPPED = ("import ", "from ", "#", "def ", "async def ", "class ", "@", '"""', "'''")
"""Lines of code that say least of what it does."""


@dataclass(frozen=True, slots=True)
class BeliefStep:
    """A call, a result or a reply. `step` is that of the belief after it, 0 for the question alone. `event` is None for
    the question alone. `right` of `samples` answers are right after it, and `answers` are what they say; no sample
    where nobody asked, or where these are its last reply drawn again, which is a row of its own."""

    step: int
    event: int | None
    what: str
    right: int
    samples: int
    answers: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        return ", ".join(self.answers)


# The tables: the runs by what was taken away, and this trial step by step.


STEPS = "This trial step by step, with answers when asked at once after a step"


def rungs_table(heads: Sequence[str], rungs: Sequence[Rung]) -> Table:
    """Counts first, so that kinds of run have the width of the page."""
    table_of = Table.grid(padding=(0, 1, 0, 0), expand=True)
    table_of.add_column(no_wrap=True, min_width=RIGHT_CELLS)
    table_of.add_column(overflow="fold", ratio=1)
    if len(heads) > 2:
        table_of.add_column(justify="right", width=MARK_CELLS)
    table_of.add_row(*(Text(head, style="dim") for head in heads))
    for rung in rungs:
        named = Text.assemble((rung.taken, "bold"), f": {rung.cause}" if rung.cause else "")
        table_of.add_row(Text(rung.came, style="bold"), named, *([rung.mark] if len(heads) > 2 else []))
        for each in rung.rows:
            kind = Padding(inert(each.name), (0, 0, 0, 2))
            table_of.add_row(Padding(Text(each.came), (0, 0, 0, 1)), kind, *([each.mark] if len(heads) > 2 else []))
    return table_of


def steps_table(told: Explanation, room: int) -> Table:
    """At most `room` cells wide, if that is 60 or more."""
    table_of = Table.grid(padding=(0, 1, 0, 0))
    what = room - EVENT_CELLS - COUNT_CELLS - ANSWER_CELLS - 3
    table_of.add_column(justify="right", width=EVENT_CELLS, style="dim")
    table_of.add_column(width=max(LEAST_WHAT, what), no_wrap=True)
    table_of.add_column(width=COUNT_CELLS, no_wrap=True)
    table_of.add_column(width=ANSWER_CELLS, no_wrap=True)
    table_of.add_row("event", "", *(Text(each, style="dim") for each in ("right", "says")))
    lines = list(step_lines(told))
    shown = _shown(told, lines)
    turn = turn_of(told.explained.evidence)
    for place, line in enumerate(lines):
        if place not in shown:
            if place - 1 in shown:
                table_of.add_row("", Text(f"... {_gap(place, shown)} steps more", style="dim"))
            continue
        fell = turn is not None and line.event is not None and turn.start <= line.event < turn.end
        number = "" if line.event is None else str(line.event)
        last = place == len(lines) - 1 and place > 0
        right, says = _belief(line) if not last else _end(told)
        what_it_did = Text(line.what, style="bold" if fell else "", no_wrap=True, overflow="ellipsis")
        table_of.add_row(number, what_it_did, right, says)
    return table_of


def turned(told: Explanation) -> str:
    """Where early answers turn wrong, on one line; empty where they do not."""
    turn = turn_of(told.explained.evidence)
    return "" if turn is None else f"Turned wrong {turn.where}: {turn.counts}"


def _end(told: Explanation) -> tuple[Text, Text]:
    score = told.explained.evidence.score
    answer = one_line(", ".join(score.extracted)) or NO_ANSWER
    return Text("unreadable" if score.verdict == "unparsed" else score.verdict), Text(shortened(answer, ANSWER_CELLS))


def _shown(told: Explanation, lines: Sequence[BeliefStep]) -> Set[int]:
    """The places of the lines of a page: of many the first, the last, and those where the belief falls."""
    if len(lines) <= MOST_LINES:
        return frozenset(range(len(lines)))
    falls = around_fall(told_flip(told.explained.evidence), lines, AROUND)
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
    """The question before any call, then each call and each result, with the belief after the last of a step. After the
    last reply nobody is asked; it may have been drawn again."""
    evidence = told.explained.evidence
    steps, redrawn = belief_steps(told.conversation), last_reply_step(evidence)
    beliefs = {each.step: each for each in evidence.trajectory.beliefs} if evidence.trajectory else {}
    # They are a row of the table, and stand at the reply itself.
    again = beliefs.pop(redrawn, None) if redrawn else None
    made = {event.call.id for event in told.conversation if isinstance(event, ToolCall)}
    yield _line(0, None, "before any call", beliefs.get(0))
    for step, (start, end) in enumerate(pairwise((*steps, len(told.conversation))), start=1):
        *some, last = _lines_of(told.conversation[start:end], start, answers_of(told), made) or [(start, "(nothing)")]
        if again is not None and step - 1 == redrawn:
            last = (last[0], f"{last[1]} (drawn again: {count([again])} right)")
        yield from (_line(step, event, what, None) for event, what in some)
        yield _line(step, *last, beliefs.get(step))


def _lines_of(events: Sequence[Event], start: int, wanted: Sequence[str], made: Set[str]) -> list[tuple[int, str]]:
    """`made` are the ids of calls that were carried out."""
    found: list[tuple[int, str]] = []
    for number, event in enumerate(events, start=start):
        if isinstance(event, ModelCall):
            calls = event.reply.message.tool_calls
            asked = [f"{'calls' if each.id in made else 'calls, not carried out,'} {called(each)}" for each in calls]
            found += [(number, each) for each in asked or [_said(event)]]
        elif isinstance(event, ToolCall):
            found.append((number, _by_provider(event) if event.by_provider else given(event, wanted)))
    return found


def called(request: ToolRequest) -> str:
    """`python: total = 3 * 4`, by what an argument says first."""
    return f"{one_line(request.name)}: {_argument(request.arguments)}"


def given(event: ToolCall, wanted: Sequence[str] = ()) -> str:
    """What a call gave, on one line; from the first line on that holds one of the `wanted` texts, where one does."""
    name = one_line(event.call.name)
    # By the plan, which takes the part of a tool that is broken.
    error = "made to fail on purpose" if event.error == "injected_failure" else event.error
    said = one_line(error or held(event.output, wanted) or event.output) or "(nothing)"
    return f"{name} {'gives' if event.status == 'ok' else 'fails'}: {said}"


def _by_provider(event: ToolCall) -> str:
    return f"the provider's {called(event.call) if event.status == 'ok' else given(event)}"


def _line(step: int, event: int | None, what: str, belief: EarlyAnswers | None) -> BeliefStep:
    if belief is None:
        return BeliefStep(step, event, what, 0, 0)
    return BeliefStep(
        step, event, what, round(belief.right.mean * belief.samples), belief.samples, tuple(said_there(belief))
    )


def _belief(line: BeliefStep) -> tuple[Text, Text]:
    if not line.samples:
        return Text(), Text()
    some = [line.answer] if cell_len(line.answer) <= ANSWER_CELLS else line.answers
    return Text(f"{line.right} of {line.samples}"), Text("\n".join(shortened(each, ANSWER_CELLS) for each in some))


def _said(call: ModelCall) -> str:
    message = call.reply.message
    lines = [line for line in message.content[-2_000:].splitlines() if line.strip()]
    last = "replies, its budget gone" if call.purpose == "final" else "replies"
    return f"{last}: {one_line(lines[-1])}" if lines else f"{last}: (nothing)"


def _argument(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return one_line(arguments)
    said = next((each for each in given.values() if isinstance(each, str)), None) if isinstance(given, dict) else None
    if said is None:
        return one_line(arguments)
    lines = (line.strip() for line in said[:4_000].splitlines())
    telling = [line for line in lines if line and not line.startswith(_SKIPPED)]
    # The same data stand first in many cells.
    return one_line(telling[-1] if telling else said)


# One trial on a page.


PAGE_CELLS = 80


def explanation_view(told: Explanation) -> RenderableType:
    """At most PAGE_CELLS wide. Everything foreign is made inert."""
    return Constrain(_Page(told), PAGE_CELLS)


@dataclass(frozen=True, slots=True)
class _Page:
    told: Explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        told, evidence = self.told, self.told.explained.evidence
        yield from _heading(told)
        for part in why(told):
            yield from _section(part.title, part.lines)
            if part.rungs:
                yield Padding(rungs_table(part.heads, part.rungs), (0, 0, 0, 2))
            yield from _lines(part.notes)
        yield from _section(STEPS, ())
        yield Padding(steps_table(told, options.max_width - 2), (0, 0, 0, 2))
        yield from _lines(shapley_lines(evidence))


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
        for piece in _PIECES.findall(self.text):
            if line and len(f"{line} {piece}") > options.max_width - len(_INDENT) - len(_GOES_ON):
                yield self._line(line + _GOES_ON)
                line = f"  {piece}"
            else:
                line = f"{line} {piece}".lstrip() if not line.strip() else f"{line} {piece}"
        yield self._line(line)

    def _line(self, text: str) -> Text:
        shown = inert(f"{_INDENT}{text}", "cyan")
        shown.no_wrap, shown.overflow = True, "ignore"
        return shown


_PIECES = re.compile(r"--\S+(?: (?!-)(?:'[^']*'|\S)+)?|(?:'[^']*'|\S)+")
_INDENT, _GOES_ON = "    ", " \\"


# What each result did, where replays left them out one by one.


SHOWN_RESULTS = 3
LEAST_SHOWN = 0.005


def shapley_lines(evidence: Evidence) -> Iterator[str]:
    """Shapley values of results, the most harmful first."""
    ordered = sorted(evidence.shapley.items(), key=lambda item: item[1].value)
    for event, shapley in ordered[:SHOWN_RESULTS]:
        sign = "+" if shapley.value >= 0 else "\u2212"
        error = "" if shapley.standard_error is None else f" ({_spread(shapley.standard_error)})"
        yield f"Shapley value of event {event}'s result: {sign}{chance(abs(shapley.value))}{error}."


def _spread(standard_error: float) -> str:
    """Runs that all end alike have no spread, which does not make them certain."""
    return (
        f"standard error {chance(standard_error)}" if standard_error >= LEAST_SHOWN else "runs of a kind all end alike"
    )
