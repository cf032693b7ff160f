"""All figures of findings, in the order in which people look at them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from toolablate.analysis.attribution.decomposition import Ledger
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.findings import Findings
from toolablate.analysis.selection import Link
from toolablate.reports.plots.bounds import bounded, bounded_domains, bounded_ladders, bounded_ledgers
from toolablate.reports.plots.drawing.files import as_text
from toolablate.reports.plots.drawing.marks import Drawing
from toolablate.reports.plots.drawing.rows import BROAD, SLIM, WIDE, Form, note
from toolablate.reports.plots.drawing.svg import as_svg
from toolablate.reports.plots.figures.domains import draw_domains, is_whole
from toolablate.reports.plots.figures.effects import draw_effects
from toolablate.reports.plots.figures.flips import draw_flips
from toolablate.reports.plots.figures.matrices import draw_matrices
from toolablate.reports.plots.figures.mechanisms import draw_mechanisms
from toolablate.reports.plots.figures.outcomes import Ended, draw_outcomes
from toolablate.reports.plots.figures.scores import draw_scores
from toolablate.reports.plots.figures.waterfall import draw_ladders

KEPT = 4
"""Sets of figures that are kept in case the same are wanted again."""


class OfModel(Protocol):
    @property
    def model(self) -> str: ...


Row = TypeVar("Row", bound=OfModel)


@dataclass(frozen=True, slots=True)
class Plate:
    """A figure. `name` is fit for a file or an anchor, and the same for the same findings: `scores`, `effects`,
    `flips`, `matrices`, `outcomes`; `domains`, `mechanisms` and `ladders`, one for each model (`domains-2` is the
    second's). `left_out`: not all rows are drawn."""

    name: str
    drawing: Drawing
    left_out: bool = False


@dataclass(frozen=True, slots=True)
class Printed:
    """The same for a page, as SVG for a broad one and for a slim one; and for a line of its own, where the broad one
    has some of it below what would stand beside it there, else ""."""

    name: str
    title: str
    about: str
    broad: str
    slim: str
    wide: str = ""
    left_out: bool = False

    @property
    def svg(self) -> str:
        """Stands within HTML as it is; the page's style shows the element that fits."""
        return self.broad + self.slim + self.wide


def plates(
    findings: Findings, *, endings: Sequence[Ended] = (), link: Link | None = None, form: Form = BROAD
) -> Iterator[Plate]:
    """Those of which there is something to draw; `endings` say how trials ended. Of very many rows those are drawn
    that stand out (see `bounds`), and the figure says so."""
    few = bounded(findings, endings)
    shown, simulated = few.findings, findings.simulated

    def plate(name: str, drawn: Drawing) -> Plate:
        return _plate(name, drawn, few.said)

    if shown.arms:
        drawn = draw_scores(shown.arms, baseline=findings.baseline, simulated=simulated, link=link, form=form)
        yield plate("scores", drawn)
    if comparisons := in_order(findings, shown.comparisons):
        yield plate("effects", draw_effects(comparisons, simulated=simulated, link=link, form=form))
    if floors := in_order(findings, shown.floors):
        yield plate("flips", draw_flips(floors, simulated=simulated, form=form))
    if flips := in_order(findings, shown.flips):
        yield plate("matrices", draw_matrices(flips, simulated=simulated, link=link, form=form))
    if any(any(arm.endings.values()) for arm in few.endings):
        yield plate("outcomes", draw_outcomes(few.endings, simulated=simulated, link=link, form=form))
    yield from _of_each_model(findings, link, form)


def _plate(name: str, drawing: Drawing, left_out: str) -> Plate:
    if not left_out:
        return Plate(name, drawing)
    note(drawing, left_out)
    about = f"{drawing.about} Drawn are {left_out}; the table has all."
    return Plate(name, replace(drawing, about=about), left_out=True)


def printed(findings: Findings, *, endings: Sequence[Ended] = (), link: Link | None = None) -> tuple[Printed, ...]:
    """The same as SVG. Those of the same findings are drawn once, whoever asks."""
    counted = [(arm.model, arm.condition, dict(arm.endings)) for arm in endings]
    with as_text():
        for kept in _kept:
            if kept.link == link and kept.endings == counted and kept.findings == findings:
                return kept.found
        broad, slim = (plates(findings, endings=endings, link=link, form=form) for form in (BROAD, SLIM))
        wide = {each.name: as_svg(each.drawing) for each in _wide(findings, link)}
        found = tuple(
            Printed(
                each.name,
                each.drawing.title,
                each.drawing.about,
                as_svg(each.drawing),
                as_svg(other.drawing),
                wide.get(each.name, ""),
                left_out=each.left_out,
            )
            for each, other in zip(broad, slim, strict=True)
        )
        _kept.insert(0, _Kept(findings, counted, link, found))
        del _kept[KEPT:]
    return found


def in_order(findings: Findings, rows: Iterable[Row]) -> list[Row]:
    """By model, as the store has them: comparisons come by the models' names."""
    places = {model: place for place, model in enumerate(findings.models)}
    return sorted(rows, key=lambda row: places.get(row.model, len(places)))


def ledgers_of(findings: Findings) -> list[Ledger]:
    """Those of which anything is known but the effect, by model and condition, as the store has them."""
    places = {condition: place for place, condition in enumerate(findings.conditions)}
    ledgers = () if findings.why is None else findings.why.resolved
    return in_order(findings, sorted(ledgers, key=lambda each: places.get(each.condition, len(places))))


@dataclass(frozen=True, slots=True)
class _Kept:
    findings: Findings
    endings: object
    link: Link | None
    found: tuple[Printed, ...]


_kept: list[_Kept] = []


def _of_each_model(findings: Findings, link: Link | None, form: Form) -> Iterator[Plate]:
    ledgers = ledgers_of(findings)
    put_down = () if findings.why is None else findings.why.put_down
    for model, ending in _models(findings):
        if own := [each for each in ledgers if each.model == model]:
            own_ledgers, said = bounded_ledgers(own)
            drawn = draw_mechanisms(own_ledgers, simulated=findings.simulated, put_down=put_down, link=link, form=form)
            yield _plate(f"mechanisms{ending}", drawn, said)
        if waterfalls := [each for each in findings.waterfalls if each.model == model]:
            ladders, said = bounded_ladders(waterfalls)
            yield _plate(f"ladders{ending}", draw_ladders(ladders, link=link, form=form), said)
        if table := _by_domain(findings, model):
            yield _domains(f"domains{ending}", table, findings, link, form)


def _wide(findings: Findings, link: Link | None) -> Iterator[Plate]:
    """Those that have more beside each other where there is more room than the broad form needs."""
    for model, ending in _models(findings):
        table = _by_domain(findings, model)
        if table and not is_whole(bounded_domains(table)[0], BROAD):
            yield _domains(f"domains{ending}", table, findings, link, WIDE)


def _models(findings: Findings) -> Iterator[tuple[str, str]]:
    """With how the names of their figures end."""
    for number, model in enumerate(findings.models, start=1):
        yield model, "" if number == 1 else f"-{number}"


def _by_domain(findings: Findings, model: str) -> list[Comparison]:
    return [each for each in findings.by_domain if each.model == model]


def _domains(name: str, table: Sequence[Comparison], findings: Findings, link: Link | None, form: Form) -> Plate:
    few, said = bounded_domains(table)
    return _plate(name, draw_domains(few, simulated=findings.simulated, link=link, form=form), said)
