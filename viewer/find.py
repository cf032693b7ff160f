"""The page that searches the texts of all trials."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from toolablate.analysis.found import Found, Hit, Snippet
from toolablate.reports import found_wording, numbers
from toolablate.traces.errors import InputError
from toolablate.viewer.finding.query import FIELDS, LONGEST, parse
from toolablate.viewer.rendering import View, page, view_of
from toolablate.viewer.selection import event_address, trial_address

AT_ONCE = 20
MOST_PAGES = 1_000
_WORDS = re.compile(r'-?(?:"[^"]*"\*?|/(?:\\.|[^/\\])+/|\S+)')


@dataclass(frozen=True, slots=True)
class ShownHit:
    """`address` leads to the trial, each of `quotes` to its event."""

    hit: Hit
    address: str
    quotes: Sequence[tuple[Snippet, str]]


def search(request: Request) -> Response:
    """All of it is in the address: `q`, and `page` from 1. A query that cannot be read is told on the page (400)."""
    view, query, number = view_of(request), request.query_params.get("q", "").strip(), _page(request)
    if view.bundle is not None:
        return page(request, "bundle_find.html")
    found, refused = None, None
    if query:
        try:
            found = _found(view, query, number)
        except InputError as error:
            refused = error
    building = bool(query) and found is None and refused is None
    return page(
        request,
        "find.html",
        status=HTTPStatus.BAD_REQUEST if refused else HTTPStatus.OK,
        query=query,
        longest=LONGEST,
        fields={name: told for name, told in FIELDS.items() if not (name == "mechanism" and view.blind)},
        found=found,
        hits=tuple(map(_shown, found.hits)) if found else (),
        compared=found is not None and any(row.p is not None for row in found.by_condition),
        refused=refused,
        building=building,
        number=number,
        pages=max(1, -(-found.all.hits // AT_ONCE)) if found else 1,
        address=lambda to: _address(query, to),
        asked=_asked_address(query) if found and found.asked_total else "",
        say=found_wording,
        p_value=numbers.p_value,
    )


def _found(view: View, query: str, number: int) -> Found | None:
    """None while the index is not there yet. Raises InputError."""
    if view.texts is None:
        return None
    asked = parse(query)
    mechanisms = None
    if asked.has("mechanism"):
        if view.blind:
            raise InputError(
                "Attributions are hidden here, so trials cannot be found by them",
                hint="leave out mechanism:",
                code="blind",
            )
        mechanisms = view.index.mechanisms()
    return view.texts.find(asked, mechanisms=mechanisms, limit=AT_ONCE, offset=(number - 1) * AT_ONCE)


def _shown(hit: Hit) -> ShownHit:
    quotes = tuple((each, event_address(hit.trial, each.event)) for each in hit.snippets)
    return ShownHit(hit, trial_address(hit.trial), quotes)


def _address(query: str, number: int) -> str:
    return f"/find?{urlencode({'q': query} | ({'page': number} if number > 1 else {}))}"


def _asked_address(query: str) -> str:
    """Of the same words in the questions: such a query has no fields, so that each word can be given one. "" where it
    would be longer than can be asked."""
    words = [
        word if word in ("OR", "AND") else f"-question:{word[1:]}" if word.startswith("-") else f"question:{word}"
        for word in _words(query)
    ]
    asked = " ".join(words)
    return _address(asked, 1) if len(asked) <= LONGEST else ""


def _words(query: str) -> list[str]:
    """As they are typed, quotations and patterns whole."""
    return _WORDS.findall(query)


def _page(request: Request) -> int:
    given = request.query_params.get("page", "1")
    if not (given.isascii() and given.isdigit() and 0 < len(given) < 6 and 0 < int(given) <= MOST_PAGES):
        raise HTTPException(400, f"`page` is a number from 1 to {MOST_PAGES:,}.")
    return int(given)


ROUTES = (Route("/find", search, name="search"),)
