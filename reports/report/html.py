"""A report in one HTML file."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import groupby

from markupsafe import Markup

from toolablate.analysis.alignment import align
from toolablate.analysis.attribution.decomposition import Account, Decomposition
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import SIGNIFICANT
from toolablate.analysis.findings import Findings
from toolablate.analysis.statistics.variance import smallest_p
from toolablate.reports import numbers
from toolablate.reports.cause_wording import right_answer
from toolablate.reports.html.beliefs import marks_of, with_answer
from toolablate.reports.html.cards import Card, Links, Marks
from toolablate.reports.html.environment import environment
from toolablate.reports.html.events import event_cards
from toolablate.reports.html.side_by_side import SideBySide, side_by_side
from toolablate.reports.outline import Timeline, timeline, took
from toolablate.reports.plots.belief_curve import draw_belief
from toolablate.reports.plots.drawing import as_svg
from toolablate.reports.plots.figures import Printed, decompositions_of, in_order, printed
from toolablate.reports.plots.scores import is_sure
from toolablate.reports.report.contents import Report, ReportTrial, TrialPair, how_to_read, notes_of, simulated_note
from toolablate.reports.report.report_tables import ReportTable, blocks, model_name, small_note, tables
from toolablate.reports.why.page import WhyPart, why
from toolablate.reports.why.turn import told_flip

MOST_MODELS, MOST_NAMED = 8, 3


def in_short(findings: Findings) -> Iterator[str]:
    """A sentence or more for each model; none where nothing can be compared."""
    rows = in_order(findings, findings.comparisons)
    models = list(dict.fromkeys(each.model for each in rows))
    for model in models[:MOST_MODELS]:
        yield _of_model(model, [each for each in rows if each.model == model], findings)
    for decomposition in decompositions_of(findings):
        if decomposition.model in models[:MOST_MODELS] and (sure := _sure_mechanisms(decomposition)):
            yield _of_decomposition(decomposition, sure, findings)
    if len(models) > MOST_MODELS:
        yield f"{numbers.counted(len(models) - MOST_MODELS, 'more model')}: see the effects below."


def _of_model(model: str, rows: Sequence[Comparison], findings: Findings) -> str:
    scores = {(arm.model, arm.condition): arm.accuracy.percent for arm in findings.arms}
    base = scores.get((model, findings.baseline))
    score = "" if base is None else f" {base:.1f} % right under {findings.baseline}."
    told = [each for each in rows if each.delta_points is not None]
    sure = sorted((each for each in told if is_sure(each)), key=lambda each: each.delta_points or 0.0)
    worse, better = ([each for each in sure if ((each.delta_points or 0.0) < 0) is way] for way in (True, False))
    few = [each for each in told if each.small and (each.p_holm or 1.0) < SIGNIFICANT]
    rest = sorted((each for each in told if each not in sure and each not in few), key=_size, reverse=True)
    unsure = [each for each in rest if not _interval_without_0(each)]
    # Not "no difference": a test over few questions cannot have a small p-value, whatever the effect.
    too_few = [each for each in rest if each not in unsure and _untestable(each)]
    untold = [each for each in rest if each not in unsure and each not in too_few]
    parts = [
        f"{numbers.counted(len(found), 'condition')} {'changes' if len(found) == 1 else 'change'} it for the {word}"
        f" (in points: {_named(found)})"
        for found, word in ((worse, "worse"), (better[::-1], "better"))
        if found
    ]
    asked = numbers.counted(max((each.questions for each in told), default=0), "question")
    if few:
        named = _named(sorted(few, key=lambda each: -abs(each.delta_points or 0.0)))
        parts.append(
            f"{numbers.counted(len(few), 'condition')} {'differs' if len(few) == 1 else 'differ'} from it by more than"
            f" chance gives, over {asked}, which are too few to rely on the intervals (in points: {named})"
        )
    for found in filter(None, (too_few, untold)):
        have, them = ("has an interval", "it") if len(found) == 1 else ("have intervals", "them")
        independent = numbers.counted(min(each.clusters for each in found), "independent question")
        why = (
            f"{independent} are too few for the paired test to tell {them} from chance"
            if found is too_few
            else f"the paired test over {independent} does not tell {them} from chance"
        )
        parts.append(
            f"{numbers.counted(len(found), 'condition')} {have} without 0, but {why} (in points: {_named(found)})"
        )
    if unsure:
        does = f"{numbers.counted(len(unsure), 'condition')} {'does' if len(unsure) == 1 else 'do'}"
        parts.append(f"{does} not differ from it by more than chance gives over {asked} (in points: {_named(unsure)})")
    return f"{model_name(model, findings)}:{score} {_sentence('; '.join(parts))}".rstrip()


def _interval_without_0(each: Comparison) -> bool:
    return each.ci95 is not None and not each.ci95[0] <= 0 <= each.ci95[1]


def _untestable(each: Comparison) -> bool:
    """Whether the smallest p-value of all, after Holm's correction, is not below the level."""
    return smallest_p(each.clusters) * (each.comparisons or 1) >= SIGNIFICANT


def _size(comparison: Comparison) -> float:
    return abs(comparison.delta_points or 0.0)


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _named(found: Sequence[Comparison]) -> str:
    named = [f"{each.condition} {_points(each.delta_points or 0.0, each.ci95)}" for each in found[:MOST_NAMED]]
    return ", ".join([*named, *([f"and {len(found) - MOST_NAMED} more"] if len(found) > MOST_NAMED else [])])


def _sure_mechanisms(decomposition: Decomposition) -> list[Account]:
    found = [
        each
        for each in decomposition.mechanisms
        if each.name != "unresolved" and not each.small and each.p_holm is not None and each.p_holm < SIGNIFICANT
    ]
    return sorted(found, key=lambda each: -abs(each.points))[:MOST_NAMED]


def _of_decomposition(decomposition: Decomposition, sure: Sequence[Account], findings: Findings) -> str:
    whole = _points(decomposition.effect.points, decomposition.effect.ci95)
    parts = ", ".join(f"{mechanism_name(each.name)} {_points(each.points, each.ci95)}" for each in sure)
    arm = f"{model_name(decomposition.model, findings)}, {decomposition.condition}"
    return f"{arm}: of {whole} points against no tools, {parts}."


def _points(points: float, ci95: tuple[float, float] | None) -> str:
    between = "" if ci95 is None else f" ({numbers.signed(ci95[0])} to {numbers.signed(ci95[1])})"
    return f"{numbers.signed(points)}{between}"


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
    told: ReportTrial
    cards: tuple[Card, ...]
    events: int
    says: tuple[WhyPart, ...]
    right: str
    belief: Markup | None
    line: Timeline


@dataclass(frozen=True, slots=True)
class ShownPair:
    anchor: str
    asked: bool
    beside: TrialPair
    found: SideBySide
    right: str


def as_html(report: Report) -> str:
    """Foreign text in it is escaped, and long texts are cut. The same report gives the same text."""
    found = environment(PACKAGE)
    page = found.get_template("report.html")
    figures = {each.name: each for each in printed(report.findings, endings=report.endings)}
    return page.render(
        report=report,
        style=Markup("\n".join(styles())),  # noqa: S704 - files of ours
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


def _section(table: ReportTable) -> str:
    return table.section


def styles() -> Iterator[str]:
    for package, names in (("toolablate.reports.html", STYLES), (PACKAGE, ("report.css",))):
        for name in names:
            yield (files(package) / "static" / name).read_text(encoding="utf-8")


def _figure(found: Printed) -> dict[str, object]:
    # Drawn by us, with every name in it escaped: see toolablate.reports.plots.drawing.
    return {
        "name": found.name,
        "title": found.title,
        "about": found.about,
        "left_out": found.left_out,
        "svg": Markup(found.svg),  # noqa: S704
    }


def _traces(report: Report) -> Iterator[ShownTrace]:
    for number, each in enumerate(report.traces, start=1):
        yield _shown_trace(each, f"t{number}", asked=number <= report.asked_traces)


def _shown_trace(told: ReportTrial, anchor: str, *, asked: bool) -> ShownTrace:
    cards = event_cards(told.conversation, imported=told.imported)
    return ShownTrace(
        anchor=anchor,
        asked=asked,
        told=told,
        cards=tuple(_fitting(cards)),
        events=len(cards),
        says=() if told.explanation is None else why(told.explanation),
        right=right_answer(told.question),
        belief=_belief(told, anchor),
        line=timeline(took(told.conversation)),
    )


def shown_trace(told: ReportTrial) -> Markup:
    """One trace alone, open."""
    return _rendered(_shown_trace(told, "t1", asked=True))


def _fitting(cards: Sequence[Card]) -> Iterator[Card]:
    left = MOST_CHARS
    for card in cards:
        left -= card.chars
        if left < 0:
            return
        yield card


def _belief(told: ReportTrial, anchor: str) -> Markup | None:
    if told.explanation is None or (found := told.explanation.explained.evidence).trajectory is None:
        return None
    drawn = draw_belief(
        found.trajectory, told_flip(found), events=found.steps, address=lambda event: f"#{anchor}-event-{event}"
    )
    return Markup(as_svg(drawn))  # noqa: S704 - drawn by us


def _pairs(report: Report) -> Iterator[ShownPair]:
    for number, each in enumerate(report.beside, start=1):
        found = align(each.left.conversation, each.right.conversation)
        marks = _marks(each.left), _marks(each.right)
        yield ShownPair(
            anchor=f"d{number}",
            asked=number <= report.asked_pairs,
            beside=each,
            found=side_by_side(found, each.left.question, marks=marks),
            right=right_answer(each.left.question),
        )


def _marks(told: ReportTrial) -> Mapping[int, Marks]:
    marks = {} if told.explanation is None else marks_of(told.explanation)
    return with_answer(marks, told.question, told.scores, told.conversation)


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
