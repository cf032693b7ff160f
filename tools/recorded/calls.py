"""Calls of any kind (those of MCP servers) by way of an archive."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime

from pydantic import JsonValue

from toolablate.tools.archive import Archive, ArchiveEntry, EntryKind, Missing
from toolablate.tools.recorded.lookups import Mode, find_replayed
from toolablate.traces.errors import InputError
from toolablate.traces.records import Lookup, canonical_json, clean_text, digest_text

Live = Callable[[], Awaitable[bytes]]


class RecordedCalls:
    """One result for each server, tool and arguments: the first. For what a server gives by its state (a counter), that
    is not the same as asking it again.

    `live` makes the call and gives its result as bytes; what it raises is passed on and not recorded. In `replay` it is
    never called; in `live` it always is, and there need be no archive. Calls at the same time are all made, since each
    belongs to a connection of its own, and all get the result that was kept first. `refresh` makes each call anew, once
    in this process. `as_of` leaves out what was captured later.
    """

    def __init__(
        self, archive: Archive | None, mode: Mode, *, as_of: datetime | None = None, refresh: bool = False
    ) -> None:
        if mode != "live" and archive is None:
            raise ValueError(f"no archive to {mode}")
        self._archive = None if mode == "live" else archive
        self._records = mode == "record"
        self._as_of = as_of
        self._refresh = refresh
        self._refreshed: set[str] = set()

    async def call(
        self, server: str, tool: str, arguments: Mapping[str, JsonValue], live: Live
    ) -> tuple[bytes | None, Lookup]:
        """The result, or None where `Lookup.miss` says why there is none (`tools.misses` has the words for it)."""
        given = clean_text(canonical_json(dict(arguments)))
        key = digest_text(clean_text(canonical_json(["mcp", server, tool, given])))
        lookup = Lookup(kind="mcp", key=key)
        content = await self._content("mcp", key, clean_text(f"{server} {tool} {given}"), live)
        if not isinstance(content, Missing):
            return content, lookup
        return None, lookup.model_copy(update={"miss": content.kind, "nearest": content.nearest})

    async def tools(self, server: str, live: Live) -> bytes:
        """The server's tools as listed. Raises InputError where they were not recorded."""
        key = digest_text(canonical_json(["mcp_tools", server]))
        content = await self._content("mcp_tools", key, server, live)
        if not isinstance(content, Missing):
            return content
        assert self._archive is not None
        raise InputError(
            f"{self._archive.path}: the tools of the MCP server {server} are not in it ({content.kind})",
            hint="record a run of this plan first; a server's command and URL must be those of the recording",
            code=content.kind,
        )

    async def _content(self, kind: EntryKind, key: str, request: str, live: Live) -> bytes | Missing:
        archive = self._archive
        if archive is None:
            return await live()
        if not self._records:
            replayed = await find_replayed(archive, kind, key, request, self._as_of)
            return replayed.content if isinstance(replayed, ArchiveEntry) else replayed
        if not self._is_stale(key):
            found = archive.find(kind, key, request, as_of=self._as_of)
            if isinstance(found, ArchiveEntry):
                return found.content
        return await self._record(archive, kind, key, request, live)

    async def _record(self, archive: Archive, kind: EntryKind, key: str, request: str, live: Live) -> bytes:
        content = await live()
        refresh = self._is_stale(key)
        kept = await asyncio.to_thread(archive.keep, kind, key, request, content, datetime.now(UTC), refresh=refresh)
        self._refreshed.add(key)
        return kept.content

    def _is_stale(self, key: str) -> bool:
        return self._records and self._refresh and key not in self._refreshed
