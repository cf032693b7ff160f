"""The first page: what the conditions of a store did to scores, and why."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.analysis.attribution.report import PUT_DOWN_AS, mechanism_name
from toolablate.analysis.findings import Findings
from toolablate.analysis.selection import Ending, Selection
from toolablate.reports import numbers
from toolablate.reports.html.addresses import questions_address
from toolablate.reports.terminal.attribution import accounts_of, rests_on
from toolablate.reports.terminal.causes import METHODS, counted, how_alone, how_known, measured_by, methods_of
from toolablate.reports.terminal.comparison import grounds_of
from toolablate.viewer.drawing import Drawn
from toolablate.viewer.rendering import figures_of, page, view_of
from toolablate.viewer.summary import lines, progress, scale

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
    version, arms, facets, found = index.version(), index.arms(), index.facets(), index.findings()
    if found is not None and view.blind:
        found = replace(found, why=None)
    drawn = Drawn() if found is None else figures_of(request).of(version, found, arms)
    shortfalls = [ending for ending in WITHOUT if any(arm.endings.get(ending) for arm in arms)]
    put_down = [] if found is None else counted(found)
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
        mechanism_name=mechanism_name,
        accounts_of=accounts_of,
        rests_on=rests_on,
        put_down=put_down,
        how_alone=how_alone,
        how_known=how_known,
        measured_by=measured_by,
        methods_of=methods_of,
        METHODS=METHODS,
        blamed=PUT_DOWN_AS,
        listed={(row.model, row.condition, row.mechanism) for row in put_down},
        notes=list(_notes(found)),
        footnotes=list(grounds_of(found.comparisons)) if found is not None else [],
    )


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
            yield "Replays that are missing are made by `toolablate attribute STORE --replay`."


ROUTES = (Route("/", overview, name="overview"),)
