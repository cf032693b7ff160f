"""One request to an endpoint and the JSON object that comes back: its clients, bounds, proxies and certificates."""

import asyncio
import json
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import httpx2

from toolablate import __version__
from toolablate.agents.endpoint.completions import max_tokens_key
from toolablate.agents.endpoint.refusals import error_in, refused
from toolablate.agents.endpoint.requirements import SECRET_FROM_LENGTH, blanking, read_api_key
from toolablate.agents.endpoint.wire import bad_reply
from toolablate.agents.pacing.waits import watched_sending
from toolablate.traces.errors import InputError, ModelError
from toolablate.traces.records import OpenAIModel, clean_text


def require_proxies() -> None:
    """Raises InputError where a proxy is named that no client can use."""
    for scheme, address in getproxies().items():
        if scheme not in ("http", "https", "all"):
            continue
        try:
            proxy = httpx2.Proxy(address if "://" in address else f"http://{address}")
        except (ValueError, httpx2.InvalidURL):
            raise _unusable(scheme, "is no address of a proxy", "write it as http://host:port, or unset it") from None
        if proxy.url.scheme.startswith("socks") and find_spec("socksio") is None:
            raise _unusable(scheme, "names a SOCKS proxy", "install the package socksio, or name an HTTP proxy")


def open_certificates() -> ssl.SSLContext:
    """The certificates to trust. Raises InputError where those that SSL_CERT_FILE names cannot be read."""
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        variable = next((name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)), "")
        if not variable:
            raise
        raise InputError(
            f"the certificates that the environment variable {variable} names cannot be read: {error.strerror}",
            hint="let it name a file of certificates in PEM format, or unset it",
            code="bad_certificates",
        ) from None


def _unusable(scheme: str, why: str, hint: str) -> InputError:
    names = (f"{scheme}_proxy", f"{scheme}_proxy".upper())
    variable = next((name for name in names if name in os.environ), names[0])
    return InputError(f"the environment variable {variable} {why}", hint=hint, code="bad_proxy")


# The HTTP clients of one endpoint.


_PER_LANE = 16


@dataclass(slots=True)
class _Lane:
    client: httpx2.AsyncClient
    in_flight: int = 0


class RefusedError(Exception):
    """An answer that is no success, and the beginning of its body."""

    def __init__(self, status: int, headers: dict[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.body = status, headers, body


class Lanes:
    """`most_bytes` is how much of a refusal is read. Raises InputError where the environment names proxies or
    certificates that cannot be used."""

    def __init__(self, model: OpenAIModel, key: str, *, most_bytes: int) -> None:
        self._model = model
        self._most_bytes = most_bytes
        require_proxies()
        # Reading the machine's certificates takes 15 ms; all lanes share them.
        self._certificates = open_certificates()
        self._lanes: list[_Lane] = []
        self._headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "User-Agent": f"toolablate/{__version__}",
        }
        if key:
            self._headers["Authorization"] = f"Bearer {key}"

    @asynccontextmanager
    async def send(
        self, method: str, path: str, content: bytes, headers: Mapping[str, str]
    ) -> AsyncIterator[httpx2.Response]:
        """The response, unread; a body is of JSON where `headers` do not say another type. Raises RefusedError, what
        httpx2 raises, and ssl.SSLError."""
        lane = next((lane for lane in self._lanes if lane.in_flight < _PER_LANE), None)
        if lane is None:
            lane = _Lane(self._open())
            self._lanes.append(lane)
        lane.in_flight += 1
        try:
            async with lane.client.stream(method, path, content=content, headers=headers) as response:
                if not response.is_success:
                    raise await self._refusal(response)
                yield response
        finally:
            lane.in_flight -= 1

    async def close(self) -> None:
        for lane in self._lanes:
            await lane.client.aclose()

    def _open(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            base_url=self._model.endpoint,
            headers=self._headers,
            timeout=self._model.timeout_seconds,
            verify=self._certificates,
            event_hooks={"request": [_watch]},
            # Questions and conversations go to no other place than the plan's, and after a redirect a request
            # would be another one: without its key, or a GET without its body.
            follow_redirects=False,
            # What an endpoint remembers of one trial must not reach the next.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=())),
        )

    async def _refusal(self, response: httpx2.Response) -> RefusedError:
        body = b""
        async for part in response.aiter_bytes():
            body += part
            if len(body) >= self._most_bytes:
                break
        return RefusedError(response.status_code, dict(response.headers), body[: self._most_bytes])


async def _watch(request: httpx2.Request) -> None:
    """Tells who wants to know when the request has been written."""
    told = watched_sending()
    if told is None:
        return

    async def trace(event: str, _info: Mapping[str, Any]) -> None:
        if event.endswith("send_request_body.complete"):
            told()

    request.extensions["trace"] = trace


# A model's longest reply is well under this; an endpoint that sends more is broken or hostile.
MAX_BODY_BYTES = 32 * 1024 * 1024
_MAX_REFUSAL_BYTES = 64 * 1024
NO_HEADERS: Mapping[str, str] = {}
# Deeper JSON could be written to a store and not be read from it again.
_MOST_LEVELS = 100
# What JSON has no number for and some servers write all the same.
_NO_NUMBERS: dict[str, None] = {"NaN": None, "Infinity": None, "-Infinity": None}


class Transport:
    """Retries are the caller's. Raises InputError where the endpoint is no address or its key cannot be had."""

    def __init__(self, model: OpenAIModel) -> None:
        if not is_address(model.endpoint):
            shown = re.split("[?#]", model.endpoint)[0]
            raise InputError(
                f"model {model.name!r}: the endpoint {shown!r} is no address",
                hint="write it as http(s)://host[:port]/path, without /chat/completions or /responses, ? or #",
                code="bad_endpoint",
            )
        self._model = model
        key = read_api_key(model)
        self._without_key = blanking(key)
        self._blank: Callable[[str], str] = self._without_key if len(key) >= SECRET_FROM_LENGTH else str
        self._lanes = Lanes(model, key, most_bytes=_MAX_REFUSAL_BYTES)

    async def post(self, path: str, content: bytes, *, seconds: float, list_as: str = "") -> dict[str, Any]:
        """The reply's JSON object; with `list_as`, a list comes as an object with that key.

        Raises ModelError with one of the codes of `refusals`, or `unreachable`, `disconnected`, `bad_reply`."""
        allowed = min(seconds, self._model.timeout_seconds)
        return self._told(self.object_in(await self.exchange("POST", path, content, seconds=allowed), list_as))

    async def exchange(
        self,
        method: str,
        path: str,
        content: bytes = b"",
        *,
        seconds: float,
        headers: Mapping[str, str] = NO_HEADERS,
        most_bytes: int | None = None,
    ) -> bytes:
        """The body of the reply. Raises as `post`."""
        try:
            async with asyncio.timeout(seconds):
                return await self._read(method, path, content, headers, most_bytes or MAX_BODY_BYTES)
        except (TimeoutError, httpx2.TimeoutException):
            raise ModelError(
                f"{self._model.endpoint} did not reply within {seconds:g} s", code="timeout", retryable=True
            ) from None
        except RefusedError as error:
            raise self._refusal(error.status, error.headers, _parsed(_text(error.body))) from None
        except (httpx2.RequestError, ssl.SSLError) as error:
            # The client leaves alone what goes wrong with an encrypted connection after its handshake.
            raise self._unreachable(error) from None

    def in_batch(self, status: int, body: object) -> dict[str, Any]:
        """What came for one request of a batch, as a body of its own. Raises as `post`."""
        text = json.dumps(body)
        if not 200 <= status < 300:
            raise self._refusal(status, {}, _parsed(self._blank(text)))
        return self._told(self.object_in(text.encode()))

    async def close(self) -> None:
        await self._lanes.close()

    async def _read(self, method: str, path: str, content: bytes, headers: Mapping[str, str], most_bytes: int) -> bytes:
        parts: list[bytes] = []
        size = 0
        async with self._lanes.send(method, path, content, headers) as response:
            async for part in response.aiter_bytes():
                size += len(part)
                if size > most_bytes:
                    raise ModelError(f"the reply is larger than {most_bytes} bytes", code="bad_reply")
                parts.append(part)
        return b"".join(parts)

    def object_in(self, raw: bytes, list_as: str = "") -> dict[str, Any]:
        """The JSON object of a body, whatever it tells. Raises ModelError `bad_reply`."""
        text = self._blank(_text(raw))
        body = _parsed(text)
        if list_as and isinstance(body, list):
            body = {list_as: body}
        if not isinstance(body, dict):
            shown = " ".join(self._safe(text)[:200].split()) or "nothing"
            raise bad_reply(f"the reply is not a JSON object; it begins: {shown}")
        if text.count("[") + text.count("{") > _MOST_LEVELS and _is_deeper(body, _MOST_LEVELS):
            raise bad_reply(f"the reply is nested more than {_MOST_LEVELS} levels deep")
        if "\\u" in text:
            body = _cleaned(body)
        return body

    def _told(self, body: dict[str, Any]) -> dict[str, Any]:
        """A body, unless an error is in it."""
        status = error_in(body)
        if status is not None:
            raise self._refusal(status, {}, body)
        return body

    def _refusal(self, status: int, headers: dict[str, str], body: object) -> ModelError:
        limited = self._model.api == "chat" and self._model.sampling.max_tokens is not None
        return refused(
            status,
            headers,
            body,
            key_variable=self._model.key_variable,
            endpoint=self._model.endpoint,
            model=self._model.wire_name,
            max_tokens_key=max_tokens_key(self._model) if limited else "",
            safe=self._safe,
        )

    def _unreachable(self, cause: BaseException) -> ModelError:
        said = self._safe(str(cause).strip()) or type(cause).__name__
        if isinstance(cause, httpx2.ConnectError | httpx2.ProxyError):
            return ModelError(
                f"cannot reach {self._model.endpoint}: {said}",
                hint="check that its server runs, and the model's endpoint in the plan",
                code="unreachable",
                retryable=True,
            )
        return ModelError(
            f"the connection to {self._model.endpoint} broke: {said}", code="disconnected", retryable=True
        )

    def _safe(self, text: str) -> str:
        """Foreign text without the key: an endpoint may echo what it was sent."""
        return clean_text(self._without_key(text))


def _text(body: bytes) -> str:
    return body.decode("utf-8-sig", "replace")


def _parsed(text: str) -> object:
    """The JSON value of a text, or the text where it is none."""
    try:
        return json.loads(text, parse_constant=_NO_NUMBERS.get)
    except (ValueError, RecursionError):
        return text


def _cleaned(value: Any) -> Any:
    """A value without the lone surrogates that JSON can escape."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _cleaned(item) for key, item in value.items()}
    return value


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    within = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(child, levels - 1) for child in within)


def is_address(endpoint: str) -> bool:
    """Whether an endpoint is something that can be connected to at all, and that paths can be added to."""
    printable = endpoint.isprintable() and not any(sign in endpoint for sign in " ?#")
    try:
        parts = urlsplit(endpoint)
        # Reading the port is what checks it.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and printable
    except ValueError:
        return False
