import asyncio
import threading
from datetime import UTC, date, datetime

import pytest
from tests.tools.recorded.conftest import LONG_AGO, Provider, sealed

from toolablate.tools.archive import Archive
from toolablate.tools.archive.captures import Requests
from toolablate.tools.recorded import RecordedSearch
from toolablate.tools.search.provider import LiveSearch, SearchQuery
from toolablate.tools.text import MISS_MESSAGES
from toolablate.traces.errors import ToolError

QUERY = SearchQuery("harmonic series", 10)


def recording(archive: Archive, provider: Provider, *, refresh: bool = False) -> RecordedSearch:
    return RecordedSearch(provider.name, provider.parameters, archive, "record", provider, refresh=refresh)


def replaying(archive: Archive, as_of: datetime | None = None) -> RecordedSearch:
    return RecordedSearch("made-up", {"region": "us-en"}, archive, "replay", as_of=as_of)


async def test_a_replay_gives_the_envelope_as_it_was_recorded(archive: Archive) -> None:
    provider = Provider()
    recorded = await recording(archive, provider).find(QUERY)
    replayed = await replaying(sealed(archive)).find(QUERY)
    assert recorded.reply is not None
    assert recorded.reply.results[0].url == "https://example.org/1"
    assert replayed == recorded
    assert len(provider.asked) == 1


async def test_live_and_recorded_searches_have_one_key(archive: Archive) -> None:
    live = await LiveSearch(Provider()).find(QUERY)
    recorded = await recording(archive, Provider()).find(QUERY)
    assert live.lookup == recorded.lookup
    assert live.reply is not None
    assert live.reply.status == "ok"


async def test_what_is_recorded_is_not_asked_again(archive: Archive) -> None:
    provider = Provider()
    search = recording(archive, provider)
    replies = [(await search.find(QUERY)).reply for _ in range(3)]
    later = (await recording(archive, Provider()).find(QUERY)).reply
    assert replies == [later] * 3
    assert len(provider.asked) == 1


async def test_searches_at_the_same_time_are_one(archive: Archive) -> None:
    provider = Provider()
    search = recording(archive, provider)
    found = await asyncio.gather(*(search.find(QUERY) for _ in range(20)))
    assert len(provider.asked) == 1
    assert len({each.reply.to_json() for each in found if each.reply}) == 1


@pytest.mark.parametrize("query", ["  café au lait\n", "cafe\u0301 au lait", "café \t au\u3000 lait"])
async def test_spellings_of_one_query_are_one(archive: Archive, query: str) -> None:
    await recording(archive, Provider()).find(SearchQuery("café au lait"))
    assert (await replaying(sealed(archive)).find(SearchQuery(query))).reply is not None


@pytest.mark.parametrize(
    ("recorded", "wanted", "asked"), [(10, 2, 10), (1, 10, 10), (11, 20, 20), (50, 21, 50), (60, 60, 60)]
)
async def test_a_recording_of_more_results_serves_who_wants_fewer(
    archive: Archive, recorded: int, wanted: int, asked: int
) -> None:
    provider = Provider()
    first = await recording(archive, provider).find(SearchQuery("harmonic series", recorded))
    assert [each.max_results for each in provider.asked] == [asked]
    live = Provider()
    lookup = (await LiveSearch(live).find(SearchQuery("harmonic series", wanted))).lookup
    assert [each.max_results for each in live.asked] == [asked]
    replayed = await replaying(sealed(archive)).find(SearchQuery("harmonic series", wanted))
    assert replayed == first
    assert replayed.lookup == lookup


@pytest.mark.parametrize(
    "other",
    [
        SearchQuery("Harmonic series", 10),
        SearchQuery("harmonic series", 11),
        SearchQuery("harmonic series", 10, date(2024, 1, 1)),
        SearchQuery("harmonic series \ud800", 10),
    ],
)
async def test_another_search_is_a_miss_that_names_the_nearest_to_the_trace_alone(
    archive: Archive, other: SearchQuery
) -> None:
    await recording(archive, Provider()).find(QUERY)
    found = await replaying(sealed(archive)).find(other)
    assert found.reply is None
    assert found.lookup.miss == "not_in_archive"
    assert "harmonic series [10 results, made-up" in found.lookup.nearest
    assert found.message == MISS_MESSAGES["not_in_archive"]
    assert "harmonic" not in found.message


async def test_other_parameters_are_another_search(archive: Archive) -> None:
    await recording(archive, Provider()).find(QUERY)
    await recording(archive, Provider(parameters={"region": "cn-zh"})).find(QUERY)
    frozen = sealed(archive)
    assert (await replaying(frozen).find(QUERY)).reply is not None
    other = await RecordedSearch("other", {"region": "us-en"}, frozen, "replay").find(QUERY)
    assert other.lookup.miss == "not_in_archive"


async def test_what_failed_is_told_and_asked_again_until_it_succeeds(archive: Archive) -> None:
    provider = Provider(["rate_limited", "timeout"])
    search = recording(archive, provider)
    statuses = [found.reply.status for found in [await search.find(QUERY) for _ in range(4)] if found.reply]
    assert statuses == ["rate_limited", "timeout", "ok", "ok"]
    assert len(provider.asked) == 3
    replayed = await replaying(sealed(archive)).find(QUERY)
    assert replayed.reply is not None
    assert replayed.reply.results[0].url == "https://example.org/3"


async def test_a_search_that_found_nothing_is_replayed_as_such(archive: Archive) -> None:
    provider = Provider(["empty"])
    search = recording(archive, provider)
    assert await search.find(QUERY) == await search.find(QUERY)
    replayed = await replaying(sealed(archive)).find(QUERY)
    assert replayed.reply is not None
    assert replayed.reply.status == "empty"
    assert len(provider.asked) == 1


async def test_a_search_that_only_failed_is_a_miss(archive: Archive) -> None:
    await recording(archive, Provider(["blocked"])).find(QUERY)
    found = await replaying(sealed(archive)).find(QUERY)
    assert (found.reply, found.lookup.miss) == (None, "recorded_error")
    assert found.message == MISS_MESSAGES["recorded_error"]


async def test_what_was_captured_later_is_not_there_as_of_a_date(archive: Archive) -> None:
    await recording(archive, Provider()).find(QUERY)
    frozen = sealed(archive)
    assert (await replaying(frozen, LONG_AGO).find(QUERY)).lookup.miss == "after_cutoff"
    assert (await replaying(frozen, datetime.now(UTC)).find(QUERY)).reply is not None


async def test_refreshing_asks_once_more_and_the_newest_counts(archive: Archive) -> None:
    provider = Provider()
    first = await recording(archive, provider).find(QUERY)
    refreshing = recording(archive, provider, refresh=True)
    second = await refreshing.find(QUERY)
    assert await refreshing.find(QUERY) == second
    assert len(provider.asked) == 2
    frozen = sealed(archive)
    assert await replaying(frozen).find(QUERY) == second
    assert first.reply is not None
    assert await replaying(frozen, first.reply.fetched_at).find(QUERY) == first


async def test_a_refresh_that_failed_says_so_and_loses_nothing(archive: Archive) -> None:
    first = await recording(archive, Provider()).find(QUERY)
    failed = await recording(archive, Provider(["timeout"]), refresh=True).find(QUERY)
    assert failed.reply is not None
    assert failed.reply.status == "timeout"
    assert await replaying(sealed(archive)).find(QUERY) == first


async def test_the_reply_as_it_came_is_kept(archive: Archive) -> None:
    await recording(archive, Provider()).find(QUERY)
    digest = archive.keep_raw(b"raw 1")
    assert sealed(archive).raw(digest) == b"raw 1"


async def test_an_envelope_of_a_newer_version_is_no_answer(archive: Archive) -> None:
    key = (await LiveSearch(Provider()).find(QUERY)).lookup.key
    archive.keep("search", key, "harmonic series", b'{"version": 2}', LONG_AGO)
    with pytest.raises(ToolError, match="cannot be read"):
        await replaying(sealed(archive)).find(QUERY)


def test_a_provider_is_for_recording_alone(archive: Archive) -> None:
    with pytest.raises(ValueError):
        RecordedSearch("made-up", {}, archive, "replay", Provider())
    with pytest.raises(ValueError):
        RecordedSearch("made-up", {}, archive, "record")


async def test_requests_are_compared_off_the_event_loop(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []

    class Watched(Requests):
        def nearest(self, request: str) -> str:
            threads.append(threading.current_thread())
            return super().nearest(request)

    monkeypatch.setattr("toolablate.tools.archive.archive.Requests", Watched)
    await recording(archive, Provider()).find(QUERY)
    replay = replaying(sealed(archive))
    assert (await replay.find(QUERY)).reply
    missed = await replay.find(SearchQuery("harmonic sums"))
    assert missed.lookup.nearest.startswith("harmonic series [10 results")
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()
