"""What a reply that is no list of results makes of a search: one table for all services, and what each does otherwise.

Tavily has 432 and 433 for plans that are used up. A refusal lasts where the same search would be refused again; what a
service may do better in a moment (too many requests, an error of its own) does not.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from pydantic import JsonValue

from toolablate.tools.plain import one_line
from toolablate.tools.search.rest.client import ApiReply
from toolablate.traces.records import SearchStatus

_SAID_CHARS = 200
_STATUSES: Mapping[int, SearchStatus] = {
    401: "blocked",
    402: "blocked",
    403: "blocked",
    407: "blocked",
    408: "timeout",
    429: "rate_limited",
    432: "blocked",
    433: "blocked",
    504: "timeout",
    524: "timeout",
}
_LONGEST_WAIT = 3_600.0
_PASSING = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class Refusal:
    """A search that failed. `retry_after` is the wait in seconds that the service asked for."""

    status: SearchStatus
    detail: str
    lasting: bool = False
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Quirk:
    """A reply that means something else for one service: its code, and what its message says (a regular expression).

    `remedy` is added to the detail.
    """

    code: int
    status: SearchStatus
    says: str = ""
    remedy: str = ""
    lasting: bool = True

    def fits(self, code: int, said: str) -> bool:
        return code == self.code and re.search(self.says, said, re.IGNORECASE) is not None


def refusal(reply: ApiReply, quirks: Iterable[Quirk], now: datetime) -> Refusal | None:
    """None for a reply with status 200, which may hold results."""
    if reply.code == 200:
        return None
    said = message_of(reply.body)
    detail = _described(reply.code, said)
    wait = _retry_after(reply.headers, now)
    for quirk in quirks:
        if quirk.fits(reply.code, said):
            remedy = f"; {quirk.remedy}" if quirk.remedy else ""
            return Refusal(quirk.status, detail + remedy, quirk.lasting, None if quirk.lasting else wait)
    if 300 <= reply.code < 400:
        return Refusal("error", f"{detail}: redirected, and a search is not sent on", lasting=True)
    lasting = reply.code < 500 and reply.code not in _PASSING
    return Refusal(_STATUSES.get(reply.code, "error"), detail, lasting, None if lasting else wait)


def message_of(body: bytes) -> str:
    """What a service says in the body of an error, on one line; empty where that is a web page or nothing."""
    try:
        found = _message(json.loads(body))
    except (ValueError, RecursionError):
        found = body[:1_000].decode("utf-8", "replace")
        if found.lstrip().startswith("<"):
            return ""
    return one_line(found, _SAID_CHARS)


def _message(said: JsonValue) -> str:
    """The words in `error`, `message` or `detail`, whichever way they are nested; a code word goes before them."""
    if isinstance(said, str):
        return said
    if not isinstance(said, dict):
        return ""
    word = next((word for name in ("code", "tag") if isinstance(word := said.get(name), str)), "")
    words = next((words for name in ("error", "message", "detail") if (words := _message(said.get(name)))), "")
    return " ".join(part for part in (word, words) if part)


def _described(code: int, said: str) -> str:
    try:
        phrase = f" {HTTPStatus(code).phrase}"
    except ValueError:
        phrase = ""
    return f"HTTP {code}{phrase}{': ' if said else ''}{said}"


def _retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds by Retry-After (seconds or a date, RFC 9110 section 10.2.3), or by Brave's X-RateLimit-Reset.

    The latter names the resets of several windows, the shortest first. No wait is longer than an hour, which nobody
    who has a run under way would wait out.
    """
    written = headers.get("retry-after") or headers.get("x-ratelimit-reset", "").partition(",")[0]
    try:
        seconds = float(written)
    except ValueError:
        return _until(written, now)
    return min(seconds, _LONGEST_WAIT) if math.isfinite(seconds) and seconds >= 0 else None


def _until(written: str, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, OverflowError):
        return None
    seconds = (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds()
    return min(max(0.0, seconds), _LONGEST_WAIT)
