"""Who is let in: a browser on this machine that was shown the token once, and what it may load."""

import secrets
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
"""A page of another name that points to this machine is not let in, whatever it knows."""

LONGEST_ADDRESS = 32_000
"""In bytes, path and query together: no page has a longer one, and nobody has to read what is longer."""

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
    """Stands before an application. `port` tells the cookies of several viewers apart, which browsers do not."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app, self._token, self._cookie = app, token, f"toolablate-{port}"
        self._hosts = frozenset(name for host in HOSTS for name in _spellings(host, port))

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
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("This address is none of the viewer's.\n", status_code=421)
        if len(_path(request)) + len(request.scope["query_string"]) > LONGEST_ADDRESS:
            return PlainTextResponse("This address is too long.\n", status_code=414)
        if self._knows(request.query_params.get("token", "")):
            return self._letting_in(request)
        if not self._knows(request.cookies.get(self._cookie, "")):
            return PlainTextResponse("Open the address that `toolablate view` printed.\n", status_code=403)
        if request.method not in ("GET", "HEAD") and request.headers.getlist("origin") != [
            f"http://{hosts[0].lower()}"
        ]:
            return PlainTextResponse("This was sent by a page of another site.\n", status_code=403)
        return None

    def _letting_in(self, request: Request) -> Response:
        """To the same page, without the token in its address."""
        query = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "token"])
        # What begins with two slashes would be another site.
        address = "/" + _path(request).lstrip("/\\") + (f"?{query}" if query else "")
        response = RedirectResponse(address, status_code=303)
        response.set_cookie(self._cookie, self._token, httponly=True, samesite="lax")
        return response

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(errors="replace"), self._token.encode())


def _spellings(host: str, port: int) -> tuple[str, ...]:
    """Of a host, as a browser that was given this port names it."""
    return (host, f"{host}:80") if port == 80 else (f"{host}:{port}",)


def _path(request: Request) -> str:
    raw: bytes = request.scope.get("raw_path") or b"/"
    return raw.decode("latin-1")


def _guarded(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return guarded
