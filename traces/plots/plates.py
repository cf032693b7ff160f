"""All figures of findings, in the order in which people look at them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from toolablate.traces.analysis.attribution.ledger import Ledger
from toolablate.traces.analysis.findings import Findings
from toolablate.traces.analysis.selection import Link
from toolablate.traces.plots.drawing.files import as_text
from toolablate.traces.plots.drawing.marks import Drawing
from toolablate.traces.plots.drawing.svg import as_svg
from toolablate.traces.plots.figures.domains import draw_domains
from toolablate.traces.plots.figures.effects import draw_effects
from toolablate.traces.plots.figures.flips import draw_flips
from toolablate.traces.plots.figures.matrices import draw_matrices
from toolablate.traces.plots.figures.mechanisms import draw_mechanisms
from toolablate.traces.plots.figures.outcomes import Ended, draw_outcomes
from toolablate.traces.plots.figures.scores import draw_scores
from toolablate.traces.plots.figures.waterfall import draw_ladders

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
    second's)."""

    name: str
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class Printed:
    """The same for a page: `svg` is an element that stands within HTML as it is."""

    name: str
    title: str
    about: str
    svg: str


def plates(findings: Findings, *, endings: Sequence[Ended] = (), link: Link | None = None) -> Iterator[Plate]:
    """Those of which there is something to draw; `endings` say how trials ended."""
    simulated = findings.simulated
    if findings.arms:
        drawn = draw_scores(findings.arms, baseline=findings.baseline, simulated=simulated, link=link)
        yield Plate("scores", drawn)
    if comparisons := in_order(findings, findings.comparisons):
        yield Plate("effects", draw_effects(comparisons, simulated=simulated, link=link))
    if floors := in_order(findings, findings.floors):
        yield Plate("flips", draw_flips(floors, simulated=simulated))
    if flips := in_order(findings, findings.flips):
        yield Plate("matrices", draw_matrices(flips, simulated=simulated, link=link))
    if any(any(arm.endings.values()) for arm in endings):
        yield Plate("outcomes", draw_outcomes(endings, simulated=simulated, link=link))
    yield from _of_each_model(findings, link)


def printed(findings: Findings, *, endings: Sequence[Ended] = (), link: Link | None = None) -> tuple[Printed, ...]:
    """The same as SVG. Those of the same findings are drawn once, whoever asks."""
    counted = [(arm.model, arm.condition, dict(arm.endings)) for arm in endings]
    with as_text():
        for kept in _kept:
            if kept.link == link and kept.endings == counted and kept.findings == findings:
                return kept.found
        found = tuple(
            Printed(plate.name, plate.drawing.title, plate.drawing.about, as_svg(plate.drawing))
            for plate in plates(findings, endings=endings, link=link)
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


def _of_each_model(findings: Findings, link: Link | None) -> Iterator[Plate]:
    ledgers = ledgers_of(findings)
    put_down = () if findings.why is None else findings.why.put_down
    for number, model in enumerate(findings.models, start=1):
        ending = "" if number == 1 else f"-{number}"
        if own := [each for each in ledgers if each.model == model]:
            yield Plate(
                f"mechanisms{ending}", draw_mechanisms(own, simulated=findings.simulated, put_down=put_down, link=link)
            )
        if waterfalls := [each for each in findings.waterfalls if each.model == model]:
            yield Plate(f"ladders{ending}", draw_ladders(waterfalls, link=link))
        if domains := [each for each in findings.by_domain if each.model == model]:
            yield Plate(f"domains{ending}", draw_domains(domains, simulated=findings.simulated, link=link))
