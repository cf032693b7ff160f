"""The pages on which people cut regions out of books: a page of a book with its boxes, and each region as a form."""

import secrets
import socket
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from toolablate.experiments.construction.sources.cut_regions import CutBook, CutBooks, PagePart, Region, State
from toolablate.traces.errors import InputError
from toolablate.viewer.forms import Form, read_form
from toolablate.viewer.keeping.serving import HOST, Tell, answer, until_stopped
from toolablate.viewer.rendering import page

_PICTURES_KEPT = 16
_STATES: dict[str, State] = {"accepted": "accepted", "deleted": "deleted"}
"""What people may say of a region."""


@dataclass(frozen=True, slots=True)
class RegionsView:
    """What these pages are made of. One change after the other; pictures of the last pages are kept."""

    cut: CutBooks
    pipeline: Path
    lock: Lock = field(default_factory=Lock)
    pictures: OrderedDict[tuple[str, int], bytes] = field(default_factory=OrderedDict)


def serve_regions(cut: CutBooks, plan: Path, listener: socket.socket, ready: Tell) -> None:
    """Serves until Ctrl-C or a SIGTERM. `ready` is told the address, with a token that lets its browser in."""
    from toolablate.viewer.application import served

    token, port = secrets.token_urlsafe(32), listener.getsockname()[1]
    with until_stopped():
        app = served(ROUTES, token, frame="regions_base.html", of="plan", view=RegionsView(cut, plan))
        answer(app, listener, f"http://{HOST}:{port}/?token={token}", ready)


def _view(request: Request) -> RegionsView:
    view: RegionsView = request.app.state.view
    return view


def _book(request: Request) -> CutBook:
    number: int = request.path_params["book"]
    there = _view(request).cut.books
    if number >= len(there):
        raise HTTPException(HTTPStatus.NOT_FOUND, "No book of the plan has this number.")
    return there[number]


def _index(request: Request, book: CutBook) -> int:
    found: int = request.path_params["page"]
    if not 0 < found <= len(book.pages):
        raise HTTPException(HTTPStatus.NOT_FOUND, f"The file has {len(book.pages)} pages.")
    return found - 1


@dataclass(frozen=True, slots=True)
class BookLine:
    """How far a book is: its regions by state, and by the page on which they begin those that nobody has looked at."""

    number: int
    book: CutBook
    states: Counter[str]
    left: Counter[int]


def books(request: Request) -> Response:
    cut = _view(request).cut
    lines = []
    for number, book in enumerate(cut.books):
        own = [each for each in list(cut.regions.values()) if each.book == book.name]
        left = Counter(each.boxes[0].page for each in own if each.state == "proposed")
        lines.append(BookLine(number, book, Counter(each.state for each in own), left))
    return page(request, "regions.html", lines=lines)


def one_page(request: Request) -> Response:
    book = _book(request)
    return _page(request, book, _index(request, book))


def _page(
    request: Request,
    book: CutBook,
    index: int,
    *,
    told: str = "",
    form: Form | None = None,
    status: int = HTTPStatus.OK,
) -> Response:
    """`form` is what was sent and could not be kept: the page has it again."""
    cut, number = _view(request).cut, request.path_params["book"]
    shown = [at for at in (index, index + 1) if at < len(book.pages)]
    # Those that begin here, and what reaches here from the page before.
    found = cut.of(book, index)
    left = sorted({each.boxes[0].page for each in cut.of(book) if each.state == "proposed"} - {index + 1})
    sent = form or {}
    regions = [_form_of(each, sent) for each in found]
    return page(
        request,
        "regions_page.html",
        status=status,
        book=book,
        number=number,
        index=index,
        shown=[(at, book.pages[at]) for at in shown],
        regions=regions,
        new={key: sent.get(key, "") if not sent.get("region") else "" for key in ("boxes", "masks")},
        following=next((each for each in left if each > index + 1), left[0] if left else None),
        told=told,
    )


def _form_of(region: Region, sent: Form) -> dict[str, Any]:
    again = sent if sent.get("region") == region.id else {}
    return {
        "region": region,
        "boxes": again.get("boxes", _lines(region.boxes)),
        "masks": again.get("masks", _lines(region.masks)),
    }


def _lines(parts: Sequence[PagePart]) -> str:
    """As a form has them: in each line page, left, top, right and bottom."""
    return "\n".join(" ".join(f"{each:g}" for each in (part.page, *part.box)) for part in parts)


def _parts(text: str) -> list[PagePart]:
    """Raises InputError."""
    found = []
    for line in filter(str.strip, text.splitlines()):
        try:
            page_, *box = map(float, line.split())
            found.append(PagePart(page=int(page_), box=tuple(box)))
        except (ValueError, OverflowError, ValidationError):
            raise InputError(
                f"{line[:80]!r} is no box.", hint="Write page, left, top, right and bottom, in points.", code="region"
            ) from None
    return found


def picture(request: Request) -> Response:
    view, book = _view(request), _book(request)
    index = _index(request, book)
    key = book.name, index
    if (found := view.pictures.get(key)) is None:
        found = view.cut.picture(book, index)
        view.pictures[key] = found
        while len(view.pictures) > _PICTURES_KEPT:
            view.pictures.popitem(last=False)
    return Response(found, media_type="image/png")


async def change(request: Request) -> Response:
    form = await read_form(request)
    return await run_in_threadpool(_changed, request, form)


def _changed(request: Request, form: Form) -> Response:
    view, book = _view(request), _book(request)
    index = _index(request, book)
    state = _STATES.get(form.get("state", ""))
    if state is None:
        raise HTTPException(HTTPStatus.BAD_REQUEST, "Nothing was chosen: accept or delete the region.")
    try:
        with view.lock:
            boxes, masks = (_parts(form.get(key, "")) for key in ("boxes", "masks"))
            made = view.cut.cut(book, form.get("region", ""), state, boxes, masks, seen=form.get("seen"))
    except InputError as error:
        told = f"Not kept. {error.message} {error.hint or ''}".strip()
        if error.code == "changed":
            return _page(request, book, index, told=told, status=HTTPStatus.UNPROCESSABLE_ENTITY)
        return _page(request, book, index, told=told, form=form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    return RedirectResponse(
        f"/page/{request.path_params['book']}/{index + 1}?after={quote(made.id)}#r-{quote(made.id)}",
        status_code=HTTPStatus.SEE_OTHER,
    )


ROUTES: tuple[Route, ...] = (
    Route("/", books, name="books"),
    Route("/page/{book:int}/{page:int}", one_page, methods=["GET"], name="page"),
    Route("/page/{book:int}/{page:int}", change, methods=["POST"]),
    Route("/picture/{book:int}/{page:int}", picture, name="picture"),
)
