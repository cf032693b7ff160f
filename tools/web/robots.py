"""What robots.txt asks of us: RFC 9309, the Robots Exclusion Protocol."""

import asyncio
import math
import re
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import quote

from toolablate.tools.text import one_line
from toolablate.tools.web.exchange import Exchange, FetchError, decoded_body
from toolablate.tools.web.follow import redirect_target, seconds_left
from toolablate.tools.web.urls import target_of

if TYPE_CHECKING:
    from protego import Protego

AGENT = "toolablate"
"""The product token that a site's rules can name."""

ROBOTS_BYTES = 500_000
MAX_CRAWL_DELAY = 10.0

_REDIRECTS = 5
_SITES = 500
_RETRY_SECONDS = 60.0
# What keeps the site's own pages from being had too, and is said of them better than of robots.txt.
_OF_THE_SITE = frozenset({"no_host", "no_network", "unreachable", "tls", "blocked", "blocked_host"})
_LINE_END = re.compile(r"\r\n|\r|\n")
_OTHER_LINE_END = re.compile("[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Of a line whose blanks are single spaces.
_AGENT_LINE = re.compile(r"user[- ]?agent(?: ?:| )([^#]*)", re.IGNORECASE)
_OURS = re.compile(rf"{AGENT}(?![a-z_-])")
# Parsed rules are kept for so many characters of them, which take 70 MB at worst.
_KEPT_CHARS = 1_000_000


@dataclass(slots=True)
class _Site:
    """One origin's rules, `text` being those that can concern us; `refusal` says why there are none to be had.

    `rules` are the same, parsed, as long as they are kept.
    """

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    text: str = ""
    rules: "Protego | None" = None
    refusal: str = ""
    good_until: float = -math.inf


class Robots:
    """Reads each origin's robots.txt once per run, one reader at a time; one that failed is tried again after a minute.

    `ask` gets one URL by the same checked way as any other, and at most ROBOTS_BYTES of it; it spends the time of the
    page for which it is asked. A page that has less than `seconds` left says nothing of the site if they are too few.
    """

    def __init__(self, ask: Callable[[str], Awaitable[Exchange]], seconds: float = math.inf) -> None:
        self._ask = ask
        self._seconds = seconds
        self._sites: OrderedDict[str, _Site] = OrderedDict()
        self._kept: deque[_Site] = deque()
        self._kept_chars = 0

    async def delay(self, url: str) -> float:
        """The seconds that the site wants between requests. Raises FetchError (`robots`) where we may not come."""
        site = await self._site(url)
        if site.refusal:
            message = (
                f"{one_line(url, 300)}: the site's robots.txt cannot be read, so it is not opened ({site.refusal})"
            )
            raise FetchError(message, code="robots", transient=True, policy=True)
        if not site.text:
            return 0.0
        rules = await self._parsed(site)
        # In a thread, since hundreds of thousands of characters of patterns take a moment.
        allowed, delay = await asyncio.to_thread(_verdict, rules, url)
        if not allowed:
            message = f"{one_line(url, 300)}: the site's robots.txt does not allow programs to open it"
            raise FetchError(message, code="robots", policy=True)
        return delay

    async def _site(self, url: str) -> _Site:
        target = target_of(url)
        origin = f"{target.scheme}://{target.authority}"
        site = self._sites.setdefault(origin, _Site())
        self._sites.move_to_end(origin)
        if len(self._sites) > _SITES:
            self._sites.popitem(last=False)
        async with site.lock:
            now = asyncio.get_running_loop().time()
            if site.good_until <= now:
                site.text, site.refusal = await self._read(f"{origin}/robots.txt")
                site.good_until = now + _RETRY_SECONDS if site.refusal else math.inf
        return site

    async def _parsed(self, site: _Site) -> "Protego":
        """Parses rules once, unless the rules of many other sites came between."""
        async with site.lock:
            rules = site.rules
            if rules is None:
                rules = site.rules = await asyncio.to_thread(_parse, site.text)
                self._kept.append(site)
                self._kept_chars += len(site.text)
        while self._kept_chars > _KEPT_CHARS:
            oldest = self._kept.popleft()
            oldest.rules = None
            self._kept_chars -= len(oldest.text)
        return rules

    async def _read(self, url: str) -> tuple[str, str]:
        """Rules and refusal, of which at most one is not empty."""
        place, late = url, seconds_left() < self._seconds
        try:
            for _ in range(_REDIRECTS + 1):
                exchange = await self._ask(place)
                onward = redirect_target(place, exchange.status, exchange.header("location"))
                if onward is None:
                    return _rules(exchange)
                place = onward
        except FetchError as error:
            if (place == url and error.code in _OF_THE_SITE) or (late and error.code == "timeout"):
                raise
            return "", error.message
        return "", f"{url} redirects more than {_REDIRECTS} times"


def _rules(exchange: Exchange) -> tuple[str, str]:
    if exchange.status >= 500:
        return "", f"HTTP {exchange.status}"
    if exchange.status >= 300:
        return "", ""
    body = decoded_body(exchange, 10 * ROBOTS_BYTES)[:ROBOTS_BYTES]
    lines = _LINE_END.split(body.decode("utf-8-sig", "replace"))
    return "\n".join(map(_plain_line, filter(None, lines))), ""


def _plain_line(line: str) -> str:
    """A line as it is, but for what would let the parser's work grow as rules times agents.

    It keeps rules for each agent, so all others than us become one; and it knows more blanks and ends of lines.
    """
    if match := _AGENT_LINE.match(" ".join(line.split())):
        named = match[1].strip().lower()
        agent = "*" if named == "*" else AGENT if _OURS.match(named) else "other"
        return f"User-agent: {agent}"
    return _OTHER_LINE_END.sub(lambda end: quote(end[0]), line)


def _parse(text: str) -> "Protego":
    from protego import Protego

    return Protego.parse(text)


def _verdict(rules: "Protego", url: str) -> tuple[bool, float]:
    """Whether we may open the URL, and the wait that is asked for."""
    return bool(rules.can_fetch(url, AGENT)), min(rules.crawl_delay(AGENT) or 0.0, MAX_CRAWL_DELAY)
