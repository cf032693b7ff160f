"""Pages for the browser: from the live web, recorded on the way, or replayed."""

from toolablate.tools.archive import StoredExchange
from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.extraction.options import ExtractionOptions
from toolablate.tools.misses import MISS_MESSAGES
from toolablate.tools.plain import one_line
from toolablate.tools.recorded.failures import MissedError
from toolablate.tools.recorded.hops import NO_NETWORK, RecordedHops
from toolablate.tools.recorded.page_cache import HELD_CHARS, PageCache
from toolablate.tools.recorded.texts import Extractor, RecordedTexts
from toolablate.tools.web import Exchange, FetchError, Hops, WebPolicy, follow, request_key
from toolablate.tools.web.follow import redirect_target
from toolablate.tools.web.urls import page_url
from toolablate.traces.errors import ToolError
from toolablate.traces.records import Lookup, PageText, clean_text

TITLE_CHARS = 200


class WebPages:
    """A `PageSource`. With `RecordedHops`, texts come from the same archive as the replies, and what was read is held
    in memory for the next who asks, up to `held_chars`; with live ones every page is fetched each time."""

    def __init__(self, hops: Hops, policy: WebPolicy, extractor: Extractor, *, held_chars: int = HELD_CHARS) -> None:
        self._policy = policy
        self._source = (
            _ArchivedTexts(hops, policy, extractor)
            if isinstance(hops, RecordedHops)
            else _LiveTexts(hops, policy, extractor)
        )
        self._cache = PageCache(held_chars) if isinstance(hops, RecordedHops) else None

    async def read(self, url: str) -> Page:
        """Raises PageUnreadableError, caused by a FetchError where there is one, and ToolError where this machine has
        no network at all."""
        try:
            place = page_url(url)
        except FetchError as error:
            key = request_key("GET", clean_text(url), language=self._policy.language)
            raise _unreadable(error, Lookup(kind="page", key=key) if error.policy else None) from error
        lookup = Lookup(kind="page", key=request_key("GET", place, language=self._policy.language))
        if self._cache is None:
            return await self._read(place, lookup)
        page = self._cache.get(lookup.key)
        if page is None:
            page = await self._read(place, lookup)
            self._cache.put(lookup.key, page)
        return page

    async def _read(self, place: str, lookup: Lookup) -> Page:
        try:
            url, text = await self._source.read(place)
        except FetchError as error:
            raise _unreadable(error, lookup) from error
        if text.code:
            message = f"{one_line(url, 300)}: {text.reason}"
            raise PageUnreadableError(message, code=text.code, lookup=lookup)
        return Page.of(url, one_line(text.title, TITLE_CHARS) or url, text.text, text.links, lookup)


class _LiveTexts:
    def __init__(self, hops: Hops, policy: WebPolicy, extractor: Extractor) -> None:
        self._hops = hops
        self._policy = policy
        self._extractor = extractor

    async def read(self, place: str) -> tuple[str, PageText]:
        """Where the page was found in the end, and its text. Raises FetchError."""
        fetched = await follow(place, self._hops, self._policy)
        options = ExtractionOptions(url=fetched.url, content_type=fetched.content_type)
        return fetched.url, await self._extractor.extract(fetched.body, options)


class _ArchivedTexts:
    def __init__(self, hops: RecordedHops, policy: WebPolicy, extractor: Extractor) -> None:
        self._hops = hops
        self._policy = policy
        self._texts = RecordedTexts(hops.archive, extractor, keep=hops.records, limit=policy.decoded_bytes)

    async def read(self, place: str) -> tuple[str, PageText]:
        heads = _Heads(self._hops)
        fetched = await follow(place, heads, self._policy)
        return fetched.url, await self._texts.read(heads.found[-1])


class _Heads:
    """Hops without bodies: where the text is in the archive they are not needed, and reading them takes longest."""

    def __init__(self, hops: RecordedHops) -> None:
        self._hops = hops
        self.found: list[StoredExchange] = []

    async def get(self, url: str) -> Exchange:
        stored = await self._hops.find(url)
        self.found.append(stored)
        if stored.status != 200 and redirect_target(url, stored.status, stored.location) is None:
            return stored.read()
        headers = (("location", stored.location), ("content-type", stored.content_type))
        return Exchange(url, stored.status, "", headers, b"", stored.captured_at)


def _unreadable(error: FetchError, lookup: Lookup | None) -> PageUnreadableError:
    """What a model is told. Whatever a policy forbids is told in the same words, live and replayed."""
    if error.code == NO_NETWORK:
        raise ToolError(
            f"browser_open: {error.message}",
            hint="this machine reaches no network; replay an archive, or connect it",
            code=NO_NETWORK,
            retryable=True,
        )
    if error.policy:
        return _blocked(error, lookup)
    if isinstance(error, MissedError) and lookup is not None:
        lookup = lookup.model_copy(update={"miss": error.miss, "nearest": error.nearest})
    return PageUnreadableError(error.message, code=error.code, lookup=lookup)


def _blocked(error: FetchError, lookup: Lookup | None) -> PageUnreadableError:
    miss = "blocked_by_policy"
    blocked = lookup and lookup.model_copy(update={"miss": miss, "reason": clean_text(error.message)})
    return PageUnreadableError(MISS_MESSAGES["blocked_by_policy"], code=miss, lookup=blocked)
