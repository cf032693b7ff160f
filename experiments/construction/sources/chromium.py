"""Screenshots of pages by a Chromium that reaches the web through the guard alone.

Chromium has no way out of its own: its proxy is one on loopback that refuses whatever comes. What a page needs is
fetched here, by the client that all pages are fetched by, and handed in. So addresses, redirects, ports and sizes are
checked as everywhere, and what would go past the hand-over (WebSockets, prefetches, the browser's own calls home) ends
at that proxy.
"""

import asyncio
import base64
import os
import re
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from toolablate.sandbox.host_resources import ProcessKeeper
from toolablate.tools.extraction.kinds import Unreadable, decode, kind_of
from toolablate.tools.text import one_line, plain_text
from toolablate.tools.web import Exchange, Fetched, FetchError, HttpClient, LiveHttpClient, follow
from toolablate.tools.web.policy import WebPolicy
from toolablate.traces.errors import InputError
from toolablate.traces.installing import to_install
from toolablate.traces.records import Picture

if TYPE_CHECKING:
    from playwright.async_api import Browser, BrowserContext, CDPSession, Page, Route

TILE_HEIGHT, TILE_OVERLAP = 1_500, 100
"""In pixels. A line of text that one tile cuts is whole in the next."""
TEXT_CHARS = 200_000
MOST_REQUESTS, MOST_BYTES = 200, 30_000_000
"""Of what one page loads beside itself."""

_END_SECONDS = 10.0
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_SHOWN = frozenset({"image", "stylesheet", "font", "document"})
_RUNNING = frozenset({"script", "fetch", "xhr"})
_ARGUMENTS = (
    "--disable-quic",
    "--disable-background-networking",
    # WebRTC would send UDP to any address past every proxy. The second is what Chromium called it before.
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
# What stays in place while a page is scrolled would stand over the text of each tile.
_HIDE_BARS = """for (const each of document.querySelectorAll("*")) {
  const place = getComputedStyle(each).position;
  if (place === "fixed" || place === "sticky") each.style.setProperty("visibility", "hidden", "important");
}"""
_TEXT = f"(document.body ? document.body.innerText : '').slice(0, {TEXT_CHARS})"


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one page: seconds for what is fetched of it, and as many until it is drawn; width and height in pixels. What
    lies below `height` is not taken. With `scripts` the page's own run."""

    seconds: float = 60.0
    width: int = 1_280
    height: int = 20_000
    scripts: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """A page as it was seen: tiles from top to bottom, its visible text, its whole height in pixels; `given` are the
    replies of which Chromium drew it, with the redirects to them."""

    url: str
    title: str
    text: str
    height: int
    tiles: tuple[Picture, ...]
    given: tuple[Exchange, ...] = ()


@dataclass(frozen=True, slots=True)
class GuardedChromium:
    """`refused` are the first lines of what Chromium sent past the hand-over."""

    started: "_Started"
    client: HttpClient
    parts: HttpClient
    policy: WebPolicy
    limits: Limits
    refused: list[str] = field(default_factory=list)

    async def capture(self, url: str) -> Captured:
        """Raises FetchError for what keeps the page from being had or shown: also `not_html`, `download`, `timeout`,
        `not_shown`."""
        fetched = await follow(url, self.client, self.policy)
        _require_page(fetched)
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._shown(fetched)
        except TimeoutError:
            told = f"{one_line(fetched.url, 300)} was not drawn within {self.limits.seconds:g} seconds"
            raise FetchError(told, code="timeout", transient=True) from None

    async def _shown(self, fetched: Fetched) -> Captured:
        from playwright.async_api import Error

        context = await self.started.context(
            viewport={"width": self.limits.width, "height": 1_000},
            java_script_enabled=self.limits.scripts,
            accept_downloads=False,
            service_workers="block",
            reduced_motion="reduce",
            locale=self.policy.language,
        )
        try:
            return await self._drawn(context, fetched)
        except Error as error:
            told = f"{one_line(fetched.url, 300)} cannot be shown: {_told_by(error.message)}"
            raise FetchError(told, code="not_shown") from None
        finally:
            # What has ended cannot be closed, which the next page finds.
            with suppress(Error, TimeoutError):
                async with asyncio.timeout(_END_SECONDS):
                    await context.close()

    async def _drawn(self, context: "BrowserContext", fetched: Fetched) -> Captured:
        from playwright.async_api import TimeoutError

        page = await context.new_page()
        context.on("page", lambda other: asyncio.ensure_future(other.close()))
        handing = _HandOver(self, page, fetched)
        await context.route("**/*", handing)
        await page.goto(fetched.url, wait_until="commit", timeout=1_000 * self.limits.seconds)
        # What has not come by half of the time is left out: one slow picture costs no thread.
        with suppress(TimeoutError):
            await page.wait_for_load_state("load", timeout=500 * self.limits.seconds)
        session = await context.new_cdp_session(page)
        # In a world of our own, which the page's scripts cannot reach.
        frame = (await session.send("Page.getFrameTree"))["frameTree"]["frame"]["id"]
        world = (await session.send("Page.createIsolatedWorld", {"frameId": frame}))["executionContextId"]
        text = await _value(session, world, _TEXT)
        title = await _value(session, world, "document.title")
        await _value(session, world, _HIDE_BARS)
        height = int((await session.send("Page.getLayoutMetrics"))["cssContentSize"]["height"])
        tiles = [await _tile(session, self.limits.width, *part) for part in parts_of(min(height, self.limits.height))]
        return Captured(
            fetched.url, one_line(title, 300), plain_text(text).strip(), height, tuple(tiles), tuple(handing.given)
        )


def parts_of(height: int) -> list[tuple[int, int]]:
    """Top and height of each tile; the last is no thinner than what it shares with the one before."""
    found = [(0, min(max(height, 1), TILE_HEIGHT))]
    while (end := sum(found[-1])) < height:
        top = end - TILE_OVERLAP
        found.append((top, min(TILE_HEIGHT, height - top)))
    return found


async def _value(session: "CDPSession", world: int, expression: str) -> str:
    given = {"expression": expression, "contextId": world, "returnByValue": True}
    found: Mapping[str, Any] = (await session.send("Runtime.evaluate", given))["result"]
    return str(found.get("value", ""))


async def _tile(session: "CDPSession", width: int, top: int, height: int) -> Picture:
    clip = {"x": 0, "y": top, "width": width, "height": height, "scale": 1}
    wanted: dict[str, Any] = {"captureBeyondViewport": True, "clip": clip}
    # Of photographs a PNG may be larger than models take.
    for form in ({"format": "png"}, {"format": "jpeg", "quality": 80}, {"format": "jpeg", "quality": 40}):
        data = base64.b64decode((await session.send("Page.captureScreenshot", wanted | form))["data"])
        try:
            return Picture.of(data)
        except ValueError as error:
            why = str(error)
    raise FetchError(f"a screenshot {why}", code="not_shown")


def _told_by(message: str) -> str:
    """What playwright says, without the name of its own call and its log."""
    return one_line(re.sub(r"^\w+\.\w+: ", "", message.partition("Call log:")[0]), 200)


def _require_page(fetched: Fetched) -> None:
    attached = fetched.exchanges[-1].header("content-disposition").strip().lower().startswith("attachment")
    if attached:
        raise FetchError(f"{one_line(fetched.url, 300)} is a download", code="download")
    try:
        kind = kind_of(fetched.body, fetched.content_type)
    except Unreadable as error:
        raise FetchError(f"{one_line(fetched.url, 300)} is no page: {error.reason}", code="not_html") from None
    if kind != "html":
        raise FetchError(f"{one_line(fetched.url, 300)} is no page but {kind}", code="not_html")


_PAGES = ("text/html", "application/xhtml+xml")


def _in_utf8(page: Fetched, *, required: bool) -> tuple[str, bytes]:
    """Chromium takes a page that names no charset for Western. It is told what all other readers of pages here find."""
    kind = page.content_type.partition(";")[0].strip().lower()
    # The page itself is known to be HTML; as of another type Chromium would take it for a download.
    if required and kind not in _PAGES:
        kind = "text/html"
    body = decode(page.body, page.content_type).encode("utf-8", "replace")
    return f"{kind or 'text/html'}; charset=utf-8", body


class _HandOver:
    """Answers each request of a page: the page itself with what was fetched, its parts with what the guard lets
    through. The page goes nowhere else."""

    def __init__(self, chromium: GuardedChromium, page: "Page", fetched: Fetched) -> None:
        self._chromium, self._page, self._fetched = chromium, page, fetched
        self._requests = self._bytes = 0
        self._handed = False
        self.given = [*fetched.exchanges]

    async def __call__(self, route: "Route") -> None:
        from playwright.async_api import Error

        try:
            found = await self._found(route)
            if found is None:
                # "aborted", because any other failure of a page's own going on would show an error in its place.
                await route.abort("aborted")
            else:
                content_type, body = found.content_type, found.body
                if route.request.resource_type == "document":
                    content_type, body = _in_utf8(found, required=found is self._fetched)
                headers = {"content-type": content_type, "access-control-allow-origin": "*"}
                await route.fulfill(status=200, headers=headers, body=body)
        except Error:
            return  # the page is closed by now

    async def _found(self, route: "Route") -> Fetched | None:
        request = route.request
        if request.is_navigation_request() and request.frame == self._page.main_frame:
            first, self._handed = not self._handed, True
            return self._fetched if first else None
        kinds = _SHOWN | _RUNNING if self._chromium.limits.scripts else _SHOWN
        self._requests += 1
        if request.method != "GET" or request.resource_type not in kinds or self._requests > MOST_REQUESTS:
            return None
        try:
            found = await follow(request.url, self._chromium.parts, self._chromium.policy)
        except FetchError:
            return None
        self._bytes += len(found.body)
        if self._bytes > MOST_BYTES:
            return None
        self.given += found.exchanges
        return found


@asynccontextmanager
async def guarded_chromium(policy: WebPolicy, limits: Limits) -> AsyncIterator[GuardedChromium]:
    """Raises InputError where there is no Chromium or no playwright."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        raise InputError("there is no Chromium on the PATH", hint="apt-get install chromium", code="no_browser")
    try:
        import playwright.async_api  # noqa: F401
    except ImportError:
        raise InputError("playwright is not installed", hint=to_install("build"), code="missing_extra") from None

    policy = replace(policy, seconds=min(policy.seconds, limits.seconds))
    client = LiveHttpClient(policy)
    # One page's parts are one visit: of its hosts only the page itself is asked for at their pace.
    parts = LiveHttpClient(replace(policy, robots=False, delay_seconds=0.0))
    async with AsyncExitStack() as stack:
        for each in (client, parts):
            stack.push_async_callback(each.close)
        refused: list[str] = []
        proxy = await stack.enter_async_context(_nowhere(refused))
        # Its folder is Chromium's home, and goes also where we are killed.
        keeper = ProcessKeeper()
        stack.push_async_callback(keeper.close)
        started = await stack.enter_async_context(_Started(program, proxy, str(keeper.folder)))
        yield GuardedChromium(started, client, parts, policy, limits, refused)


class _Started:
    """Chromium, which is started again where a page has ended it, or the program that steers it."""

    def __init__(self, program: str, proxy: str, home: str) -> None:
        self._program, self._proxy, self._home = program, proxy, home
        self._browser: Browser | None = None
        self._ending = AsyncExitStack()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._end()

    async def context(self, **given: Any) -> "BrowserContext":
        from playwright.async_api import Error

        if self._browser is not None:
            with suppress(Error):
                return await self._browser.new_context(**given)
            await self._end()
        return await (await self._start()).new_context(**given)

    async def _start(self) -> "Browser":
        """Raises InputError where it cannot be started."""
        from playwright.async_api import Error, async_playwright

        playwright = await self._ending.enter_async_context(async_playwright())
        try:
            self._browser = await playwright.chromium.launch(
                executable_path=self._program,
                args=[*_ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])],
                # Without <-loopback> Chromium would go to this machine's own addresses directly.
                proxy={"server": self._proxy, "bypass": "<-loopback>"},
                env={"PATH": os.environ.get("PATH", ""), "HOME": self._home},
            )
        except Error as error:
            await self._end()
            raise InputError(
                f"{self._program} does not start: {one_line(error.message, 300)}",
                hint="try it by itself: chromium --headless --version",
                code="no_browser",
            ) from None
        self._ending.push_async_callback(self._browser.close)
        return self._browser

    async def _end(self) -> None:
        self._browser = None
        # Of what has ended already playwright says so by an exception of no kind of its own.
        with suppress(Exception):
            async with asyncio.timeout(_END_SECONDS):
                await self._ending.aclose()


@asynccontextmanager
async def _nowhere(refused: list[str]) -> AsyncIterator[str]:
    """A proxy that lets nothing through."""

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if line := one_line((await reader.readline()).decode("latin-1"), 300):
                refused.append(line)
            writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        except (OSError, ValueError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(refuse, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
