"""The pages of the live web."""

import asyncio

from toolablate.tools.browser.extract import page_of
from toolablate.tools.browser.fetch import fetch
from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.browser.policy import FetchPolicy

EXTRACTION_SECONDS = 20.0


class WebPages:
    """Fetches pages under a policy and extracts their text."""

    def __init__(self, policy: FetchPolicy | None = None) -> None:
        self._policy = policy or FetchPolicy()

    async def read(self, url: str) -> Page:
        fetched = await fetch(url, self._policy)
        try:
            async with asyncio.timeout(EXTRACTION_SECONDS):
                return await asyncio.to_thread(page_of, fetched)
        except TimeoutError:
            raise PageUnreadableError(
                f"{fetched.url}: its text could not be extracted in time", code="timeout"
            ) from None
