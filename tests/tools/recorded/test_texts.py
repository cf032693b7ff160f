"""Which text of a page counts: that of its capture, whatever is installed, added or failing later."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.tools.recorded.conftest import PARAGRAPHS, Reader, policy_for, recording, replaying, sealed, unreadable
from tests.tools.web_server import WebServer, article, reply, zipped

from toolablate.tools.archive import Archive, create_overlay, open_archive
from toolablate.tools.recorded import RecordedHttpClient, complete_texts
from toolablate.tools.web import LiveHttpClient, WebPolicy

NO_LIMIT = 1_000_000_000


async def hop(archive: Archive, policy: WebPolicy, url: str) -> None:
    """As a recording does that is killed before the text is read."""
    await RecordedHttpClient(archive, "record", LiveHttpClient(policy)).get(url)


async def completed(archive: Archive, reader: Reader) -> tuple[int, list[tuple[int, int]]]:
    told: list[tuple[int, int]] = []
    count = await complete_texts(archive, reader, limit=NO_LIMIT, tell=lambda *done: told.append(done))
    return count, told


async def test_a_capture_keeps_its_text_whatever_is_added_later(
    web: WebServer, archive: Archive, policy: WebPolicy, tmp_path: Path
) -> None:
    url = web.url("/series")
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    old = await recording(archive, policy, Reader("reader 1", mark=" by the old one")).read(url)
    base, between = sealed(archive), datetime.now(UTC)
    create_overlay(tmp_path / "overlay", base.path)
    with open_archive(tmp_path / "overlay", write=True) as overlay:
        newer = Reader("reader 2", mark=" by the new one")
        new = await recording(overlay, policy, newer, refresh=True).read(url)
    assert (old.title[-11:], new.title[-11:]) == ("the old one", "the new one")
    frozen = sealed(overlay)
    assert await replaying(frozen, policy, Reader("reader 3")).read(url) == new
    assert await replaying(frozen, policy, Reader("reader 3"), as_of=between).read(url) == old


async def test_pages_without_a_text_are_completed(
    web: WebServer, archive: Archive, policy: WebPolicy, tmp_path: Path
) -> None:
    web.pages = {f"/{number}": reply(article(f"Series {number}", *PARAGRAPHS)) for number in range(3)}
    web.pages |= {
        "/broken": zipped("x" * 100)[:-9].replace(b"Content-Length", b"X-Length"),
        "/none": reply(status="404"),
    }
    await recording(archive, policy).read(web.url("/0"))
    for path in ("/1", "/2", "/broken", "/none"):
        await hop(archive, policy, web.url(path))
    broken = await unreadable(recording(archive, policy), web.url("/broken"))
    await hop(archive, policy, web.url("/2"))
    assert await completed(archive, Reader(codes=["timeout"])) == (2, [(1, 2), (2, 2)])
    assert await completed(archive, Reader()) == (0, [])
    frozen, reader = sealed(archive), Reader("reader 2")
    replay = replaying(frozen, policy, reader)
    outcomes = [(await unreadable(replay, web.url("/1"))).code for _ in range(2)]
    assert outcomes == ["timeout", "timeout"]
    assert "Series 2" in (await replay.read(web.url("/2"))).title
    told = await unreadable(replay, web.url("/broken"))
    assert (told.code, told.message) == ("bad_encoding", broken.message)
    assert reader.read == 0
    create_overlay(tmp_path / "overlay", frozen.path)
    with open_archive(tmp_path / "overlay", write=True) as overlay:
        assert await completed(overlay, Reader()) == (0, [])


async def test_what_could_not_be_unpacked_stays_so_whatever_the_limit_of_the_replay(
    web: WebServer, archive: Archive
) -> None:
    web.pages = {"/long": zipped(article("Long", *PARAGRAPHS * 50))}
    recorded = await unreadable(recording(archive, policy_for(web, decoded_bytes=2_000)), web.url("/long"))
    assert await completed(archive, Reader()) == (0, [])
    replayed = await unreadable(replaying(sealed(archive), policy_for(web)), web.url("/long"))
    assert (replayed.code, replayed.message) == (recorded.code, recorded.message) == ("too_large", recorded.message)


@pytest.mark.parametrize("code", ["timeout", "crashed"])
async def test_a_replay_stays_with_what_first_came_of_a_page_without_text(
    web: WebServer, archive: Archive, policy: WebPolicy, code: str
) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    await hop(archive, policy, web.url("/series"))
    replay = replaying(sealed(archive), policy, Reader(codes=[code]))
    assert [(await unreadable(replay, web.url("/series"))).code for _ in range(3)] == [code] * 3
