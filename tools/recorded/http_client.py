"""An HTTP client by way of an archive: single requests and their replies, redirects among them."""

import asyncio
from datetime import UTC, datetime

from toolablate.tools.archive import Archive, ArchiveEntry, Missing, StoredExchange
from toolablate.tools.recorded.lookups import (
    Mode,
    SingleFlight,
    error_of,
    failure_of,
    missed,
    passing_error,
    record_of,
    recorded_error,
)
from toolablate.tools.web import Exchange, FetchError, HttpClient, request_key
from toolablate.traces.records import FetchFailure


class RecordedHttpClient:
    """Replays what was fetched, and in `record` fetches by `live` what the archive has not.

    A failure that may pass (HTTP 503 is one), or that the policy of its time wanted, is not the last word: it is kept,
    the newest counts, and it is tried again when next recorded; what was had is never replaced by one. `refresh`
    fetches everything anew, once in this process. `as_of` leaves out what was captured later. `language` is what `live`
    asks for pages in.
    """

    def __init__(
        self,
        archive: Archive,
        mode: Mode,
        live: HttpClient | None = None,
        *,
        as_of: datetime | None = None,
        language: str = "en",
        refresh: bool = False,
    ) -> None:
        if (mode == "record") != (live is not None):
            raise ValueError("a live HTTP client is for recording, and needed for it")
        self.archive = archive
        self.refresh = refresh and live is not None
        self._live = live
        self._as_of = as_of
        self._language = language
        self._refreshed: set[str] = set()
        self._flights: SingleFlight[StoredExchange] = SingleFlight()

    @property
    def records(self) -> bool:
        return self._live is not None

    def key(self, url: str) -> str:
        return request_key("GET", url, language=self._language)

    async def get(self, url: str) -> Exchange:
        """Raises FetchError, also for a status that may pass; it is a `MissedError` for what a replay lacks."""
        return (await self.find(url)).read()

    async def find(self, url: str) -> StoredExchange:
        """As `get`, without reading headers and body. Replies that are failures are FetchErrors here."""
        key = self.key(url)
        stored = self._archived(key, url)
        if stored is not None:
            return stored
        live = self._live
        assert live is not None, "a replay knows each request to be there or not"
        return await self._flights.run(key, lambda: self._record(live, key, url))

    def _archived(self, key: str, url: str) -> StoredExchange | None:
        """None where it is to be fetched."""
        if self._is_stale(key):
            return None
        found = self.archive.find_exchange(key, url, as_of=self._as_of)
        if isinstance(found, StoredExchange) and not found.failed:
            return found
        failure = self._failure(key, url, found)
        if isinstance(failure, Missing):
            if self.records:
                return None
            raise missed(failure.kind, failure.nearest)
        if not self.records:
            raise recorded_error(failure)
        if failure.transient or failure.policy:
            return None
        raise error_of(failure)

    def _failure(self, key: str, url: str, found: StoredExchange | Missing) -> FetchFailure | Missing:
        """The newest, whether there was a reply (`found`) or none."""
        entry = self.archive.find("failure", key, url, as_of=self._as_of)
        if isinstance(found, Missing):
            if isinstance(entry, ArchiveEntry):
                return record_of(FetchFailure, entry, self.archive)
            return found if found.kind == "after_cutoff" else Missing(entry.kind, entry.nearest or found.nearest)
        if isinstance(entry, ArchiveEntry) and entry.captured_at > found.captured_at:
            return record_of(FetchFailure, entry, self.archive)
        error = passing_error(found.read())
        assert error is not None, "the others are good ones"
        return failure_of(error)

    async def _record(self, live: HttpClient, key: str, url: str) -> StoredExchange:
        refresh = self._is_stale(key)
        try:
            exchange = await live.get(url)
        except FetchError as error:
            if error.code != NO_NETWORK:
                content = failure_of(error).to_json().encode()
                await asyncio.to_thread(self.archive.keep, "failure", key, url, content, datetime.now(UTC), failed=True)
            raise
        passing = passing_error(exchange)
        stored = await asyncio.to_thread(
            self.archive.keep_exchange, key, exchange, failed=passing is not None, refresh=refresh
        )
        if passing is not None and (refresh or stored.failed):
            # What counts may be an older one, but who asked must learn what came of it this time.
            raise passing
        self._refreshed.add(key)
        return stored

    def _is_stale(self, key: str) -> bool:
        return self.refresh and key not in self._refreshed


NO_NETWORK = "no_network"
"""The code of a failure that says nothing of the page: this machine reaches no other."""
