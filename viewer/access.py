"""Who is let in: a browser on this machine that was shown the token once, and what it may load."""

import re
import secrets
from urllib.parse import urlencode

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            return _closed(403, "Open the address that toolablate view printed", UNKNOWN)
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
