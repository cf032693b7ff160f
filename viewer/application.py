"""The application that serves the pages, and who may ask it."""

import re
import secrets
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import urlencode

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolablate.traces.errors import InputError, ToolablateError
from toolablate.viewer import (
    against,
    diff,
    downloads,
    failures,
    find,
    labels,
    overview,
    question_pages,
    running,
    trial,
)
from toolablate.viewer.rendering import Figures, View, problem

HOST = re.compile(r"(?:127\.0\.0\.1|localhost)(?::(?P<port>[0-9]{1,5}))?", re.IGNORECASE | re.ASCII)
"""Names of this machine, with any port: who reads through `ssh -L 9000:127.0.0.1:8765` names 9000. A page of another
name that was pointed to this machine (DNS rebinding) says that other name and is not let in, whatever it knows. The
port would keep nobody out: a browser says that of the server it talks to, whichever page bids it to, and sends cookies
to every port of a name. What another local server's page sends has that server's port in `Origin`, which has to be the
very host that is asked; that such a page cannot read the answers is up to the browser, by the headers below."""

LONGEST_ADDRESS = 32_000
"""In bytes, path and query together: no page has a longer one, and nobody has to read what is longer."""

UNKNOWN = (
    "It has a token, which lets this browser in once for as long as that viewer runs. One that was started again has"
    " another: it stands in the terminal."
)
_CLOSED = """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>{title} · toolablate</title>
</head>
<body style="font: 15px/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
  <main>
    <h1 style="font-size: 1.5rem">{title}</h1>
    <p>{message}</p>
  </main>
</body>
</html>
"""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:;"
        " font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    # Under `no-referrer` browsers say "Origin: null" even where a page's own form is sent.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """Stands before an application."""

    def __init__(self, app: ASGIApp, *, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await (self._refused(Request(scope)) or self._app)(scope, receive, _guarded(send))
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refused(self, request: Request) -> Response | None:
        # By the header itself: of one that makes no sense, `request.url` would tell the server's own address.
        hosts = request.headers.getlist("host")
        host = HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if host is None:
            return _closed(421, "This address is none of the viewer's", "It answers to 127.0.0.1 and to localhost.")
        if len(_path(request)) + len(request.scope["query_string"]) > LONGEST_ADDRESS:
            return _closed(414, "This address is too long", f"At most {LONGEST_ADDRESS:,} bytes are read.")
        # Browsers do not tell the cookies of several viewers apart by their ports.
        cookie = f"toolablate-{host['port'] or 80}"
        if self._knows(request.query_params.get("token", "")):
            return self._letting_in(request, cookie)
        if not self._knows(request.cookies.get(cookie, "")):
            return _closed(403, "Open the address that toolablate printed", UNKNOWN)
        if request.method not in ("GET", "HEAD") and request.headers.getlist("origin") != [f"http://{host[0].lower()}"]:
            return _closed(403, "This was sent by a page of another site", "Nothing of it was kept.")
        return None

    def _letting_in(self, request: Request, cookie: str) -> Response:
        """To the same page, without the token in its address."""
        query = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "token"])
        # What begins with two slashes would be another site.
        address = "/" + _path(request).lstrip("/\\") + (f"?{query}" if query else "")
        response = RedirectResponse(address, status_code=303)
        response.set_cookie(cookie, self._token, httponly=True, samesite="lax")
        return response

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token.encode())


def _closed(status: int, title: str, message: str) -> Response:
    """Without anything of the store, its name included, and without files, which nobody gets who is not let in."""
    return HTMLResponse(_CLOSED.format(title=title, message=message), status_code=status)


def _path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or b"/"
    return raw.decode("latin-1")


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return guarded


_PAGES = (overview, question_pages, failures, find, trial, diff, downloads, against, running, labels)


def application(view: View) -> ASGIApp:
    """Serves the pages of one view, to whom knows its token.

    A page that raises InputError is about something that is not there (404), a form about what cannot be kept (400).
    One that raises starlette's HTTPException says its own status, and `detail` becomes the message.
    """
    figures = Figures() if view.bundle is None else Figures(None)
    routes = [route for each in _PAGES for route in each.ROUTES]
    return served(routes, view.token, view=view, figures=figures, frame="base.html", of="store")


def served(routes: Sequence[Route], token: str, *, frame: str, of: str, **state: object) -> ASGIApp:
    """Serves these pages to whom knows the token. `frame` is the template around them, `of` what they are of, in a
    word; `state` is what they find at their application."""
    files = StaticFiles(packages=[("toolablate.reports.html", "static"), ("toolablate.viewer", "static")])
    app = Starlette(
        routes=[*routes, Route("/favicon.ico", _icon), Mount("/static", files, name="static")],
        exception_handlers={
            HTTPException: _refused,
            InputError: _not_found,
            ToolablateError: _failed,
            Exception: _broken,
        },
    )
    app.state.frame, app.state.of = frame, of
    for name, value in state.items():
        setattr(app.state, name, value)
    # Around all of it: what starlette answers to an exception of a page does not pass its own middleware.
    return Access(app, token=token)


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
        return problem(
            request, HTTPStatus.NOT_FOUND, f"This is not in the {request.app.state.of}", error.message, error.hint
        )
    return problem(request, HTTPStatus.BAD_REQUEST, "This cannot be kept", error.message, error.hint)


def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, ToolablateError)
    said = f"The {request.app.state.of} cannot be read" if request.method in ("GET", "HEAD") else "This cannot be kept"
    return problem(request, HTTPStatus.INTERNAL_SERVER_ERROR, said, error.message, error.hint)


def _broken(request: Request, error: Exception) -> Response:
    """Of a bug no page tells more: the terminal shows where it is."""
    return problem(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        "This page has a bug",
        f"{type(error).__name__} while the page was made.",
        "The terminal that runs toolablate says where; please report it.",
    )
