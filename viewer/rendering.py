"""Pages from templates."""

from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from toolablate.reports.html.environment import environment
from toolablate.viewer.drawing import Figures
from toolablate.viewer.selecting import carried
from toolablate.viewer.view import View

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
    text = found.render(view=view_of(request), path=path, chosen=chosen, **values)
    # What no encoding can write is nothing that a browser could show: `|inert` names it before it comes here.
    return HTMLResponse(text.encode(errors="replace"), status_code=status)


def problem(request: Request, status: int, title: str, message: str, hint: str = "") -> HTMLResponse:
    """A page that says what went wrong and what to do."""
    return page(request, "problem.html", status=status, title=title, message=message, hint=hint)
