import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.tools.recorded.conftest import (
    LONG_AGO,
    PARAGRAPHS,
    Reader,
    policy_for,
    recording,
    replaying,
    sealed,
    unreadable,
)
from tests.tools.web_server import WebServer, article, redirect, reply, zipped

from toolablate.tools.archive import Archive, StoredExchange, create_overlay, open_archive
from toolablate.tools.browser.page import Page
from toolablate.tools.recorded import RecordedHttpClient, WebPages
from toolablate.tools.text import MISS_MESSAGES
from toolablate.tools.web import LiveHttpClient, WebPolicy
from toolablate.traces.errors import ToolError


async def test_a_replay_gives_the_page_as_it_was_recorded_and_asks_nobody(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": zipped(article("Series", *PARAGRAPHS))}
    recorded = await recording(archive, policy).read(web.url("/series#part"))
    assert len(web.requests) == 1
    reader = Reader()
    replayed = await replaying(sealed(archive), policy, reader).read(web.url("/series"))
    assert replayed == recorded
    assert "as Oresme proved" in replayed.text
    assert [link.url for link in replayed.links] == [web.url("/next")]
    assert (len(web.requests), reader.read) == (1, 0)


async def test_live_pages_are_fetched_each_time_and_have_the_same_key(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    live = WebPages(LiveHttpClient(policy), policy, Reader())
    pages = [await live.read(web.url("/series")) for _ in range(2)]
    assert len(web.requests) == 2
    assert pages[0] == await recording(archive, policy).read(web.url("/series"))


async def test_what_is_recorded_is_not_fetched_again(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("First", *PARAGRAPHS))}
    first = await recording(archive, policy).read(web.url("/series"))
    web.pages = {"/series": reply(article("Second", *PARAGRAPHS))}
    assert await recording(archive, policy).read(web.url("/series")) == first
    assert len(web.requests) == 1


async def test_readers_at_the_same_time_fetch_once(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    reader = Reader()
    pages = recording(archive, policy, reader)
    read = await asyncio.gather(*(pages.read(web.url("/series")) for _ in range(10)))
    assert len(web.requests) == reader.read == 1
    assert all(page == read[0] for page in read)


async def test_every_redirect_is_recorded_and_each_place_on_the_way_can_be_opened(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {
        "/a": redirect("/b", "301 Moved Permanently"),
        "/b": redirect(web.url("/c")),
        "/c": reply(article("Series", *PARAGRAPHS)),
    }
    recorded = await recording(archive, policy).read(web.url("/a"))
    assert recorded.url == web.url("/c")
    client = RecordedHttpClient(sealed(archive), "replay")
    assert [(await client.get(web.url(path))).status for path in ("/a", "/b", "/c")] == [301, 302, 200]
    replay = WebPages(client, policy, Reader())
    pages = [await replay.read(web.url(path)) for path in ("/a", "/b", "/c")]
    assert pages[0] == recorded
    assert {(page.url, page.text) for page in pages} == {(recorded.url, recorded.text)}
    assert len({page.lookup.key for page in pages if page.lookup}) == 3


async def test_a_page_that_was_not_recorded_is_a_miss(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    await recording(archive, policy).read(web.url("/series"))
    missed = await unreadable(replaying(sealed(archive), policy), web.url("/serie"))
    assert (missed.code, missed.message) == ("not_in_archive", MISS_MESSAGES["not_in_archive"])
    assert missed.lookup is not None
    assert (missed.lookup.miss, missed.lookup.nearest) == ("not_in_archive", web.url("/series"))


async def test_what_was_captured_later_is_not_there_as_of_a_date(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    page = await recording(archive, policy).read(web.url("/series"))
    frozen = sealed(archive)
    missed = await unreadable(replaying(frozen, policy, as_of=LONG_AGO), web.url("/series"))
    assert missed.lookup is not None
    assert missed.lookup.miss == missed.code == "after_cutoff"
    assert await replaying(frozen, policy, as_of=datetime.now(UTC)).read(web.url("/series")) == page


async def test_pages_in_another_language_are_other_pages(web: WebServer, archive: Archive) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    await recording(archive, policy_for(web, language="en")).read(web.url("/series"))
    await recording(archive, policy_for(web, language="zh")).read(web.url("/series"))
    assert len(web.requests) == 2
    missed = await unreadable(replaying(sealed(archive), policy_for(web, language="de")), web.url("/series"))
    assert missed.code == "not_in_archive"


async def test_the_text_is_the_recorded_one_whatever_extractor_is_installed(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    page = await recording(archive, policy).read(web.url("/series"))
    newer = Reader(identity="reader 2", mark=" by a newer reader")
    assert await recording(archive, policy, newer).read(web.url("/series")) == page
    assert await replaying(sealed(archive), policy, newer).read(web.url("/series")) == page
    assert newer.read == 0


async def test_a_payload_whose_text_was_not_recorded_is_read_from_the_archive(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": zipped(article("Series", *PARAGRAPHS))}
    await RecordedHttpClient(archive, "record", LiveHttpClient(policy)).get(web.url("/series"))
    reader = Reader()
    page = await replaying(sealed(archive), policy, reader).read(web.url("/series"))
    assert "as Oresme proved" in page.text
    assert (reader.read, len(web.requests)) == (1, 1)


async def test_refreshing_fetches_once_more_and_the_newest_counts(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    url = web.url("/series")
    web.pages = {"/series": reply(article("First", *PARAGRAPHS))}
    first = await recording(archive, policy).read(url)
    between = datetime.now(UTC)
    web.pages = {"/series": reply(article("Second", *PARAGRAPHS))}
    refreshing = recording(archive, policy, refresh=True)
    second = await refreshing.read(url)
    assert (await refreshing.read(url), len(web.requests)) == (second, 2)
    assert ("First" in first.title, "Second" in second.title) == (True, True)
    frozen = sealed(archive)
    assert await replaying(frozen, policy).read(url) == second
    assert await replaying(frozen, policy, as_of=between).read(url) == first


async def test_refreshing_reads_the_same_payload_anew(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    await recording(archive, policy).read(web.url("/series"))
    newer = Reader(identity="reader 2", mark=" by a newer reader")
    page = await recording(archive, policy, newer, refresh=True).read(web.url("/series"))
    assert page.title.endswith("by a newer reader")
    assert await replaying(sealed(archive), policy).read(web.url("/series")) == page


async def test_an_overlay_adds_pages_and_newer_ones_and_leaves_its_base_alone(
    web: WebServer, archive: Archive, policy: WebPolicy, tmp_path: Path
) -> None:
    web.pages = {path: reply(article("First", *PARAGRAPHS)) for path in ("/old", "/renewed")}
    old, first = [await recording(archive, policy).read(web.url(path)) for path in ("/old", "/renewed")]
    base = sealed(archive)
    web.pages = {path: reply(article("Second", *PARAGRAPHS)) for path in ("/old", "/renewed", "/new")}
    create_overlay(tmp_path / "overlay", base.path)
    with open_archive(tmp_path / "overlay", write=True) as overlay:
        new = await recording(overlay, policy).read(web.url("/new"))
        assert await recording(overlay, policy).read(web.url("/old")) == old
        second = await recording(overlay, policy, refresh=True).read(web.url("/renewed"))
    replay = replaying(sealed(overlay), policy)
    assert [await replay.read(web.url(path)) for path in ("/old", "/renewed", "/new")] == [old, second, new]
    assert second.text != first.text
    assert await replaying(base, policy).read(web.url("/renewed")) == first


async def test_a_page_held_in_memory_is_the_same_page(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    await recording(archive, policy).read(web.url("/series"))
    replay = replaying(sealed(archive), policy)
    first: Page = await replay.read(web.url("/series"))
    assert await replay.read(f" {web.url('/series')}#x") is first


async def test_a_text_of_a_newer_version_is_no_page(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    client = RecordedHttpClient(archive, "record", LiveHttpClient(policy))
    stored: StoredExchange = await client.find(web.url("/series"))
    from toolablate.tools.recorded.pages import first_key

    archive.keep("extraction", first_key(stored), stored.url, b"key", LONG_AGO)
    archive.keep("extraction", "key", stored.url, b'{"version": 2}', LONG_AGO)
    with pytest.raises(ToolError, match="cannot be read"):
        await replaying(sealed(archive), policy).read(web.url("/series"))


def test_a_live_client_is_for_recording_alone(archive: Archive, policy: WebPolicy) -> None:
    with pytest.raises(ValueError):
        RecordedHttpClient(archive, "replay", LiveHttpClient(policy))
    with pytest.raises(ValueError):
        RecordedHttpClient(archive, "record")
