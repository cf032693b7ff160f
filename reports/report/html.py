"""A report as one file of HTML: nothing in it runs, and it loads nothing."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby

from markupsafe import Markup

from toolablate.analysis.alignment import align
from toolablate.reports import numbers
from toolablate.reports.html.attributed import marks_of
from toolablate.reports.html.cards import Card, Links
from toolablate.reports.html.environment import environment
from toolablate.reports.html.events import event_cards
from toolablate.reports.html.side_by_side import SideBySide, side_by_side
from toolablate.reports.plots import Printed, as_svg, draw_belief, printed
from toolablate.reports.report.notes import how_to_read, notes_of, simulated_note
from toolablate.reports.report.records import Beside, Report, Told
from toolablate.reports.report.summary import in_short
from toolablate.reports.report.table import Table, blocks, small_note
from toolablate.reports.report.tables import tables
from toolablate.reports.terminal.causes import right_answer, summed, why, without_tools

PACKAGE = "toolablate.reports.report"
STYLES = ("style.css", "events.css", "diff.css")
MOST_CHARS = 400_000
"""Of one trace: of a longer one the first events are shown."""

_ANCHOR = re.compile(r'((?:id|aria-labelledby)=")(event-|row-)')


@dataclass(frozen=True, slots=True)
class ShownTrace:
    """`anchor` begins the ids of all that is in it; what was `asked` for stands open. `cards` are as many of its
    `events` as there is room for."""

    anchor: str
    asked: bool
    told: Told
    cards: tuple[Card, ...]
    events: int
    says: tuple[str, ...]
    right: str
    belief: Markup | None


@dataclass(frozen=True, slots=True)
class ShownPair:
    anchor: str
    asked: bool
    beside: Beside
    found: SideBySide
    right: str


def as_html(report: Report) -> str:
    """Foreign text in it is escaped, and long texts are cut. The same report gives the same text."""
    found = environment(PACKAGE)
    page = found.get_template("report.html")
    figures = {each.name: each for each in printed(report.findings, endings=report.endings)}
    return page.render(
        report=report,
        style=Markup("\n".join(_styles())),  # noqa: S704 - files of ours
        sections=[(name, list(own)) for name, own in groupby(tables(report.findings, report.endings), key=_section)],
        small_note=small_note,
        blocks=blocks,
        figures_of=lambda table: [_figure(figures.pop(name)) for name in table.figures if name in figures],
        simulated=simulated_note(report.findings),
        short=list(in_short(report.findings)),
        reading=list(how_to_read(report.findings)),
        notes=list(notes_of(report.findings)),
        traces=[_rendered(each) for each in _traces(report)],
        pairs_first=report.asked_pairs > report.asked_traces == 0,
        pairs=[_rendered_pair(each) for each in _pairs(report)],
    )


def _section(table: Table) -> str:
    return table.section


def _styles() -> Iterator[str]:
    for package, names in (("toolablate.reports.html", STYLES), (PACKAGE, ("report.css",))):
        for name in names:
            yield (files(package) / "static" / name).read_text(encoding="utf-8")


def _figure(found: Printed) -> dict[str, object]:
    # Drawn by us, with every name in it escaped: see toolablate.reports.plots.drawing.svg.
    return {
        "name": found.name,
        "title": found.title,
        "about": found.about,
        "left_out": found.left_out,
        "svg": Markup(found.svg),  # noqa: S704
    }


def _traces(report: Report) -> Iterator[ShownTrace]:
    for number, each in enumerate(report.traces, start=1):
        anchor = f"t{number}"
        cards = event_cards(each.conversation, imported=each.imported)
        yield ShownTrace(
            anchor=anchor,
            asked=number <= report.asked_traces,
            told=each,
            cards=tuple(_fitting(cards)),
            events=len(cards),
            says=tuple(_says(each)),
            right=right_answer(each.question),
            belief=_belief(each, anchor),
        )


def _fitting(cards: Sequence[Card]) -> Iterator[Card]:
    left = MOST_CHARS
    for card in cards:
        left -= card.chars
        if left < 0:
            return
        yield card


def _says(told: Told) -> Iterator[str]:
    if told.explanation is None:
        return
    yield from why(told.explanation)
    yield from (f"Without tools: {each}" for each in without_tools(told.explanation.explained.evidence))
    yield from summed(told.explanation.explained.evidence)


def _belief(told: Told, anchor: str) -> Markup | None:
    if told.explanation is None or (found := told.explanation.explained.evidence).trajectory is None:
        return None
    drawn = draw_belief(
        found.trajectory, found.flip, events=found.steps, address=lambda event: f"#{anchor}-event-{event}"
    )
    return Markup(as_svg(drawn))  # noqa: S704 - drawn by us


def _pairs(report: Report) -> Iterator[ShownPair]:
    for number, each in enumerate(report.beside, start=1):
        found = align(each.left.conversation, each.right.conversation)
        fell = _fell(each.left), _fell(each.right)
        yield ShownPair(
            anchor=f"d{number}",
            asked=number <= report.asked_pairs,
            beside=each,
            found=side_by_side(found, each.left.question, fell=fell),
            right=right_answer(each.left.question),
        )


def _fell(told: Told) -> int | None:
    attribution = None if told.explanation is None else told.explanation.explained.attribution
    return None if attribution is None else attribution.turned_at


def _rendered(shown: ShownTrace) -> Markup:
    links = Links(event=lambda event: f"#{shown.anchor}-event-{event}", whole=_nowhere)
    marks = {} if shown.told.explanation is None else marks_of(shown.told.explanation)
    template = environment(PACKAGE).get_template("report_trace.html")
    return _anchored(template.render(shown=shown, links=links, marks=marks), shown.anchor)


def _nowhere(_event: int, _part: str) -> str:
    return ""


def _rendered_pair(shown: ShownPair) -> Markup:
    template = environment(PACKAGE).get_template("report_pair.html")
    return _anchored(template.render(shown=shown, numbers=numbers), shown.anchor)


def _anchored(text: str, anchor: str) -> Markup:
    """Ids of several traces in one page, apart. A quotation mark in foreign text is escaped, so that this finds
    attributes of templates alone."""
    return Markup(_ANCHOR.sub(rf"\g<1>{anchor}-\g<2>", text))  # noqa: S704 - a template's, in which all is escaped
