"""Who is let in: a browser on this machine that was shown the token once, and what it may load."""

import secrets
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
"""A page of another name that points to this machine is not let in, whatever it knows."""

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; img-src 'self' data:;"
        " font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """Stands before an application. `port` tells the cookies of several viewers apart, which browsers do not."""

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app, self._token, self._cookie = app, token, f"toolablate-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        refused = self._refused(Request(scope))
        await (refused or self._app)(scope, receive, guarded)

    def _refused(self, request: Request) -> Response | None:
        if request.url.hostname not in HOSTS:
            return PlainTextResponse("This address is none of the viewer's.\n", status_code=421)
        if self._knows(request.query_params.get("token", "")):
            query = urlencode([pair for pair in request.query_params.multi_items() if pair[0] != "token"])
            letting_in = RedirectResponse(request.url.path + (f"?{query}" if query else ""), status_code=303)
            letting_in.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return letting_in
        if not self._knows(request.cookies.get(self._cookie, "")):
            return PlainTextResponse("Open the address that `toolablate view` printed.\n", status_code=403)
        if request.method not in ("GET", "HEAD") and request.headers.get("origin") != str(request.base_url).rstrip("/"):
            return PlainTextResponse("This was sent by a page of another site.\n", status_code=403)
        return None

    def _knows(self, given: str) -> bool:
        return secrets.compare_digest(given.encode(), self._token.encode())
