"""The overview of a store, and whether there is something new."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from toolablate.analysis.attribution.report import ATTRIBUTED_AS, mechanism_name
from toolablate.analysis.comparison import Comparison
from toolablate.analysis.effect import SIGNIFICANT, Accuracy
from toolablate.analysis.findings import Findings, FlipMatrix
from toolablate.analysis.selection import Ending, Selection
from toolablate.reports import numbers
from toolablate.reports.cause_wording import METHODS, counted, how_alone, how_known, measured_by, methods_of
from toolablate.reports.terminal.attribution import rests_on
from toolablate.reports.terminal.comparison import grounds_of
from toolablate.reports.waterfall_bars import accounts_of
from toolablate.viewer import running
from toolablate.viewer.index import ArmCounts
from toolablate.viewer.rendering import Drawn, figures_of, page, view_of
from toolablate.viewer.selection import questions_address

# What the first page shows: each model under each condition, on a line.


LEAST_SCALE = 10.0
"""Points that a bar's half stands for at least: small effects are to look small."""


@dataclass(frozen=True, slots=True)
class EffectBar:
    """An effect and its interval on a line from -`scale` to `scale` points, in percent of its length from the left.
    `low` and `high` are None where there is no interval."""

    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ArmSummary:
    """`accuracy` to `bar` are None while they are not computed; a baseline has the first alone."""

    counts: ArmCounts
    baseline: bool
    accuracy: Accuracy | None = None
    compared: Comparison | None = None
    flips: FlipMatrix | None = None
    bar: EffectBar | None = None

    @property
    def percent(self) -> float | None:
        """The score: that of the findings, which may be a moment older than the counts, or of the counts."""
        if self.accuracy is not None:
            return self.accuracy.percent
        return None if self.counts.score is None else 100 * self.counts.score


@dataclass(frozen=True, slots=True)
class Progress:
    """Of a run, or of one of its arms: trials."""

    planned: int
    ended: int
    running: int

    @property
    def going(self) -> bool:
        return self.ended < self.planned


def lines(arms: Sequence[ArmCounts], found: Findings | None) -> dict[str, list[ArmSummary]]:
    """By model, in the order of the arms."""
    made: dict[str, list[ArmSummary]] = {}
    for arm in arms:
        made.setdefault(arm.model, []).append(_line(arm, found))
    return made


def progress(arms: Sequence[ArmCounts]) -> Progress:
    return Progress(*(sum(getattr(arm, name) for arm in arms) for name in ("planned", "ended", "running")))


def scale(found: Findings | None) -> float:
    """Points that the longest bar needs on either side of 0, in tens."""
    rows = () if found is None else found.comparisons
    furthest = max((abs(end) for row in rows for end in _ends(row)), default=LEAST_SCALE)
    return max(LEAST_SCALE, 10.0 * -(-furthest // 10))


def _ends(row: Comparison) -> Iterator[float]:
    if row.delta_points is not None:
        yield row.delta_points
    yield from row.ci95 or ()


def _line(arm: ArmCounts, found: Findings | None) -> ArmSummary:
    if found is None:
        return ArmSummary(arm, baseline=False)
    name = (arm.model, arm.condition)
    compared = next((row for row in found.comparisons if (row.model, row.condition) == name), None)
    return ArmSummary(
        counts=arm,
        baseline=arm.condition == found.baseline,
        accuracy=next((row.accuracy for row in found.arms if (row.model, row.condition) == name), None),
        compared=compared,
        flips=next((row for row in found.flips if (row.model, row.condition) == name), None),
        bar=None if compared is None else _bar(compared, scale(found)),
    )


def _bar(row: Comparison, most: float) -> EffectBar | None:
    if row.delta_points is None:
        return None
    low, high = row.ci95 or (None, None)
    return EffectBar(
        _place(row.delta_points, most),
        None if low is None else _place(low, most),
        None if high is None else _place(high, most),
    )


def _place(points: float, most: float) -> float:
    return round(50 + 50 * points / most, 2)


# The first page: what the conditions of a store did to scores, and why.


FIRST = ("scores", "effects", "flips", "matrices", "outcomes")
"""Figures by name; the others stand with what they are about."""
WITHOUT: Mapping[Ending, str] = {
    "failed": "by failure of the infrastructure",
    "budget": "out of budget",
    "unparsed": "without an answer that could be read",
    "unscored": "without a score",
}


def overview(request: Request) -> Response:
    view = view_of(request)
    index = view.index
    version, facets, (found, arms) = index.version(), index.facets(), shown_findings(request)
    drawn = Drawn() if found is None else figures_of(request).of(version, found, arms)
    shortfalls = [ending for ending in WITHOUT if any(arm.endings.get(ending) for arm in arms)]
    attributed = [] if found is None else counted(found)
    return page(
        request,
        "overview.html",
        version=version,
        trouble=index.trouble(),
        models=lines(arms, found),
        overall=progress(arms),
        questions=index.questions(Selection(), size=1).total,
        facets=facets,
        found=found,
        figures=drawn.figures,
        drawing=drawn.older,
        first=FIRST,
        shortfalls=shortfalls,
        priced=any(arm.cost_usd is not None for arm in arms),
        nowhere=[WITHOUT[ending] for ending in WITHOUT if ending not in shortfalls],
        scale=scale(found),
        link=_link,
        numbers=numbers,
        significant=SIGNIFICANT,
        mechanism_name=mechanism_name,
        accounts_of=accounts_of,
        rests_on=rests_on,
        attributed=attributed,
        how_alone=how_alone,
        how_known=how_known,
        measured_by=measured_by,
        methods_of=methods_of,
        METHODS=METHODS,
        blamed=ATTRIBUTED_AS,
        listed={(row.model, row.condition, row.mechanism) for row in attributed},
        notes=list(_notes(found)),
        footnotes=list(grounds_of(found.comparisons)) if found is not None else [],
    )


def shown_findings(request: Request) -> tuple[Findings | None, Sequence[ArmCounts]]:
    """What is found, without what is hidden from who labels blind; None while that is not known. And how trials
    ended."""
    view = view_of(request)
    found = view.index.findings()
    return replace(found, why=None) if found is not None and view.blind else found, view.index.arms()


def _link(model: str, condition: str, **more: str) -> str:
    """Of the questions of one arm; `more` are fields of a Selection, each with one value."""
    chosen: dict[str, Any] = {name: (value,) for name, value in more.items()}
    return questions_address(Selection(models=(model,), conditions=(condition,), **chosen))


def _notes(found: Findings | None) -> Iterator[str]:
    if found is None:
        return
    yield from found.notes
    if found.why is not None:
        yield from found.why.notes
        if found.why.unreplayed:
            yield "Missing replays: run `toolablate attribute STORE --replay`."


# Whether there is something new.


def live(request: Request) -> Response:
    """With `of=running` the version also rises with whatever a running trial does.

    `{"version", "planned", "ended", "running", "progress", "trouble"}`: the version rises with whatever changes what
    a page shows; the last two are sentences of the process that keeps the tables, empty where it has nothing to say."""
    view = view_of(request)
    index = view.index
    counts = progress(index.arms())
    return JSONResponse(
        {
            "version": running.version(view) if request.query_params.get("of") == "running" else index.version(),
            "planned": counts.planned,
            "ended": counts.ended,
            "running": counts.running,
            "progress": index.progress(),
            "trouble": index.trouble(),
        }
    )


ROUTES = (Route("/", overview, name="overview"), Route("/live", live, name="live"))
