"""The page of wrong trials: in groups and one by one, filtered by what they have in common, with saved views."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.answer_relation import SAID
from toolablate.analysis.attribution.report import mechanism_name
from toolablate.analysis.comparison import METADATA
from toolablate.analysis.failures import KEYS, FailureGroup, Failures, chosen, grouped, metadata_keys, most_alike
from toolablate.reports import numbers
from toolablate.reports.terminal.failures import ABOUT_CLUSTERS, NO_CLUSTERS
from toolablate.traces.errors import InputError
from toolablate.viewer.forms import read_form
from toolablate.viewer.index import FailureRow, FailureTexts
from toolablate.viewer.rendering import page, view_of
from toolablate.viewer.saved_views import SavedViews
from toolablate.viewer.selection import event_address, question_address

COLUMNS: Mapping[str, str] = {
    "question": "Question",
    "condition": "Condition",
    "model": "Model",
    "repeat": "Repeat",
    "answer": "Answered",
    "expected": "Correct",
    "relation": "Relation",
    "mechanism": "Mechanism",
    "turned": "Turned at",
    "said": "What it says there",
    "cluster": "Cluster",
    "flip": "Baseline",
    "domain": "Domain",
    "difficulty": "Difficulty",
    "verdict": "Verdict",
}
"""What a row can show, in this order."""

FIRST_COLUMNS = ("question", "condition", "answer", "expected", "relation", "mechanism", "turned", "said")
HIDDEN = frozenset({"mechanism", "turned", "said"})
"""From who labels blind: what the attribution says, and where it says so."""
NOTHING = "-"
"""In an address, for what has no value."""
BY = ("relation",)
_DIGEST = re.compile(r"[0-9a-f]{32}")
MOST_CROSSED = 3
ROWS, GROUPS = 50, 60
SAID_CHARS = 300


@dataclass(frozen=True, slots=True)
class FailureQuery:
    """All of it is in the address. `where` has one value per key; `like` is the id of the trial that those shown are to
    be like; pages count from 1."""

    by: tuple[str, ...] = BY
    where: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[str, ...] = FIRST_COLUMNS
    like: str = ""
    page: int = 1

    def address(self, **changes: Any) -> str:
        """With some fields changed: other trials begin at their first page."""
        asked = replace(self, **({"page": 1} | changes))
        pairs = [("by", key) for key in asked.by] if asked.by != BY else []
        pairs += [(key, value or NOTHING) for key, value in asked.where.items()]
        pairs += [("column", name) for name in asked.columns] if asked.columns != FIRST_COLUMNS else []
        pairs += [("like", asked.like)] if asked.like else []
        pairs += [("page", str(asked.page))] if asked.page > 1 else []
        return f"/failures?{urlencode(pairs)}" if pairs else "/failures"

    def within(self, **values: str) -> str:
        return self.address(where={**self.where, **values})


@dataclass(frozen=True, slots=True)
class ShownGroup:
    """`address` filters to it; `names` are its values as people read them."""

    names: tuple[str, ...]
    group: FailureGroup[FailureRow]
    address: str


@dataclass(frozen=True, slots=True)
class ShownFailure:
    """`address` leads to the trial, at the event where it turned where that is known."""

    row: FailureRow
    texts: FailureTexts
    address: str
    question: str


@dataclass(frozen=True, slots=True)
class Choices:
    """The values of a key, each with how many wrong trials have it."""

    key: str
    title: str
    values: tuple[tuple[str, str, int], ...]
    chosen: str | None


def failures(request: Request) -> Response:
    view, index = view_of(request), view_of(request).index
    found = index.failures()
    hidden = HIDDEN if view.blind else frozenset[str]()
    asked, refused = _asked(request, found, hidden)
    selected = found
    if refused is None:
        try:
            selected = chosen(found, asked.where)
            if asked.like:
                words = index.words_said(asked.like)
                selected = most_alike(selected, asked.like, view.texts.alike(words) if view.texts else {})
        except InputError as error:
            refused = error
    if refused is not None:
        selected = replace(found, failures=())
    titles = _titles(found, hidden)
    pages = max(1, -(-len(selected.failures) // ROWS))
    asked = replace(asked, page=min(asked.page, pages))
    groups = grouped(selected, asked.by, most=GROUPS + 1) if selected.failures else []
    shown = selected.failures[(asked.page - 1) * ROWS : asked.page * ROWS]
    if not hidden and HIDDEN & {*asked.columns, *asked.by, *asked.where}:
        view.session.seen.update(row.trial for row in shown if row.mechanism)
    texts = index.failure_texts([row.key for row in shown])
    return page(
        request,
        "failures.html",
        status=HTTPStatus.BAD_REQUEST if refused else HTTPStatus.OK,
        asked=asked,
        found=found,
        total=len(selected.failures),
        refused=refused,
        groups=[_shown_group(each, asked) for each in groups[:GROUPS]],
        more_groups=len(groups) > GROUPS,
        rows=[_shown(each, texts.get(each.key), blind=view.blind) for each in shown],
        pages=pages,
        titles=titles,
        columns={name: title for name, title in COLUMNS.items() if name not in hidden},
        choices=_choices(index.failure_values(), asked, titles),
        chips=[
            (key_title(key), value_name(key, value), asked.address(where=_without(asked.where, key)))
            for key, value in asked.where.items()
        ],
        like=asked.like,
        without_like=asked.address(like=""),
        unread=found.wrong - len(found.failures),
        clusters={each.name: each for each in found.clusters or ()},
        no_clusters=NO_CLUSTERS,
        about_clusters=ABOUT_CLUSTERS,
        views=SavedViews.beside(index.path).all(),
        here=asked.address(page=1).partition("?")[2],
        name=value_name,
        numbers=numbers,
        version=index.version(),
        said_chars=SAID_CHARS,
    )


def _asked(
    request: Request, found: Failures[FailureRow], hidden: frozenset[str]
) -> tuple[FailureQuery, InputError | None]:
    """What the address asks for, as far as it can be read, and what is wrong with it."""
    query = request.query_params
    keys = _titles(found, hidden)
    given = [key for each in query.getlist("by") for key in each.split(",") if key]
    by = tuple(dict.fromkeys(given))[:MOST_CROSSED] or BY
    where = {
        key: "" if value == NOTHING else value
        for key, value in query.multi_items()
        if (key in KEYS or key.startswith(METADATA)) and value
    }
    for key in (*by, *where):
        if key not in keys:
            why = "Attributions are hidden here" if key in hidden else f"Failures have no {key!r}"
            wrong = InputError(why, hint=f"There are: {', '.join(keys)}.", code="unknown_key")
            return FailureQuery(where=where if key in by else {}), wrong
    like = query.get("like", "")
    if like and not _DIGEST.fullmatch(like):
        return FailureQuery(by, where), InputError(f"{like[:40]!r} is no trial's id", code="unknown_trial")
    named = [name for name in query.getlist("column") if name in COLUMNS]
    columns = tuple(name for name in COLUMNS if name in (named or FIRST_COLUMNS) and name not in hidden)
    return FailureQuery(by, where, FIRST_COLUMNS if not named and not hidden else columns, like, _page(request)), None


def _titles(found: Failures[FailureRow], hidden: frozenset[str]) -> dict[str, str]:
    keys = [*KEYS, *(f"{METADATA}{name}" for name in metadata_keys(found.failures))]
    return {key: key_title(key) for key in keys if key not in hidden}


def key_title(key: str) -> str:
    return COLUMNS.get(key, key.removeprefix(METADATA).capitalize())


def value_name(key: str, value: str) -> str:
    """As people read it."""
    if not value:
        return "(none)"
    if key == "mechanism":
        return mechanism_name(value)
    if key == "flip":
        return f"baseline {value}"
    return f"{value}: {SAID[value]}" if key == "relation" and value in SAID else value


def _shown_group(group: FailureGroup[FailureRow], asked: FailureQuery) -> ShownGroup:
    values = dict(zip(asked.by, group.values, strict=True))
    return ShownGroup(tuple(value_name(*each) for each in values.items()), group, asked.within(**values))


def _shown(row: FailureRow, texts: FailureTexts | None, *, blind: bool) -> ShownFailure:
    at = None if blind else row.turned_at
    return ShownFailure(
        row, texts or FailureTexts("", "", ""), event_address(row.trial, at), question_address(row.asked.id)
    )


def _choices(there: Mapping[str, Mapping[str, int]], asked: FailureQuery, titles: Mapping[str, str]) -> list[Choices]:
    """Of keys that have something to choose from, and not too much; of others a group leads to its trials."""
    made = []
    for key, title in titles.items():
        counts, own = there.get(key, {}), asked.where.get(key)
        if len(counts) > 1:
            ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
            values = tuple((value or NOTHING, value_name(key, value), number) for value, number in ordered)
            made.append(Choices(key, title, values, None if own is None else own or NOTHING))
        elif own is not None:
            made.append(Choices(key, title, ((own or NOTHING, value_name(key, own), 0),), own or NOTHING))
    return made


def _without(where: Mapping[str, str], key: str) -> dict[str, str]:
    return {name: value for name, value in where.items() if name != key}


def _page(request: Request) -> int:
    given = request.query_params.get("page", "1")
    if not (given.isascii() and given.isdigit() and 0 < len(given) < 8 and int(given)):
        raise HTTPException(400, "`page` is a number from 1 on.")
    return int(given)


async def keep_view(request: Request) -> Response:
    """Saves the view that a form names, or deletes it; then back to it."""
    form = await read_form(request)
    views = SavedViews.beside(view_of(request).index.path)
    given = form.get("query", "")
    query = urlencode([pair for pair in parse_qsl(given) if pair[0] not in ("page", "token")])
    if form.get("action") == "delete":
        await run_in_threadpool(views.delete, form.get("name", ""))
    else:
        await run_in_threadpool(views.save, form.get("name", ""), query)
    return RedirectResponse(f"/failures?{query}" if query else "/failures", status_code=HTTPStatus.SEE_OTHER)


ROUTES: Sequence[Route] = (
    Route("/failures", failures, name="failures"),
    Route("/failures/views", keep_view, methods=["POST"], name="keep_view"),
)
