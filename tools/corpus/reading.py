"""Reads the text of files in processes that can be killed, several ahead of the one that is wanted next."""

import asyncio
import os
from concurrent.futures import Future
from threading import Thread
from typing import Self

from toolablate.tools.extraction import ExtractionOptions, ExtractionWorker
from toolablate.traces.records import PageText

PROCESSES = max(1, min(4, os.cpu_count() or 1))
SECONDS = 60.0
"""Of processor time for one document: a long one of the user's own may take longer than a page of the web."""


class Reading:
    """Has an event loop in a thread of its own, since whoever opens a corpus may be in one already."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="corpus-reading", daemon=True)
        self._worker: ExtractionWorker | None = None

    def start(self, body: bytes, url: str, content_type: str) -> "Future[PageText]":
        """The future raises ToolError where no process starts."""
        options = ExtractionOptions(url=url, content_type=content_type)
        return asyncio.run_coroutine_threadsafe(self._read(body, options), self._loop)

    async def _read(self, body: bytes, options: ExtractionOptions) -> PageText:
        if self._worker is None:
            self._worker = ExtractionWorker(processes=PROCESSES, seconds=SECONDS)
        return await self._worker.extract(body, options)

    async def _close(self) -> None:
        if self._worker is not None:
            await self._worker.close()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
