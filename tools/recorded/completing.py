"""What a recording that was cut short left undone."""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from toolablate.tools.archive import Archive, StoredExchange
from toolablate.tools.recorded.texts import Extractor, RecordedTexts, has_text
from toolablate.tools.web import FetchError

AT_ONCE = 4

Tell = Callable[[int, int], None]
"""Is told how many pages are done, of how many."""


def has_all_texts(archive: Archive) -> bool:
    """Whether of each page that was recorded it is kept what was read of it."""
    return all(has_text(archive, stored) for stored in archive.pages())


async def complete_texts(archive: Archive, extractor: Extractor, *, limit: int, tell: Tell) -> int:
    """Reads the pages that were kept without a text, so that every replay gives the same one; says how many there were.

    `limit` is that of a body unpacked, in bytes. One that cannot be read is kept as such.
    """
    texts = RecordedTexts(archive, extractor, keep=True, limit=limit)
    lacking = [stored for stored in archive.pages() if not has_text(archive, stored)]
    places, done = asyncio.Semaphore(AT_ONCE), 0

    async def complete(stored: StoredExchange) -> None:
        nonlocal done
        async with places:
            # Kept, and told in a replay.
            with suppress(FetchError):
                await texts.read(stored)
        done += 1
        tell(done, len(lacking))

    await asyncio.gather(*map(complete, lacking))
    return len(lacking)
