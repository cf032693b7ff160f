"""Seals an archive, after reading what a recording that was cut short left unread."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from toolablate.experiments.world.recording import Tell

if TYPE_CHECKING:
    from toolablate.tools.archive import Archive, Seal


def seal_archive(path: Path, *, tell: Tell) -> "Seal":
    """`tell` is told of the pages that are read on the way. Raises InputError as `tools.archive.seal`."""
    from toolablate.tools.archive import open_archive, seal
    from toolablate.tools.recorded import has_all_texts

    with open_archive(path) as archive:
        whole = archive.sealed or has_all_texts(archive)
    if not whole:
        with open_archive(path, write=True) as archive:
            asyncio.run(_complete(archive, tell))
    return seal(path)


async def _complete(archive: "Archive", tell: Tell) -> None:
    from toolablate.tools.extraction import ExtractionWorker
    from toolablate.tools.recorded import complete_texts
    from toolablate.tools.web import WebPolicy

    extractor = ExtractionWorker()
    try:
        await complete_texts(archive, extractor, limit=WebPolicy().decoded_bytes, tell=tell)
    finally:
        await extractor.close()
