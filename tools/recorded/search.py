"""Searches by way of an archive."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

from pydantic import JsonValue

from toolablate.tools.archive import Archive, ArchiveEntry, Missing
from toolablate.tools.recorded.lookups import Mode, SingleFlight, find_replayed, record_of
from toolablate.tools.search.provider import SearchOutcome, SearchProvider, SearchQuery, as_asked, search_key
from toolablate.tools.text import MISS_MESSAGES
from toolablate.traces.records import Lookup, MissKind, SearchReply, canonical_json


class RecordedSearch:
    """Replays the searches of a provider, and in `record` makes those that the archive has not.

    `name` and `parameters` are the provider's; `provider` itself is needed to record only. A search that failed is kept
    as such and made again the next time: the first that did not fail counts. `refresh` makes each search anew, once in
    this process. `as_of` leaves out what was captured later.
    """

    def __init__(
        self,
        name: str,
        parameters: Mapping[str, JsonValue],
        archive: Archive,
        mode: Mode,
        provider: SearchProvider | None = None,
        *,
        as_of: datetime | None = None,
        refresh: bool = False,
    ) -> None:
        if (mode == "record") != (provider is not None):
            raise ValueError("a provider is for recording, and needed for it")
        self._name = name
        self._parameters = dict(parameters)
        self._archive = archive
        self._provider = provider
        self._as_of = as_of
        self._refresh = refresh
        self._refreshed: set[str] = set()
        self._flights: SingleFlight[SearchReply] = SingleFlight()

    @property
    def name(self) -> str:
        return self._name

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        asked = as_asked(asked)
        key = search_key(self._name, self._parameters, asked)
        request = self._request(asked)
        if self._provider is None:
            return self._replayed(key, await find_replayed(self._archive, "search", key, request, self._as_of))
        found = self._archive.find("search", key, request, as_of=self._as_of)
        if isinstance(found, ArchiveEntry) and not found.failed and not self._is_stale(key):
            reply = self._reply(found)
        else:
            provider = self._provider
            reply = await self._flights.run(key, lambda: self._record(provider, asked, key, request))
        return SearchOutcome(reply, Lookup(kind="search", key=key))

    def _replayed(self, key: str, found: ArchiveEntry | Missing) -> SearchOutcome:
        if isinstance(found, Missing):
            return _missed(key, found.kind, found.nearest)
        if found.failed:
            return _missed(key, "recorded_error", "")
        return SearchOutcome(self._reply(found), Lookup(kind="search", key=key))

    async def _record(self, provider: SearchProvider, asked: SearchQuery, key: str, request: str) -> SearchReply:
        searched = await provider.search(asked)
        reply = searched.reply
        failed = reply.status not in ("ok", "empty")

        refresh = self._is_stale(key)

        def keep() -> ArchiveEntry:
            if searched.raw:
                self._archive.keep_raw(searched.raw)
            content = reply.to_json().encode()
            return self._archive.keep("search", key, request, content, reply.fetched_at, failed=failed, refresh=refresh)

        kept = await asyncio.to_thread(keep)
        if failed and (refresh or kept.failed):
            # What counts is an older one, but who asked must learn what came of it this time.
            return reply
        self._refreshed.add(key)
        return self._reply(kept)

    def _is_stale(self, key: str) -> bool:
        return self._refresh and key not in self._refreshed

    def _reply(self, entry: ArchiveEntry) -> SearchReply:
        return record_of(SearchReply, entry, self._archive)

    def _request(self, asked: SearchQuery) -> str:
        before = f", before {asked.before.isoformat()}" if asked.before else ""
        parameters = f" {canonical_json(self._parameters)}" if self._parameters else ""
        return f"{asked.query} [{asked.max_results} results{before}, {self._name}{parameters}]"


def _missed(key: str, miss: MissKind, nearest: str) -> SearchOutcome:
    return SearchOutcome(None, Lookup(kind="search", key=key, miss=miss, nearest=nearest), MISS_MESSAGES[miss])
