"""The table of questions, and one question with its trials."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.traces.analysis.attribution.naming import account_name
from toolablate.traces.analysis.selection import Selection
from toolablate.traces.html.addresses import PARAMETERS
from toolablate.traces.viewer.glances import ENDINGS, TURNS, columns, table_row
from toolablate.traces.viewer.index import Facets, Index, Sort
from toolablate.traces.viewer.rendering import page, view_of
from toolablate.traces.viewer.selecting import Asked, asked, narrowed

SORTS: dict[Sort, str] = {
    "order": "order of the benchmark",
    "name": "name",
    "domain": "domain",
    "difficulty": "difficulty",
    "delta": "largest loss",
    "score": "score",
    "spread": "disagreement",
    "tokens": "tokens",
    "cost": "cost",
}
TITLES = {
    "models": "Model",
    "conditions": "Condition",
    "domains": "Domain",
    "difficulties": "Difficulty",
    "endings": "Outcome",
    "flips": "Flip",
    "mechanisms": "Mechanism",
    "labels": "Label",
    "tools": "Tool used",
}
MANY = 8
"""Columns of trials beyond which their heads stand upright."""


@dataclass(frozen=True, slots=True)
class Choice:
    value: str
    name: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """Values of which some may be chosen."""

    parameter: str
    title: str
    choices: tuple[Choice, ...]
    chosen: int


@dataclass(frozen=True, slots=True)
class Chip:
    """A value that narrows the table; `without` is the address of the table that it does not narrow, with `total`
    questions (None where nobody asked)."""

    title: str
    name: str
    without: str
    total: int | None


def questions(request: Request) -> Response:
    index = view_of(request).index
    facets = index.facets()
    query = asked(request.query_params, facets)
    found = index.questions(query.selection, sort=query.sort, descending=query.descending, page=query.page)
    query = replace(query, page=found.page)
    across = columns(facets, query.selection)
    return page(
        request,
        "questions.html",
        asked=query,
        found=found,
        facets=_facets(facets, query.selection),
        chips=_chips(index, query, count=not found.rows),
        columns=across,
        upright=len(across) > MANY,
        rows=[table_row(row, across, facets.baseline) for row in found.rows],
        sorts=SORTS,
        simulated=facets.simulated,
        turns=TURNS,
        endings=ENDINGS,
        version=index.version(),
    )


def _facets(facets: Facets, selection: Selection) -> list[Facet]:
    """Those that have something to choose from, or something chosen."""
    made = []
    for field, parameter in PARAMETERS.items():
        chosen: tuple[str, ...] = getattr(selection, field)
        counts = {str(value): count for value, count in getattr(facets, field).items()}
        counts |= {value: 0 for value in chosen if value not in counts}
        if len(counts) > 1 or chosen:
            choices = tuple(
                Choice(value, value_name(field, value), count, value in chosen) for value, count in counts.items()
            )
            made.append(Facet(parameter, TITLES[field], choices, len(chosen)))
    return made


def value_name(field: str, value: str) -> str:
    """As people read it."""
    if field == "endings":
        return ENDINGS[value]
    if field == "flips":
        return TURNS[value]
    if field in ("mechanisms", "labels"):
        return account_name(value)
    return value or "(none)"


def _chips(index: Index, query: Asked, *, count: bool) -> Sequence[Chip]:
    fields = {parameter: field for field, parameter in PARAMETERS.items()}
    return [
        Chip(
            title=TITLES[fields[name]] if name in fields else "Text",
            name=value_name(fields.get(name, ""), value),
            without=query.address(selection=rest),
            total=index.questions(rest, size=1).total if count else None,
        )
        for name, value, rest in narrowed(query.selection)
    ]


ROUTES = (Route("/questions", questions, name="questions"),)
assert set(SORTS) == set(get_args(Sort))
