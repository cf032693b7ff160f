"""What a page's address asks for: which questions, in which order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args
from urllib.parse import urlencode

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException

from toolablate.analysis.selection import Ending, Selection, Turn
from toolablate.reports.html.addresses import PARAMETERS, TEXTS, questions_address
from toolablate.reports.plots.text import plain
from toolablate.traces.records import Mechanism
from toolablate.viewer.index import Facets, Sort

LONGEST_TEXT = 1_000
"""Characters to look for. Whoever pastes more has pasted something else."""
LAST_PAGE = 10**9
HIDDEN = (PARAMETERS["mechanisms"], PARAMETERS["labels"])
"""From who labels blind."""
SHOWN = 12
"""How many of the values that there are a refusal names."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Pages count from 1. In an address a hyphen before `sort` says that it descends."""

    selection: Selection = field(default_factory=Selection)
    sort: Sort = "order"
    descending: bool = False
    page: int = 1

    def address(self, **changes: Any) -> str:
        """Of the table of questions, with some fields changed: another order or selection begins at its first page."""
        asked = replace(self, **({"page": 1} | changes))
        more: dict[str, str | int] = {}
        if (asked.sort, asked.descending) != ("order", False):
            more["sort"] = f"{'-' if asked.descending else ''}{asked.sort}"
        if asked.page > 1:
            more["page"] = asked.page
        return questions_address(asked.selection, **more)


def asked(query: QueryParams, facets: Facets, *, blind: str = "") -> Asked:
    """`blind` is the name of a person from whom it is hidden what trials are put down to, "" for nobody. Raises
    HTTPException (400) where the query names a value that is not among the facets, or no such page; of who is blind
    also where trials are chosen by what they are put down to, or by whether others labelled them."""
    if blind and (any(name in query for name in HIDDEN) or query.get("unlabelled", blind) not in ("", blind)):
        raise HTTPException(400, "What trials are put down to is hidden here, so none are chosen by it.")
    given: dict[str, Any] = {known: tuple(dict.fromkeys(query.getlist(name))) for known, name in PARAMETERS.items()}
    for known, values in given.items():
        _known(PARAMETERS[known], values, values_of(facets, known))
    given |= {name: _text(query, name) for name in TEXTS}
    return Asked(Selection(**given), *_sort(query), _page(query))


def values_of(facets: Facets, known: str) -> Collection[str]:
    """That a field of a Selection can have. Endings, turns and mechanisms are known whether or not a trial has them."""
    if known in ("mechanisms", "labels"):
        return tuple(get_args(Mechanism))
    if known == "endings":
        return tuple(get_args(Ending))
    if known == "flips":
        return tuple(get_args(Turn))
    found: Collection[str] = getattr(facets, known)
    return found


def carried(query: QueryParams) -> str:
    """What of a page's query asks for trials and their order, as a query: pages of one trial hand it on, so that the
    table and the next trial are those that were chosen."""
    names = {*PARAMETERS.values(), *TEXTS, "sort"}
    kept = urlencode([pair for pair in query.multi_items() if pair[0] in names])
    return f"?{kept}" if kept else ""


def narrowed(selection: Selection) -> Sequence[tuple[str, str, Selection]]:
    """Each value that narrows it: the parameter, the value, and the selection without it."""
    found = []
    for each in fields(selection):
        if each.name in TEXTS:
            continue
        values: tuple[str, ...] = getattr(selection, each.name)
        for value in values:
            rest: dict[str, Any] = {each.name: tuple(other for other in values if other != value)}
            found.append((PARAMETERS[each.name], value, replace(selection, **rest)))
    for name in TEXTS:
        if text := getattr(selection, name):
            nothing: dict[str, Any] = {name: ""}
            found.append((name, text, replace(selection, **nothing)))
    return found


def _known(name: str, values: Sequence[str], allowed: Collection[str]) -> None:
    for value in values:
        if value not in allowed:
            named = ", ".join(plain(each, 60) or "(empty)" for each in list(allowed)[:SHOWN])
            more = f" and {len(allowed) - SHOWN:,} more" if len(allowed) > SHOWN else ""
            there = f"There are: {named}{more}." if allowed else "No trial has any."
            raise HTTPException(400, f"No {name} here is called “{plain(value, 60)}”. {there}")


def _text(query: QueryParams, name: str) -> str:
    text = query.get(name, "").strip()
    if len(text) > LONGEST_TEXT:
        raise HTTPException(400, f"The text to look for has {len(text):,} characters; at most {LONGEST_TEXT:,} are.")
    return text


def _sort(query: QueryParams) -> tuple[Sort, bool]:
    given = query.get("sort", "order")
    name = given.removeprefix("-")
    for sort in get_args(Sort):
        if sort == name:
            return sort, given != name
    raise HTTPException(400, f"Nothing sorts by “{plain(given, 60)}”, only: {', '.join(get_args(Sort))}.")


def _page(query: QueryParams) -> int:
    given = query.get("page", "1")
    if not (given.isascii() and given.isdigit() and given.strip("0")):
        raise HTTPException(400, f"“{plain(given, 60)}” is no page: pages count from 1.")
    return LAST_PAGE if len(given.lstrip("0")) > 9 else int(given)
