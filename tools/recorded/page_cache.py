"""Pages that were read before, up to a size."""

from collections import OrderedDict

from toolablate.tools.browser.page import Page

HELD_CHARS = 64_000_000
"""About 100 MB of memory."""
_LINK_CHARS = 500
"""A link takes about as much memory as so many characters of text."""


class PageCache:
    """Holds the pages that were asked for last. What is shown of them must not depend on whether they were held."""

    def __init__(self, max_chars: int) -> None:
        self._max_chars = max_chars
        self._chars = 0
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def get(self, key: str) -> Page | None:
        page = self._pages.get(key)
        if page is not None:
            self._pages.move_to_end(key)
        return page

    def put(self, key: str, page: Page) -> None:
        before = self._pages.pop(key, None)
        if before is not None:
            self._chars -= _size(before)
        self._pages[key] = page
        self._chars += _size(page)
        while self._chars > self._max_chars:
            _, dropped = self._pages.popitem(last=False)
            self._chars -= _size(dropped)


def _size(page: Page) -> int:
    return sum(map(len, page.lines)) + _LINK_CHARS * len(page.links)
