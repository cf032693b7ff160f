"""One trial on a page: what it would have said without tools, where its belief turned, and by what."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from toolablate.analysis.attribution.explanation import Explanation
from toolablate.reports.terminal.attribution.otherwise import otherwise, worths
from toolablate.reports.terminal.attribution.sentences import asked, summed, why, without_tools
from toolablate.reports.terminal.attribution.steps import steps_table
from toolablate.reports.terminal.attribution.turning import turned
from toolablate.reports.terminal.attribution.unknowns import unknowns
from toolablate.reports.terminal.attribution.wording import Apart, Said, right_of
from toolablate.reports.terminal.simulated import simulated_banner
from toolablate.traces.plain import ID_CHARS, inert, one_line

PAGE_CELLS = 80


def explanation_view(told: Explanation) -> RenderableType:
    """At most PAGE_CELLS wide. Everything foreign is made inert."""
    return Constrain(_Page(told), PAGE_CELLS)


@dataclass(frozen=True, slots=True)
class _Page:
    told: Explanation

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        told = self.told
        yield from _heading(told)
        yield from _section("Without tools", without_tools(told.explained.evidence))
        yield Text()
        yield Text("What it did", style="bold")
        yield Padding(steps_table(told, options.max_width - 2), (0, 0, 0, 2))
        yield from _section("Where it turned", turned(told))
        changed = [(right_of(each.scores), each.changed) for each in otherwise(told.explained.evidence)]
        if changed:
            yield from _section("What happens otherwise", ())
            yield Padding(_pairs(changed), (0, 0, 0, 2))
            yield from _lines(worths(told.explained.evidence))
        yield from _section("Why", why(told))
        yield from _lines(summed(told.explained.evidence))
        yield from _section("What is not known", unknowns(told))


def _heading(told: Explanation) -> Iterator[RenderableType]:
    evidence = told.explained.evidence
    score = evidence.score
    value = "without a score" if score.value is None else f"{score.verdict} ({score.value:g})"
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
        if isinstance(line, Apart):
            yield Padding(inert(line.text, "cyan"), (0, 0, 0, 4))
        else:
            yield Padding(inert(line), (0, 0, 0, 2))


def _pairs(rows: list[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for came, changed in rows:
        table.add_row(Text(came), Text(changed))
    return table
