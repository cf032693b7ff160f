from http import HTTPStatus

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from toolablate.traces.errors import InputError, ToolablateError
from toolablate.viewer.access import Access
from toolablate.viewer.drawing import Figures
from toolablate.viewer.pages import diff, labels, live, overview, questions, trial
from toolablate.viewer.rendering import problem
from toolablate.viewer.view import View

_PAGES = (overview, questions, trial, diff, labels, live)


def application(view: View) -> ASGIApp:
    """Serves the pages of one view, to whom knows its token.

    A page that raises InputError is about something that is not there (404), a form about what cannot be kept (400).
    One that raises starlette's HTTPException says its own status, and `detail` becomes the message.
    """
    files = StaticFiles(packages=[("toolablate.reports.html", "static"), ("toolablate.viewer", "static")])
    app = Starlette(
        routes=[
            *(route for each in _PAGES for route in each.ROUTES),
            Route("/favicon.ico", _icon),
            Mount("/static", files, name="static"),
        ],
        exception_handlers={
            HTTPException: _refused,
            InputError: _not_found,
            ToolablateError: _failed,
            Exception: _broken,
        },
    )
    app.state.view = view
    app.state.figures = Figures()
    # Around all of it: what starlette answers to an exception of a page does not pass its own middleware.
    return Access(app, token=view.token)


async def _icon(_: Request) -> Response:
    """Browsers ask for it beside texts, which name none."""
    return RedirectResponse("/static/icon.svg")


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    said = HTTPStatus(error.status_code).phrase
    if error.status_code == HTTPStatus.NOT_FOUND and error.detail == said:
        return problem(request, error.status_code, "There is no such page", "Nothing is at this address.")
    message = "" if error.detail == said else error.detail
    response = problem(request, error.status_code, said, message)
    response.headers.update(error.headers or {})
    return response


def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, InputError)
    if request.method in ("GET", "HEAD"):
        return problem(request, HTTPStatus.NOT_FOUND, "This is not in the store", error.message, error.hint)
    return problem(request, HTTPStatus.BAD_REQUEST, "This cannot be kept", error.message, error.hint)


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ToolablateError)
    said = "The store cannot be read" if request.method in ("GET", "HEAD") else "This cannot be kept"
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, said, error.message, error.hint)


def _broken(request: Request, error: Exception) -> Response:
    """Of a bug no page tells more: the terminal shows where it is."""
    return problem(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "This page has a bug",
        f"{type(error).__name__} while the page was made.",
        "The terminal that runs `toolablate view` says where; please report it.",
    )
