"""The pages of a review: who reviews, how far it is, one item."""

import json
import math
import re
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, get_args
from urllib.parse import quote, unquote

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.analysis.alignment import pieces
from toolablate.benchmarks.rows.row_errors import LineError
from toolablate.experiments.construction.review import (
    NO_SIDES,
    OF_A_SIDE,
    STATISTICS,
    ChangedError,
    FaultyError,
    SidesError,
    sides_digest,
)
from toolablate.experiments.construction.review_desk import Desk, Task, ToReview
from toolablate.experiments.construction.reviewers import (
    Institution,
    Reviewer,
    ReviewerFigures,
    Reviewers,
    reviewer_figures,
)
from toolablate.experiments.construction.sources.captures import pictures_of
from toolablate.experiments.construction.stages import Content
from toolablate.experiments.construction.workbench import Decision, person_key
from toolablate.traces.errors import InputError, StoreError
from toolablate.traces.records import digest_text
from toolablate.viewer.forms import Form, read_form
from toolablate.viewer.rendering import page
from toolablate.viewer.reviewing.fields import at_no_field, changed, entered, fields_of

LONGEST_ITEM, MOST_TEXTS = 10_000_000, 2_000
"""In bytes and fields of a form. An item that is larger cannot be decided here."""
SHOWN_CHARS = 100_000
"""Of one text of a source."""
LONGEST_SECONDS = 600.0
"""Of an item where no script measures: whoever was away for longer did not look at it."""

_VERDICTS = {"accept": "accepted", "mend": "mended", "reject": "rejected"}


@dataclass(frozen=True, slots=True)
class ReviewView:
    """What these pages are made of."""

    desk: Desk
    reviewers: Reviewers
    pipeline: Path


def _view(request: Request) -> ReviewView:
    view: ReviewView = request.app.state.view
    return view


# Who reviews: a cookie of the browser has the alias.


def _cookie(request: Request) -> str:
    """Another workbench that is served at this port later has other people by the same aliases."""
    workbench = digest_text(str(_view(request).reviewers.path))
    return f"toolablate-reviewer-{request.url.port or 80}-{workbench}"


def _person(request: Request) -> str:
    """ "" for nobody that this workbench knows."""
    alias = unquote(request.cookies.get(_cookie(request), "")).strip()
    found = _view(request).reviewers.known().get(person_key(alias))
    return found.alias if found else ""


def reviewer(request: Request, told: str = "", form: Form | None = None) -> Response:
    """The page on which one says who one is."""
    return page(
        request,
        "review_person.html",
        status=HTTPStatus.BAD_REQUEST if told else HTTPStatus.OK,
        person=_person(request),
        known=list(_view(request).reviewers.known().values()),
        told=told,
        damaged=_view(request).reviewers.damaged(),
        institutions=[each for each in get_args(Institution) if each],
        form=form or {},
    )


async def choose(request: Request) -> Response:
    form = await read_form(request)
    return await run_in_threadpool(_chosen, request, form)


def _chosen(request: Request, form: Form) -> Response:
    view = _view(request)
    try:
        alias = _known(view, form["known"]) if "known" in form else _entered(view, form).alias
    except (InputError, StoreError) as error:
        return reviewer(request, f"{error.message} {error.hint or ''}".strip(), form)
    answer = RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
    answer.set_cookie(_cookie(request), quote(alias, safe=""), httponly=True, samesite="lax")
    return answer


def _known(view: ReviewView, alias: str) -> str:
    found = view.reviewers.known().get(person_key(alias))
    if found is None:
        raise InputError("Nobody has this alias.", code="reviewer")
    return found.alias


def _entered(view: ReviewView, form: Form) -> Reviewer:
    now = view.desk.look(fresh=False)
    decided = {each.reviewer for said in now.words.values() for each in said}
    # Who proposed a forum does not decide on it, nor by another alias.
    decided |= {content[by] for content in now.contents.values()} if (by := now.reviewed.by) else set()
    return view.reviewers.enter(
        *(form.get(key, "") for key in ("alias", "name", "field", "degree", "institution")), decided=decided
    )


# How far it is.


def overview(request: Request) -> Response:
    view, person = _view(request), _person(request)
    if not person:
        return reviewer(request)
    now = view.desk.look(fresh=False)
    tasks: tuple[Task, ...] = ("review", "adjudication")
    left = {task: now.tasks(person, task) for task in tasks}
    own = list(now.decided(person))
    return page(
        request,
        "review.html",
        person=person,
        now=now,
        left=left,
        # A figure that changes with each word would say what the other person said of the item: also to somebody for
        # whom none waits, and who may go back to what they said.
        blind=bool(now.waiting),
        own=own[::-1][:100],
        done=len(own),
        waiting=Counter(now.waiting.values()),
        agreement=now.agreement,
        statistics=STATISTICS,
        lines=_lines(now, view.reviewers.known(), person),
        last=_last(now, request, person),
        undone=_undone(request),
        verdicts=_VERDICTS,
        title_of=lambda item: _title(now, item),
    )


@dataclass(frozen=True, slots=True)
class PersonLine:
    figures: ReviewerFigures
    verdicts: Counter[str] | None


def _lines(now: ToReview, known: Mapping[str, Reviewer], person: str) -> list[PersonLine]:
    """What each person has done, by alias. Verdicts of others only where no item waits: from counts that tick one reads
    what a person said before deciding oneself."""
    verdicts: dict[str, Counter[str]] = {}
    for decisions in now.words.values():
        for decision in decisions:
            verdicts.setdefault(person_key(decision.reviewer), Counter())[decision.verdict] += 1
    hidden = verdicts.keys() - {person_key(person)} if now.waiting else set()
    found = []
    for each in reviewer_figures(now.words, known):
        alias = person_key(each.alias)
        found.append(PersonLine(each, None if alias in hidden else verdicts[alias]))
    return found


def _title(now: ToReview, item: str) -> str:
    content = now.contents[item]
    asked = now.reviewed.mendable(content)
    title = asked.get("question") or asked.get("text") or content.get("name") or item
    return " ".join(str(title).split())[:120]


def _last(now: ToReview, request: Request, person: str) -> Decision | None:
    """What was kept just now."""
    return now.own(request.query_params.get("after", ""), person)


def _undone(request: Request) -> bool:
    """Whether a third's decision no longer applies by what was kept just now."""
    return "undone" in request.query_params


# One item.


@dataclass(frozen=True, slots=True)
class Side:
    """One of those who differ: what they said, and each field that they mended beside what it was."""

    letter: str
    decision: Decision
    mended: list[tuple[str, Any]]


def item(request: Request) -> Response:
    now = _view(request).desk.look(fresh=False)
    person = _person(request)
    if not person:
        return RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
    found = _one(now, request.path_params["item"])
    _view(request).desk.opened(found, person)
    return _item(request, now, found, person)


def _one(now: ToReview, item: str) -> str:
    if item not in now.contents:
        raise HTTPException(HTTPStatus.NOT_FOUND, "No item to be reviewed has this id. It may have changed meanwhile.")
    return item


def _item(
    request: Request,
    now: ToReview,
    item: str,
    person: str,
    *,
    form: Form | None = None,
    faults: tuple[str, ...] = (),
    told: str = "",
    status: int = HTTPStatus.OK,
) -> Response:
    """`form` is what was sent and could not be kept: the page has it again."""
    content, reviewed = now.contents[item], now.reviewed
    asked, own, sides = reviewed.mendable(content), now.own(item, person), _sides(now, item, person)
    given = dict(own.content) if own and own.verdict == "mend" else {}
    if form is not None:
        given = changed(reviewed, asked, form)
    # Who came to decide between others goes on with that where these have come to agree.
    deciding = bool(sides) or (form is not None and form.get("task") == "adjudication")
    task: Task = "adjudication" if deciding else "review"
    tasks = now.tasks(person, task)
    waits_for_review, knows = now.waiting.get(item) == "review", now.knows(item, person)
    return page(
        request,
        "review_item.html",
        status=status,
        person=person,
        item=item,
        seen=now.seen[item],
        sides_seen=_sides_seen(sides),
        task=task,
        own=own,
        open=own is not None or bool(sides) or (waits_for_review and not knows),
        knows=waits_for_review and knows,
        sides=sides,
        source=_source(content, reviewed.source),
        tiles=content.get("tiles", ()) if "tiles" in reviewed.source else (),
        parted=pieces(content["text"], asked["text"]) if reviewed.part == "false" else (),
        fields=fields_of(reviewed, {**asked, **given}, faults),
        changes=bool(given),
        faults=at_no_field(reviewed, asked, faults),
        told=told,
        reasons=reviewed.reasons,
        reason=form.get("reason", "") if form is not None else own.reason if own else "",
        rejecting=form is not None and form.get("action") == "reject",
        seconds=form.get("seconds", "") if form is not None else "",
        began=form.get("began", "") if form is not None else f"{time.time():.6f}",
        done=len(list(now.decided(person))),
        left=len(tasks),
        about=reviewed.told,
        following=f"/next?task={task}&here={item}" if any(each != item for each in tasks) else "",
        last=_last(now, request, person),
        undone=_undone(request),
        before=_before(now, request, item, person),
        history=[
            (each, datetime.fromtimestamp(at, UTC)) for each, at in _view(request).desk.history(now, item, person)
        ],
        verdicts=_VERDICTS,
        title=_title(now, item),
    )


_SOURCES = {"url": "URL", "text": "Correct statement", "maybe_names": "Maybe names", "terms": "Licence"}
_SEVERAL = {"replies": "Reply", "samples": "Sample thread"}


def _source(content: Content, keys: tuple[str, ...]) -> list[tuple[str, str, int]]:
    """Names, texts and how many characters are not shown."""
    found = []
    for key in keys:
        several = key in _SEVERAL
        texts: list[Any] = content.get(key, []) if several else [content.get(key)]
        for number, each in enumerate(texts, start=1):
            if each and key != "tiles":
                text = each if isinstance(each, str) else json.dumps(each, ensure_ascii=False)
                name = f"{_SEVERAL[key]} {number}" if several else _SOURCES.get(key, key.capitalize())
                found.append((name, text[:SHOWN_CHARS], max(0, len(text) - SHOWN_CHARS)))
    return found


def tile(request: Request) -> Response:
    """A picture of a captured page, as it was kept: of an item that came to review."""
    now, name = _view(request).desk.look(fresh=False), request.path_params["name"]
    if not any(name in content.get("tiles", ()) for content in now.contents.values()):
        raise HTTPException(HTTPStatus.NOT_FOUND, "No item to be reviewed has this picture.")
    (picture,) = pictures_of(Path(now.pipeline.items).parent, [name])
    return Response(picture.content, media_type=picture.mime)


def _sides(now: ToReview, item: str, person: str) -> list[Side]:
    asked = now.reviewed.mendable(now.contents[item])
    return [
        Side(letter, each, [(key, pieces(_flat(asked[key]), _flat(said))) for key, said in each.content.items()])
        for letter, each in zip("abcde", now.sides(item, person), strict=False)
    ]


def _sides_seen(sides: list[Side]) -> str:
    return sides_digest([side.decision for side in sides])


def _flat(value: Any) -> str:
    return "\n".join(value) if isinstance(value, list) else str(value)


def following(request: Request) -> Response:
    """Leads to the next item that waits for this person. Which one that is, is found out when it is asked for: of
    people who begin at once each has another."""
    view, person = _view(request), _person(request)
    if not person:
        return RedirectResponse("/", status_code=HTTPStatus.SEE_OTHER)
    task: Task = "adjudication" if request.query_params.get("task") == "adjudication" else "review"
    found = view.desk.give(view.desk.look(fresh=False), person, task, request.query_params.get("here", ""))
    return RedirectResponse(f"/item/{found}" if found else "/", status_code=HTTPStatus.SEE_OTHER)


def _before(now: ToReview, request: Request, item: str, person: str) -> str:
    """The item before this one, of those that the person has decided."""
    if (last := _last(now, request, person)) is not None:
        return f"/item/{last.item}"
    before = ""
    for each in now.decided(person):
        if each.item == item:
            break
        before = f"/item/{each.item}"
    return before


_SIDES_NEW = "Meanwhile others have decided, and differ: what you chose is below. Decide between them."
_SIDES_CHANGED = "Meanwhile those who differ have decided otherwise: nothing was kept. Look at what they say now."
_SIDES_GONE = "Meanwhile those who differed have come to agree: nothing was kept."


async def decide(request: Request) -> Response:
    form = await read_form(request, LONGEST_ITEM, MOST_TEXTS)
    return await run_in_threadpool(_decided, request, form)


def _decided(request: Request, form: Form) -> Response:
    view, person, item = _view(request), _person(request), request.path_params["item"]
    if not person:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "Nobody is named. Go back, and say who you are in another tab.")
    now = view.desk.look()
    if item not in now.contents:
        return page(request, "review_gone.html", status=HTTPStatus.CONFLICT, person=person, entered=entered(form))
    if form.get("seen") != now.seen[item]:
        return _changed(request, now, item, person, form)
    sides = _sides(now, item, person)
    if form.get("sides", "") != _sides_seen(sides):
        told = _SIDES_GONE if not sides else _SIDES_NEW if form.get("sides") == NO_SIDES else _SIDES_CHANGED
        return _item(request, now, item, person, form=form, told=told, status=HTTPStatus.CONFLICT)
    row = {"item": item, "seen": form["seen"], "reviewer": person, "seconds": _seconds(form)}
    applied = len(now.said.get(item, ()))
    try:
        now = view.desk.decide({**row, **_said(now, item, sides, form), "sides": _sides_seen(sides)})
    except SidesError:
        # What was decided meanwhile is seen now.
        return _decided(request, form)
    except ChangedError:
        return _changed(request, view.desk.look(), item, person, form)
    except FaultyError as error:
        if form.get("action") == "reject":
            told = "A rejection needs a reason."
            return _item(request, now, item, person, form=form, told=told, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return _item(request, now, item, person, form=form, faults=error.faults, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    except LineError as error:
        return _item(request, now, item, person, form=form, told=str(error), status=HTTPStatus.UNPROCESSABLE_ENTITY)
    task: Task = "adjudication" if form.get("task") == "adjudication" else "review"
    found = view.desk.give(now, person, task, item)
    address = f"/item/{found}" if found else "/"
    undone = "&undone=1" if len(now.said[item]) < applied else ""
    return RedirectResponse(f"{address}?after={item}{undone}", status_code=HTTPStatus.SEE_OTHER)


def _changed(request: Request, now: ToReview, item: str, person: str, form: Form) -> Response:
    """The item as it is now, beside all that was written on what it was."""
    if item not in now.contents:
        return page(request, "review_gone.html", status=HTTPStatus.CONFLICT, person=person, entered=entered(form))
    return page(
        request,
        "review_changed.html",
        status=HTTPStatus.CONFLICT,
        person=person,
        item=item,
        title=_title(now, item),
        entered=entered(form),
    )


def _said(now: ToReview, item: str, sides: list[Side], form: Form) -> dict[str, Any]:
    """The verdict: what is accepted with a changed field is mended."""
    action = form.get("action", "")
    for side in sides:
        if action == f"side-{side.letter}":
            return side.decision.model_dump(include=OF_A_SIDE)
    if action == "reject":
        reasons = (form.get("for", ""), form.get("reason", "").strip())
        return {"verdict": "reject", "reason": ": ".join(filter(None, reasons))}
    if action != "accept":
        raise HTTPException(HTTPStatus.BAD_REQUEST, "Nothing was chosen: accept or reject the item.")
    content = changed(now.reviewed, now.reviewed.mendable(now.contents[item]), form)
    return {"verdict": "mend", "content": content} if content else {"verdict": "accept"}


_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,6})?", re.ASCII)


def _seconds(form: Form) -> float | None:
    """As a script measured; where none did, since the page was sent."""
    if _NUMBER.fullmatch(form.get("seconds", "")):
        return float(form["seconds"])
    if not _NUMBER.fullmatch(form.get("began", "")):
        return None
    passed = time.time() - float(form["began"])
    return round(passed, 1) if 0 <= passed <= LONGEST_SECONDS and math.isfinite(passed) else None


ROUTES: tuple[Route, ...] = (
    Route("/", overview, name="overview"),
    Route("/reviewer", reviewer, methods=["GET"], name="reviewer"),
    Route("/reviewer", choose, methods=["POST"]),
    Route("/next", following, name="next"),
    Route("/tile/{name}", tile, name="tile"),
    Route("/item/{item}", item, methods=["GET"], name="item"),
    Route("/item/{item}", decide, methods=["POST"]),
)
