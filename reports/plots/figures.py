"""All figures of a store, and what bounds their sizes."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from toolablate.analysis.attribution.decomposition import Decomposition
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.findings import Findings
from toolablate.analysis.ladder import Waterfall
from toolablate.analysis.selection import Link
from toolablate.reports.plots.domains import draw_domains, draw_matrices, is_whole
from toolablate.reports.plots.drawing import as_svg, as_text
from toolablate.reports.plots.panels import BROAD, SLIM, WIDE, Drawing, Form, note
from toolablate.reports.plots.scores import EndedArm, draw_effects, draw_flips, draw_outcomes, draw_scores
from toolablate.reports.plots.waterfall import draw_ladders, draw_mechanisms

MOST_ROWS, MOST_COLUMNS, MOST_DOMAINS = 100, 20, 40

Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Bounded:
    """`said` tells in a line what is left out; nothing where nothing is."""

    findings: Findings
    endings: Sequence[EndedArm]
    said: str = ""


def bounded(findings: Findings, endings: Sequence[EndedArm]) -> Bounded:
    """The arms farthest from their baseline, and the baselines: the same in all figures that have a row for each."""
    arms = [(arm.model, arm.condition) for arm in findings.arms]
    if len(arms) <= MOST_ROWS:
        return Bounded(findings, endings)
    kept = _farthest(findings, arms)
    how = "those farthest from the baseline" if findings.comparisons else "the first of them"
    few = replace(
        findings,
        arms=tuple(arm for arm in findings.arms if (arm.model, arm.condition) in kept),
        comparisons=tuple(each for each in findings.comparisons if (each.model, each.condition) in kept),
        floors=tuple(each for each in findings.floors if (each.model, each.condition) in kept),
        flips=tuple(each for each in findings.flips if (each.model, each.condition) in kept),
    )
    ended = [arm for arm in endings if (arm.model, arm.condition) in kept]
    return Bounded(few, ended, f"{len(kept):,} of {len(arms):,} rows: {how}")


def _farthest(findings: Findings, arms: Sequence[tuple[str, str]]) -> Collection[tuple[str, str]]:
    if not findings.comparisons:
        return set(arms[:MOST_ROWS])
    known, kept = set(arms), set[tuple[str, str]]()
    for each in sorted(findings.comparisons, key=_distance):
        more = kept | ({(each.model, each.condition), (each.model, findings.baseline)} & known)
        if len(more) <= MOST_ROWS:
            kept = more
    return kept


def _distance(each: Comparison) -> float:
    """The farthest first, then those of which nothing is known."""
    return 1.0 if each.delta_points is None else -abs(each.delta_points)


def bounded_domains(table: Sequence[Comparison]) -> tuple[Sequence[Comparison], str]:
    """Of one model: the conditions with the largest differences, and the domains with most questions."""
    questions = {each.group: each.questions for each in sorted(table, key=lambda each: each.questions)}
    conditions = list(dict.fromkeys(each.condition for each in sorted(table, key=_distance)))
    domains = sorted(questions, key=lambda domain: -questions[domain])
    columns, rows = set(conditions[:MOST_COLUMNS]), set(domains[:MOST_DOMAINS])
    said = []
    if len(columns) < len(conditions):
        said.append(f"{len(columns)} of {len(conditions):,} conditions: those with the largest differences")
    if len(rows) < len(domains):
        said.append(f"{len(rows)} of {len(domains):,} domains: those with most questions")
    return [each for each in table if each.condition in columns and each.group in rows], "; ".join(said)


def bounded_decompositions(decompositions: Sequence[Decomposition]) -> tuple[Sequence[Decomposition], str]:
    return _fitting(
        decompositions, lambda each: abs(each.effect.points), lambda each: len(each.mechanisms) + 2, "conditions"
    )


def bounded_ladders(ladders: Sequence[Waterfall]) -> tuple[Sequence[Waterfall], str]:
    return _fitting(ladders, lambda each: abs(each.total.points or 0.0), lambda each: len(each.steps) + 1, "ladders")


def _fitting(
    shown: Sequence[Shown], weight: Callable[[Shown], float], lines: Callable[[Shown], int], what: str
) -> tuple[Sequence[Shown], str]:
    """Those of the largest effects, in their order: as many as there are lines for, but one at least."""
    kept: set[int] = set()
    left = MOST_ROWS
    for place in _places(shown, weight):
        left -= lines(shown[place])
        if left < 0 and kept:
            break
        kept.add(place)
    found = [each for place, each in enumerate(shown) if place in kept]
    left_out = len(found) < len(shown)
    return found, f"{len(found)} of {len(shown):,} {what}: those with the largest effects" if left_out else ""


def _places(shown: Sequence[Shown], weight: Callable[[Shown], float]) -> Iterable[int]:
    return sorted(range(len(shown)), key=lambda place: -weight(shown[place]))


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
    findings: Findings, *, endings: Sequence[EndedArm] = (), link: Link | None = None, form: Form = BROAD
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


def printed(findings: Findings, *, endings: Sequence[EndedArm] = (), link: Link | None = None) -> tuple[Printed, ...]:
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


def decompositions_of(findings: Findings) -> list[Decomposition]:
    """Those of which anything is known but the effect, by model and condition, as the store has them."""
    places = {condition: place for place, condition in enumerate(findings.conditions)}
    decompositions = () if findings.why is None else findings.why.resolved
    return in_order(findings, sorted(decompositions, key=lambda each: places.get(each.condition, len(places))))


@dataclass(frozen=True, slots=True)
class _Kept:
    findings: Findings
    endings: object
    link: Link | None
    found: tuple[Printed, ...]


_kept: list[_Kept] = []


def _of_each_model(findings: Findings, link: Link | None, form: Form) -> Iterator[Plate]:
    decompositions = decompositions_of(findings)
    attributed = () if findings.why is None else findings.why.attributed
    for model, ending in models_of(findings):
        if own := [each for each in decompositions if each.model == model]:
            own_decompositions, said = bounded_decompositions(own)
            drawn = draw_mechanisms(
                own_decompositions, simulated=findings.simulated, attributed=attributed, link=link, form=form
            )
            yield _plate(f"mechanisms{ending}", drawn, said)
        if waterfalls := [each for each in findings.waterfalls if each.model == model]:
            ladders, said = bounded_ladders(waterfalls)
            yield _plate(f"ladders{ending}", draw_ladders(ladders, link=link, form=form), said)
        if table := _by_domain(findings, model):
            yield _domains(f"domains{ending}", table, findings, link, form)


def _wide(findings: Findings, link: Link | None) -> Iterator[Plate]:
    """Those that have more beside each other where there is more room than the broad form needs."""
    for model, ending in models_of(findings):
        table = _by_domain(findings, model)
        if table and not is_whole(bounded_domains(table)[0], BROAD):
            yield _domains(f"domains{ending}", table, findings, link, WIDE)


def models_of(findings: Findings) -> Iterator[tuple[str, str]]:
    """With how the names of their figures end."""
    for number, model in enumerate(findings.models, start=1):
        yield model, "" if number == 1 else f"-{number}"


def _by_domain(findings: Findings, model: str) -> list[Comparison]:
    return [each for each in findings.by_domain if each.model == model]


def _domains(name: str, table: Sequence[Comparison], findings: Findings, link: Link | None, form: Form) -> Plate:
    few, said = bounded_domains(table)
    return _plate(name, draw_domains(few, simulated=findings.simulated, link=link, form=form), said)
