"""The HTTP client that an engine of ddgs is given in place of its own."""

import codecs
from dataclasses import dataclass, field
from typing import Any

from toolablate.tools.search.robot_checks import is_robot_check, leads_to_robot_check
from toolablate.traces.records import SearchStatus

REPLY_BYTES = 4_000_000
"""Of a reply as unpacked; the time for it bounds what is sent."""


@dataclass(frozen=True, slots=True)
class EngineReply:
    """What engines read of a reply; `location` is where it redirects to."""

    status_code: int
    content: bytes = b""
    text: str = ""
    location: str = ""


@dataclass(slots=True)
class EngineClient:
    """Asks by the engine's own client, which looks like a browser, but reads no more than a page and follows nothing.

    That client would read a reply whole, however large it is when unpacked, and follow redirects to any address.
    Replies are kept, since the engine throws them away unless they are 200. `endpoint` is put in place of every
    address.
    """

    inner: Any
    endpoint: str | None
    replies: list[EngineReply] = field(default_factory=list)

    @property
    def client(self) -> Any:
        return self.inner.client

    def request(self, method: str, url: str, **kwargs: Any) -> EngineReply:
        """Raises ddgs's exceptions, as the engine's own client does."""
        import primp
        from ddgs.exceptions import DDGSException, TimeoutException

        kwargs |= {"follow_redirects": False, "stream": True}
        try:
            with self.client.request(method, self.endpoint or url, **kwargs) as response:
                reply = _read(response)
        except primp.TimeoutError as error:
            raise TimeoutException(error) from error
        except primp.PrimpError as error:
            raise DDGSException(f"{type(error).__name__}: {error}") from error
        if reply is None:
            self.replies.append(EngineReply(response.status_code))
            raise DDGSException(f"the reply is larger than {REPLY_BYTES:,} bytes")
        self.replies.append(reply)
        return reply

    def verdict(self, query: str) -> tuple[SearchStatus, str]:
        """Why there are no results, by the first reply that is no page, or else by the last one."""
        if not self.replies:
            return "error", "the engine sent no request"
        reply = next((reply for reply in self.replies if reply.status_code != 200), self.replies[-1])
        code = reply.status_code
        if code == 200 and not reply.text.strip():
            return "error", "an empty page"
        if code == 200:
            return ("blocked", "a robot check") if is_robot_check(reply.text, query) else ("empty", "")
        if code == 429:
            return "rate_limited", "HTTP 429"
        if 300 <= code < 400:
            checked = leads_to_robot_check(reply.location)
            return ("blocked" if checked else "error"), f"HTTP {code}: redirected, and a search is not sent on"
        # DuckDuckGo answers 202 to whom it takes for a robot.
        return ("blocked" if code in (202, 401, 403) else "error"), f"HTTP {code}"


def _read(response: Any) -> EngineReply | None:
    """None for a reply that is too large."""
    content = bytearray()
    # It comes unpacked a few kilobytes at a time, so that no more of a bomb goes off.
    for piece in response.iter_bytes():
        content += piece
        if len(content) > REPLY_BYTES:
            return None
    location = str(response.headers.get("location", ""))
    return EngineReply(response.status_code, bytes(content), _decoded(bytes(content), response.encoding), location)


def _decoded(content: bytes, encoding: str) -> str:
    try:
        codec = codecs.lookup(encoding).name
    except LookupError:
        codec = "utf-8"
    return content.decode("utf-8-sig" if codec == "utf-8" else codec, "replace")
