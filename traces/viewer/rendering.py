"""Pages from templates."""

from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from toolablate.traces.html.environment import environment
from toolablate.traces.viewer.view import View

PACKAGE = "toolablate.traces.viewer"


def view_of(request: Request) -> View:
    view: View = request.app.state.view
    return view


def page(request: Request, template: str, *, status: int = 200, **values: Any) -> HTMLResponse:
    """The template sees `values`, and `view` and `path` of the request."""
    found = environment(PACKAGE).get_template(template)
    text = found.render(view=view_of(request), path=request.url.path, **values)
    return HTMLResponse(text, status_code=status)
