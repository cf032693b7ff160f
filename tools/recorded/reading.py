"""Reads records out of an archive."""

import asyncio
from datetime import datetime
from typing import TypeVar

from pydantic import ValidationError

from toolablate.tools.archive import Archive, Entry, EntryKind, Missing
from toolablate.traces.errors import ToolError
from toolablate.traces.records import Record

RecordT = TypeVar("RecordT", bound=Record)


def record_of(record: type[RecordT], entry: Entry, archive: Archive) -> RecordT:
    """Raises ToolError where the entry is none that this version can read."""
    try:
        return record.from_json(entry.content)
    except ValidationError:
        raise ToolError(
            f"{archive.path}: the {entry.kind} {entry.key} cannot be read",
            hint=f"toolablate web verify {archive.path} tells whether it is damaged; else a newer version wrote it",
            code="bad_archive",
        ) from None


async def find_replayed(
    archive: Archive, kind: EntryKind, key: str, request: str, as_of: datetime | None
) -> Entry | Missing:
    """As `Archive.find`; what takes long of it is kept off the event loop."""
    found = archive.find(kind, key, request, as_of=as_of, nearest=False)
    if isinstance(found, Entry):
        return found
    return await asyncio.to_thread(archive.find, kind, key, request, as_of=as_of)
