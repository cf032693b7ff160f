"""How a page is made: the view that it belongs to, its template, its figures."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.findings import Findings
from toolablate.reports.html.environment import environment
from toolablate.reports.plots.figures import Printed, printed
from toolablate.viewer.finding.store_texts import StoreTexts
from toolablate.viewer.index import ArmCounts, ViewerIndex
from toolablate.viewer.label_session import LabelSession
from toolablate.viewer.selection import carried, questions_address

if TYPE_CHECKING:
    from toolablate.viewer.against import OtherStore


@dataclass(frozen=True, slots=True)
class BundleNote:
    """What a static copy says of itself: how many questions and trials it holds, `fitting` of them by its `filters`;
    and how many files of texts its page Find reads, with up to `most_chars` characters of each trial."""

    filters: Sequence[tuple[str, str]]
    questions: int
    trials: int
    fitting: int
    texts: int
    most_chars: int


@dataclass(frozen=True, slots=True)
class View:
    """What the pages of one viewer are made of.

    token    what a browser shows once to be let in
    explain  why a trial went as it did, by its whole id; None where there is nothing to explain
    person   the name under which labels are kept; `blind` hides what the attribution says of a trial until that person
             has said what they hold for its cause
    texts    what is searched, None where nothing is
    other    the store that this one is shown beside, if any
    bundle   of a static copy, whose pages have no form, token and local path, and all events at once
    session  by what that person labels
    """

    store: Path
    index: ViewerIndex
    token: str
    explain: Callable[[str], Explanation | None]
    person: str
    blind: bool = False
    texts: StoreTexts | None = None
    bundle: BundleNote | None = None
    other: "OtherStore | None" = None
    session: LabelSession = field(default_factory=LabelSession)

    @property
    def place(self) -> str:
        """Where the store is, as pages tell it."""
        return str(self.store) if self.bundle is None else self.store.name

    @property
    def hidden_from(self) -> str:
        """The name of the person that labels blind, "" where nothing is hidden."""
        return self.person if self.blind else ""


# Figures of the first page, drawn beside it: no page waits long for one.


PATIENCE = 0.3
"""Seconds that a page waits. What was drawn before is there at once; the first drawing of all loads matplotlib."""


@dataclass(frozen=True, slots=True)
class RenderedFigure:
    name: str
    title: str
    about: str
    svg: Markup
    left_out: bool


@dataclass(frozen=True, slots=True)
class Drawn:
    """`older` says that they are of a version before, and that those of this one are being drawn; of a first version
    there are none until then."""

    figures: tuple[RenderedFigure, ...] = ()
    older: bool = False


class Figures:
    """Those of the last version that was asked for, in a thread of their own. Until they are drawn the ones before
    stay: while a run goes on, the next version comes sooner than a reader is done."""

    def __init__(self, patience: float | None = PATIENCE) -> None:
        self._patience = patience
        self._drawing = ThreadPoolExecutor(1, thread_name_prefix="figures")
        self._lock = threading.Lock()
        self._version: int | None = None
        self._last: Future[tuple[Printed, ...]] | None = None
        self._before: tuple[RenderedFigure, ...] = ()

    def of(self, version: int, found: Findings, arms: Sequence[ArmCounts]) -> Drawn:
        """Raises what drawing raises."""
        with self._lock:
            last, drawn_for = self._last, self._version
            if last is not None and drawn_for != version:
                if not last.done():
                    return Drawn(self._before, older=True)
                if last.exception() is None:
                    self._before = _figures(last.result())
            if last is None or drawn_for != version:
                self._version = version
                self._last = last = self._drawing.submit(printed, found, endings=arms, link=questions_address)
        try:
            return Drawn(_figures(last.result(self._patience)))
        except NotYet:
            return Drawn(self._before, older=True)


def _figures(drawn: Sequence[Printed]) -> tuple[RenderedFigure, ...]:
    # Ours, with every name in it escaped: see toolablate.reports.plots.drawing.
    return tuple(
        RenderedFigure(each.name, each.title, each.about, Markup(each.svg), each.left_out)  # noqa: S704
        for each in drawn
    )


PACKAGE = "toolablate.viewer"
OF_A_QUESTION = ("/question/", "/trial/", "/diff/")


def view_of(request: Request) -> View:
    view: View = request.app.state.view
    return view


def figures_of(request: Request) -> Figures:
    figures: Figures = request.app.state.figures
    return figures


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """The template sees `values`, `view` and `path` of the request, and as `chosen` the query that leads back to the
    trials that were chosen, "" where the page is of more than one question or shows none."""
    found = environment(PACKAGE).get_template(template)
    path = request.scope["path"]
    chosen = carried(request.query_params) if status == HTTPStatus.OK and path.startswith(OF_A_QUESTION) else ""
    state = request.app.state
    text = found.render(view=state.view, frame=state.frame, path=path, chosen=chosen, **values)
    # What no encoding can write is nothing that a browser could show: `|inert` names it before it comes here.
    return HTMLResponse(text.encode(errors="replace"), status_code=status)


def problem(request: Request, status: int, title: str, message: str, hint: str = "") -> HTMLResponse:
    """A page that says what went wrong and what to do."""
    return page(request, "problem.html", status=status, title=title, message=message, hint=hint)
