"""The first page: what the conditions of a store did to scores, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.traces.analysis.attribution.naming import account_name
from toolablate.traces.analysis.findings import Findings
from toolablate.traces.analysis.selection import Selection
from toolablate.traces.html.addresses import questions_address
from toolablate.traces.plots import printed
from toolablate.traces.terminal import numbers
from toolablate.traces.terminal.attribution.ledgers import accounts_of, rests_on
from toolablate.traces.terminal.comparison.footnotes import footnotes_of
from toolablate.traces.viewer.index import ArmCounts
from toolablate.traces.viewer.rendering import page, view_of
from toolablate.traces.viewer.summary import lines, progress, scale

BLAMED = {
    "retrieval_distraction": "retrieval_distraction",
    "computational_lock_in": "lock_in",
    "other_results": "other_results",
    "tool_fault": "tool_fault",
    "budget": "budget",
    "format_loss": "format",
    "availability": "availability",
    "calling": "calling",
    "prompt": "prompt",
    "luck": "luck",
}
"""Of mechanisms of an effect, the one that a trial is blamed on."""


@dataclass(frozen=True, slots=True)
class Figure:
    name: str
    title: str
    about: str
    svg: Markup


def overview(request: Request) -> Response:
    index = view_of(request).index
    version, arms, facets, found = index.version(), index.arms(), index.facets(), index.findings()
    return page(
        request,
        "overview.html",
        version=version,
        models=lines(arms, found),
        overall=progress(arms),
        questions=index.questions(Selection(), size=1).total,
        facets=facets,
        found=found,
        figures=[] if found is None else list(_figures(found, arms)),
        scale=scale(found),
        link=_link,
        numbers=numbers,
        account_name=account_name,
        accounts_of=accounts_of,
        rests_on=rests_on,
        blamed={part: blame for part, blame in BLAMED.items() if blame in facets.mechanisms},
        notes=list(_notes(found)),
        footnotes=[] if found is None else list(footnotes_of(found.comparisons)) if found.comparisons else [],
    )


def _link(model: str, condition: str, **more: str) -> str:
    """Of the questions of one arm; `more` are fields of a Selection, each with one value."""
    chosen: dict[str, Any] = {name: (value,) for name, value in more.items()}
    return questions_address(Selection(models=(model,), conditions=(condition,), **chosen))


def _figures(found: Findings, arms: Sequence[ArmCounts]) -> Iterator[Figure]:
    for each in printed(found, endings=arms, link=questions_address):
        # Ours, with every name in it escaped: see toolablate.traces.plots.svg.
        yield Figure(each.name, each.title, each.about, Markup(each.svg))  # noqa: S704


def _notes(found: Findings | None) -> Iterator[str]:
    if found is None:
        return
    yield from found.notes
    if found.why is not None:
        if found.why.unreplayed:
            waiting = numbers.counted(found.why.unreplayed, "trial")
            yield f"{waiting} that were chosen by lot are not replayed yet: `toolablate attribute STORE --replay`."
        yield from found.why.notes


ROUTES = (Route("/", overview, name="overview"),)
