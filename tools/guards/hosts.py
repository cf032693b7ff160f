"""Whether an address lies on a host that the plan blocks, or names one, as services do that copy, show or translate."""

import re
from collections.abc import Iterator
from urllib.parse import unquote

from toolablate.tools.web.exchange import FetchError
from toolablate.tools.web.policy import WebPolicy
from toolablate.tools.web.urls import page_url, target_of

_BEFORE_HOST = re.compile(r"\s*(?:https?:)?[/\\]*(?:[^/\\?#@]*@)?", re.IGNORECASE)
_WITH_SCHEME = re.compile(r"https?:/*", re.IGNORECASE)
# A search for a host's name is no copy of it.
_PARAMETER = re.compile(
    r"(?:^|[?&])(?:u|ur[il]|link|href|src|source|target|to|page|site|address|web)=/*", re.IGNORECASE
)
_HOST = re.compile(r"(?:[^/?#&=@\s]*@)?[^/?#&=@:\s.。．｡]+[.。．｡][^/?#&=@:\s]+(?=[/?#&:\s]|$)")
# As those who read an address do.
_SKIPPED = re.compile(r"[\t\r\n]")
# Of an address that is too long to be read: hosts and blocked paths are short.
_HEAD_CHARS = 400
_INSIDE_CHARS = 8_000
_MAX_UNQUOTED = 20


class BlockedHosts:
    """`example.org` with all hosts below it, `example.org/data`. Raises ValueError for what cannot be read."""

    def __init__(self, entries: frozenset[str]) -> None:
        self._policy = WebPolicy(blocked_hosts=entries)

    def named_by(self, url: str) -> bool:
        if not self._policy.blocked_hosts:
            return False
        return self._is_blocked(url) or any(map(self._is_blocked, _inside(url)))

    def _is_blocked(self, url: str) -> bool:
        url = _BEFORE_HOST.sub("https://", url, count=1)
        for spelling in (url, url[:_HEAD_CHARS]):
            try:
                return self._policy.blocks(target_of(page_url(spelling)))
            except FetchError:
                continue
        return False


def _inside(url: str) -> Iterator[str]:
    """The parts of an address that may be addresses themselves."""
    inside = _plain(_BEFORE_HOST.sub("", url[:_INSIDE_CHARS], count=1).partition("#")[0]).partition("/")[2]
    path, _, query = inside.partition("?")
    yield from (inside[match.end() :].partition("&")[0] for match in _WITH_SCHEME.finditer(inside))
    given = (match.end() for match in _PARAMETER.finditer(query))
    yield from (query[start:].partition("&")[0] for start in given if _HOST.match(query, start))
    below = [0, *(match.end() for match in re.finditer("/", path))]
    yield from (path[start:] for start in below if _HOST.match(path, start))


def _plain(url: str) -> str:
    """Without escapes, however often they were escaped again."""
    for _ in range(_MAX_UNQUOTED):
        url, before = unquote(url), url
        if url == before:
            break
    return _SKIPPED.sub("", url).replace("\\", "/")
