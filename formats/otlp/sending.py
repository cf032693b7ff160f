"""Sends spans to a collector by OTLP over HTTP."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import unquote

import httpx2

from toolablate.agents.endpoint.requirements import blanking
from toolablate.formats.otlp.requests import SpanRequest, thrown_away
from toolablate.traces.errors import InputError, ToolError
from toolablate.traces.terminal_text import one_line

TRIES = 10
LONGEST_PAUSE = 30.0
"""Seconds. Phoenix takes 20,000 spans at once, and a minute or two to digest them."""
REQUEST_SECONDS = 60.0
_AGAIN = frozenset({429, 502, 503, 504})
"""What the specification of OTLP says may be tried again."""
_HINTS = {
    401: "the collector wants a key: --header NAME=VALUE",
    403: "the collector wants another key: --header NAME=VALUE",
    404: "OTLP over HTTP is mostly at /v1/traces",
    405: "OTLP over HTTP is mostly at /v1/traces",
    413: "the collector takes no request of so many bytes; raise its limit",
    415: "the collector takes no protobuf there",
}


@dataclass(slots=True)
class Sent:
    """How far it is. `rejected` spans were taken and thrown away, as `reason` of the collector says."""

    spans: int = 0
    trials: int = 0
    rejected: int = 0
    reason: str = ""


class Collector:
    """`endpoint` is a whole address, such as `http://127.0.0.1:6006/v1/traces`. What `headers` hold is in nothing that
    comes out. Raises InputError for an address or a header that is none."""

    def __init__(self, endpoint: str, headers: Mapping[str, str]) -> None:
        self.endpoint = endpoint
        self._blanks = [blanking(value) for value in headers.values()]
        content = {"content-type": "application/x-protobuf", "user-agent": "toolablate"}
        self._client = httpx2.Client(headers={**headers, **content}, timeout=REQUEST_SECONDS, follow_redirects=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._client.close()

    def send(self, requests: Iterable[SpanRequest], sent: Sent) -> None:
        """All of them, each tried again where that may help; `sent` is kept up to date. Raises ToolError where the
        collector refuses one, or is not there, at once where it never was."""
        for request in requests:
            response = self._post(request.body, started=sent.spans > 0)
            sent.spans += request.spans
            sent.trials += request.trials
            rejected, reason = thrown_away(response.content)
            sent.rejected += rejected
            sent.reason = sent.reason or self._plain(reason)

    def _post(self, body: bytes, *, started: bool) -> httpx2.Response:
        for left in reversed(range(TRIES)):
            try:
                response = self._client.post(self.endpoint, content=body)
            except httpx2.RequestError as error:
                if not left or not started:
                    raise ToolError(
                        f"{self.endpoint} cannot be reached: {type(error).__name__}",
                        hint="is it running?",
                        code="not_sent",
                    ) from None
                time.sleep(_pause(left))
                continue
            if response.status_code < 300:
                if "html" in response.headers.get("content-type", ""):
                    raise ToolError(
                        f"{self.endpoint} answers with a page: it takes no spans", hint=_HINTS[404], code="not_sent"
                    )
                return response
            if response.status_code not in _AGAIN or not left:
                raise self._refused(response)
            time.sleep(_asked(response.headers.get("retry-after", "")) or _pause(left))
        raise AssertionError("the last try returns or raises")

    def _refused(self, response: httpx2.Response) -> ToolError:
        said = self._plain(response.text)
        hint = _HINTS.get(response.status_code, "")
        if 300 <= response.status_code < 400:
            hint = "it leads elsewhere; name the address that takes spans"
        what = f"{self.endpoint} refuses spans: HTTP {response.status_code}{': ' if said else ''}{said}"
        return ToolError(what, hint=hint, code="not_sent")

    def _plain(self, text: str) -> str:
        """What a collector says, without what was sent to it in headers."""
        cut = text[:2000]
        for blank in self._blanks:
            cut = blank(cut)
        return one_line(cut)


def read_headers(given: Iterable[str], variable: str = "") -> dict[str, str]:
    """Of `NAME=VALUE`, and of what the variable OTEL_EXPORTER_OTLP_HEADERS holds: several, between commas, in which
    what is not plain is percent-encoded. Raises InputError for what is no header; its value is not told."""
    found = [("OTEL_EXPORTER_OTLP_HEADERS", unquote(each)) for each in variable.split(",") if each.strip()]
    return dict(_header(where, each) for where, each in [*found, *(("--header", each) for each in given)])


def _header(where: str, text: str) -> tuple[str, str]:
    name, sign, value = (part.strip(" ") for part in text.partition("="))
    if not (sign and name and name.isascii() and all(letter.isalnum() or letter in "-_." for letter in name)):
        raise InputError(f"{where}: there is one that is no NAME=VALUE", code="usage")
    if not (value and value.isascii() and value.isprintable()):
        raise InputError(f"{where}: the value of {name} is empty or not allowed in a header", code="usage")
    return name, value


def require_address(endpoint: str) -> None:
    """Raises InputError where it is no address, or holds a secret that messages would show."""
    try:
        url = httpx2.URL(endpoint)
    except (httpx2.InvalidURL, ValueError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo or url.query or url.fragment:
        raise InputError(
            "--endpoint: no address of a collector",
            hint="write it as http(s)://host:port/v1/traces, without a password or ?; keys go into --header",
            code="bad_endpoint",
        )


def _pause(left: int) -> float:
    return min(LONGEST_PAUSE, 0.5 * float(2 ** (TRIES - 1 - left)))


def _asked(retry_after: str) -> float:
    return min(LONGEST_PAUSE, float(retry_after)) if retry_after.isdigit() else 0.0
