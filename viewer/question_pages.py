"""The table of questions, and one question with its trials."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.selection import Selection
from toolablate.reports import numbers
from toolablate.reports.cause_wording import right_answer
from toolablate.traces.store import Store
from toolablate.traces.terminal_text import plain_text
from toolablate.viewer.index import Counts, Facets, Sort, ViewerIndex
from toolablate.viewer.rendering import page, view_of
from toolablate.viewer.selection import (
    ENDINGS,
    PARAMETERS,
    TURNS,
    PageQuery,
    asked,
    beside,
    columns,
    is_raw,
    narrowed,
    question_address,
    sequel,
    switched,
    table_row,
)

SORTS: dict[Sort, str] = {
    "order": "order of the benchmark",
    "name": "name",
    "domain": "domain",
    "difficulty": "difficulty",
    "delta": "lowest Δ",
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
    "text": "Text",
    "unlabelled": "Still to be labelled by",
}
LONGEST_PROMPT = 50_000
"""Characters of a question beyond which its middle is left out."""
ROWS, LEAST_ROWS, CELLS = 50, 10, 2_000
"""Of a page: fewer rows where there are many columns, since a browser takes its time over ten thousand links."""
MANY = 8
"""Columns of trials beyond which their heads stand upright."""


@dataclass(frozen=True, slots=True)
class FilterChoice:
    """`count` questions would be shown with this value alone, by all the other filters."""

    value: str
    name: str
    count: int
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """Values of which some may be chosen."""

    parameter: str
    title: str
    choices: tuple[FilterChoice, ...]
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
    view = view_of(request)
    index = view.index
    facets = _shown(index.facets(), blind=view.blind)
    query = asked(request.query_params, facets, blind=view.hidden_from)
    across = columns(facets, query.selection)
    size = max(LEAST_ROWS, min(ROWS, CELLS // max(1, len(across))))
    found = index.questions(query.selection, sort=query.sort, descending=query.descending, page=query.page, size=size)
    query = replace(query, page=found.page)
    fitting = index.fitting([row.question for row in found.rows], query.selection)
    beyond = sequel(query.address(page=1))
    return page(
        request,
        "questions.html",
        asked=query,
        found=found,
        facets=_facets(facets, index.counts(query.selection), query.selection),
        chips=_chips(index, query, count=not found.rows),
        columns=across,
        domains=bool(set(facets.domains) - {""}),
        difficulties=bool(set(facets.difficulties) - {""}),
        upright=len(across) > MANY,
        rows=[
            table_row(row, across, facets.baseline, fitting=fitting, query=beyond, blind=view.blind)
            for row in found.rows
        ],
        sorts=SORTS,
        simulated=facets.simulated,
        numbers=numbers,
        turns=TURNS,
        endings=ENDINGS,
        working=index.progress() if query.selection.mechanisms and not found.rows else "",
        version=index.version(),
    )


def question(request: Request) -> Response:
    view = view_of(request)
    row = view.index.question(request.path_params["question"])
    with Store(view.store) as store:
        found = store.question(row.question)
    facets = view.index.facets()
    query = asked(request.query_params, facets, blind=view.hidden_from)
    baseline = facets.baseline
    base = {glance.model: glance for glance in row.glances if glance.condition == baseline}
    onward = sequel(query.address(page=1))
    raw, path = is_raw(request.query_params), question_address(row.question)
    if raw:
        onward += f"{'&' if onward else '?'}raw=1"
    if not view.blind:
        view.session.seen.update(trial.trial for glance in row.glances for trial in glance.trials if trial.mechanism)
    besides = [(glance, beside(glance, base.get(glance.model))) for glance in row.glances]
    return page(
        request,
        "question.html",
        row=row,
        question=found,
        prompt=plain_text(found.prompt, max_chars=LONGEST_PROMPT)
        if len(found.prompt) > LONGEST_PROMPT
        else found.prompt,
        right=right_answer(found),
        arms=[(glance, None if diff is None else diff + onward) for glance, diff in besides],
        trials=sum(len(glance.trials) for glance in row.glances),
        fitting=view.index.fitting([row.question], query.selection),
        chips=_chips(view.index, query, count=False),
        endings=ENDINGS,
        turns=TURNS,
        numbers=numbers,
        mechanism_name=mechanism_name,
        simulated=facets.simulated,
        version=view.index.version(),
        query=onward,
        alone=path,
        raw=raw,
        rendered_at=switched(path, request.query_params, raw=False),
        raw_at=switched(path, request.query_params, raw=True),
    )


def _shown(facets: Facets, *, blind: bool) -> Facets:
    """Who is blind does not choose by what the attribution says, or other people."""
    return replace(facets, mechanisms={}, labels={}) if blind else facets


def _facets(facets: Facets, counts: Counts, selection: Selection) -> list[Facet]:
    """Those that have something to choose from, or something chosen."""
    made = []
    for field, parameter in PARAMETERS.items():
        chosen: tuple[str, ...] = getattr(selection, field)
        values = list(dict.fromkeys((*map(str, getattr(facets, field)), *chosen)))
        if len(values) > 1 or chosen:
            choices = tuple(
                FilterChoice(value, value_name(field, value), counts[field].get(value, 0), value in chosen)
                for value in values
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
        return mechanism_name(value)
    return value or "(none)"


def _chips(index: ViewerIndex, query: PageQuery, *, count: bool) -> Sequence[Chip]:
    fields = {parameter: field for field, parameter in PARAMETERS.items()}
    return [
        Chip(
            title=TITLES[fields.get(name, name)],
            name=value_name(fields.get(name, ""), value),
            without=query.address(selection=rest),
            total=index.questions(rest, size=1).total if count else None,
        )
        for name, value, rest in narrowed(query.selection)
    ]


ROUTES = (
    Route("/questions", questions, name="questions"),
    Route("/question/{question:path}", question, name="question"),
)
assert set(SORTS) == set(get_args(Sort))
