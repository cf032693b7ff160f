"""The page of one trial."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.html.beliefs import belief_figure, evidence_events, falling, marks_of, told_steps
from toolablate.reports.html.cards import Card, Links
from toolablate.reports.html.events import part_text
from toolablate.reports.html.marking import holds, places_of, target
from toolablate.reports.terminal.explanation import shapley_lines, turned
from toolablate.reports.terminal.trace import resumption_facts
from toolablate.reports.why.happened import Apart
from toolablate.reports.why.page import in_short, why
from toolablate.reports.why.turn import as_told
from toolablate.traces.store import Store
from toolablate.viewer import trial_head
from toolablate.viewer.index import TrialRow
from toolablate.viewer.label_panel import panel_of
from toolablate.viewer.rendering import View, page, view_of
from toolablate.viewer.selection import (
    FIRST_EVENTS,
    LONGEST_TEXT,
    asked,
    carried,
    is_raw,
    question_address,
    switched,
    trial_address,
)
from toolablate.viewer.trial_head import TrialReading, explained, read, row_of, whole_id

MORE_EVENTS = 100
PART_CHARS, MEANT_CHARS = 600_000, 100_000
"""How many events a part of a page holds at most, and about how many characters of texts; fewer of those that are read
as Markdown, at about a megabyte a second."""
MOST_OUTLINED = 2_000
OPEN_STEPS = 14
"""A table of more lines is folded."""


@dataclass(frozen=True, slots=True)
class TrialPart:
    """Some events of a trial, from number `start` on; `rest` is the number of the next one, None after the last."""

    cards: Sequence[Card]
    start: int
    rest: int | None


def trial(request: Request) -> Response:
    view, given = view_of(request), request.path_params["trial"]
    row = row_of(view, given)
    identity = row.trial if row else whole_id(view, given)
    if identity != given:
        return RedirectResponse(trial_address(identity) + (f"?{request.url.query}" if request.url.query else ""))
    attempt = attempt_of(request)
    reading = read(view, identity, attempt)
    told, trouble = _told(request, identity) if row and attempt is None else (None, "")
    chosen = carried(request.query_params)
    among = Among() if row is None else _among(request, row)
    before, following = (trial_address(each) + chosen if each else "" for each in (among.before, among.after))
    with Store(view.store) as store:
        found = told.explained.attribution if told else None
        attribution = as_told(found, told.explained.evidence) if told and found else None
        panel = panel_of(view, store, identity, attribution, following, request.query_params)
    if panel.ways:
        before, following = panel.ways.before, panel.ways.following
    hidden = panel.blind
    marks = {} if hidden or told is None else marks_of(told)
    leads_to = partial(target, reading.cards, places_of(reading.cards, marks))
    facets = view.index.facets()
    question = view.index.question(row.question) if row else None
    beside = trial_head.diff_of(row, question, facets.baseline) if row and question else ""
    return page(
        request,
        "trial.html",
        reading=reading,
        panel=panel if row and attempt is None and view.bundle is None else None,
        part=TrialPart(reading.cards, 0, None)
        if view.bundle
        else _part(reading, _number(request, "from") or 0, FIRST_EVENTS, raw=is_raw(request.query_params)),
        outlined=reading.cards[:MOST_OUTLINED],
        links=_links(request, identity, attempt),
        raw=is_raw(request.query_params),
        rendered_at=switched(trial_address(identity), request.query_params, raw=False),
        raw_at=switched(trial_address(identity), request.query_params, raw=True),
        marks=marks,
        why=None if hidden or told is None else _why(told),
        sentence="" if hidden or told is None else in_short(told),
        leads_to=leads_to,
        evidence_at=lambda number: f"#{leads_to(number)}",
        trouble=trouble,
        head=trial_head,
        simulated=reading.model.provider == "simulated",
        question_at=question_address(reading.trace.trial.question) + chosen,
        others=tuple(trial_head.others(row, question, among.fitting, chosen, blind=view.blind or hidden))
        if row and question
        else (),
        diff=beside + chosen if beside else "",
        alike=f"/failures?like={identity}" if row and row.value is not None and row.value < RIGHT else "",
        replays=() if hidden else tuple(trial_head.replayed(reading)),
        resumed=tuple(resumption_facts(reading.resumed)) if reading.resumed else (),
        place=panel.ways.place if panel.ways else among.place,
        before=before,
        after=following,
        attempt=attempt,
        trial_at=trial_address(identity),
        attempted="" if attempt is None else f"?attempt={attempt}",
    )


def more_events(request: Request) -> Response:
    """The events from one on, as a part that a page takes in; up to `until`, where that is asked for. With `text` one
    event alone, with as much of its long texts as shows where that stands."""
    view = view_of(request)
    attempt, start = attempt_of(request), _number(request, "from") or 0
    identity = request.path_params["trial"]
    reading = read(view, identity, attempt)
    until = _number(request, "until") or 0
    told = None if attempt is not None else told_of(request, identity)
    text = _text(request)
    alone = TrialPart(reading.cards[start : start + 1], start, None)
    return page(
        request,
        "trial_events.html",
        reading=reading,
        part=alone
        if text
        else _part(reading, start, max(MORE_EVENTS, until + 1 - start), raw=is_raw(request.query_params)),
        found=text,
        # Where a text stands is looked for in what was written.
        links=_links(request, identity, attempt, raw=bool(text)),
        marks={} if told is None else marks_of(told),
        attempt=attempt,
    )


def find(request: Request) -> Response:
    """The numbers of the events in which a text stands, whatever its case."""
    reading = read(view_of(request), request.path_params["trial"], attempt_of(request))
    text = _text(request).casefold()
    return JSONResponse([card.number for card in reading.cards if text and holds(card, text)])


def whole_text(request: Request) -> Response:
    """All of one text of an event, as plain text and nothing else."""
    reading = read(view_of(request), request.path_params["trial"], attempt_of(request))
    number, part = request.path_params["event"], request.query_params.get("part", "")
    text = part_text(reading.conversation[number], part) if number < len(reading.conversation) else None
    if text is None:
        raise HTTPException(404, f"Event {number} of this trial has no text of that name.")
    name = f"{reading.trace.trial.id[:10]}-event-{number}.txt"
    return Response(
        text.encode(errors="backslashreplace"),
        headers={"Content-Disposition": f'inline; filename="{name}"', "X-Content-Type-Options": "nosniff"},
        media_type="text/plain",
    )


def told_of(request: Request, identity: str) -> Explanation | None:
    """Why a trial went as it did, by its whole id; None where nothing is known of it, or hidden from the person. Who is
    told has seen it: a label of theirs is not blind."""
    if _hides(view_of(request), identity):
        return None
    view_of(request).session.seen.add(identity)
    return _told(request, identity)[0]


def attempt_of(request: Request) -> int | None:
    return _number(request, "attempt")


def _hides(view: View, identity: str) -> bool:
    """Whether what the attribution says is hidden from the person, who has said nothing yet."""
    with Store(view.store) as store:
        return panel_of(view, store, identity, None).blind


def _told(request: Request, identity: str) -> tuple[Explanation | None, str]:
    """An explanation, or why there is none."""
    view = view_of(request)
    found = explained(view, identity, view.index.version()) if row_of(view, identity) else None
    return (None, found) if isinstance(found, str) else (found, "")


def _why(told: Explanation) -> Mapping[str, Any]:
    """What `explain` says, for a page."""
    steps = tuple(told_steps(told))
    return {
        "figure": belief_figure(told),
        "steps": steps,
        "steps_open": len(steps) <= OPEN_STEPS,
        "turned": turned(told),
        "shapley": tuple(shapley_lines(told.explained.evidence)),
        "parts": tuple(
            (part.title, tuple(map(_line, part.lines)), part.heads, part.rungs, tuple(map(_line, part.notes)))
            for part in why(told)
        ),
        "evidence": evidence_events(told),
        "fall": falling(told)[:1],
    }


def _line(said: str | Apart) -> tuple[str, bool]:
    """A line, and whether it stands apart: a command, or what is quoted."""
    return (said.text, True) if isinstance(said, Apart) else (said, False)


def _part(reading: TrialReading, start: int, most: int, *, raw: bool) -> TrialPart:
    """As many events as a part may hold, at least one of those that there are."""
    cards, chars, meant = reading.cards[start : start + most], 0, 0
    for place, card in enumerate(cards):
        chars += card.chars
        meant += 0 if raw else card.meant_chars
        if place and (chars > PART_CHARS or meant > MEANT_CHARS):
            cards = cards[:place]
            break
    rest = start + len(cards)
    return TrialPart(cards, start, rest if cards and rest < len(reading.cards) else None)


def _links(request: Request, identity: str, attempt: int | None, *, raw: bool = False) -> Links:
    query = request.query_params
    raw = raw or is_raw(query)

    def switch(number: int) -> str:
        """What is on the page, from this event on where it may not be among the first."""
        beyond = number if number >= FIRST_EVENTS else 0
        address = switched(trial_address(identity), query, raw=not raw, without=("from", "until", "text"))
        joined = f"{'&' if '?' in address else '?'}from={beyond}" if beyond else ""
        return f"{address}{joined}#event-{number}"

    def figure(name: str) -> str:
        return f"{trial_address(identity)}/figure/{name}"

    return Links(lambda number: f"#event-{number}", partial(_whole_address, identity, attempt), raw, switch, figure)


def _whole_address(identity: str, attempt: int | None, number: int, part: str) -> str:
    query = {"part": part} | ({} if attempt is None else {"attempt": str(attempt)})
    return f"{trial_address(identity)}/event/{number}/raw?{urlencode(query)}"


@dataclass(frozen=True, slots=True)
class Among:
    """Where a trial is among those that were chosen, the whole ids of those before and after it; None where it is none
    of them, or at their ends. `fitting` are the ids of its question's trials that were chosen."""

    place: tuple[int, int] | None = None
    before: str | None = None
    after: str | None = None
    fitting: frozenset[str] = frozenset()


def _among(request: Request, row: TrialRow) -> Among:
    view, identity = view_of(request), row.trial
    query = asked(request.query_params, view.index.facets(), blind=view.hidden_from)
    before, after = view.index.neighbours(identity, query.selection, sort=query.sort, descending=query.descending)
    place = view.index.place(identity, query.selection, sort=query.sort, descending=query.descending)
    return Among(place, before, after, view.index.fitting([row.question], query.selection))


def _text(request: Request) -> str:
    return request.query_params.get("text", "")[:LONGEST_TEXT]


def _number(request: Request, name: str) -> int | None:
    given = request.query_params.get(name, "")
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 10):
        raise HTTPException(400, f"`{name}` is a whole number.")
    return int(given)


ROUTES = (
    Route("/trial/{trial}", trial, name="trial"),
    Route("/trial/{trial}/events", more_events, name="events"),
    Route("/trial/{trial}/find", find, name="find"),
    Route("/trial/{trial}/event/{event:int}/raw", whole_text, name="whole_text"),
)
