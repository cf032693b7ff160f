"""Failures that may pass: what counts when a page fails, and fails otherwise, and is had in the end."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from tests.tools.recorded.conftest import LONG_AGO, PARAGRAPHS, Reader, replaying, sealed, unreadable
from tests.tools.web_server import article

from toolablate.tools.archive import Archive, info
from toolablate.tools.recorded import RecordedHttpClient, WebPages
from toolablate.tools.web import Exchange, FetchError, WebPolicy

URL = "https://example.org/series"


@dataclass
class Moods:
    """Each request meets the next of these: a status, or an error."""

    moods: list[int | FetchError]
    asked: list[str] = field(default_factory=list)
    headers: tuple[tuple[str, str], ...] = (("content-type", "text/html; charset=utf-8"),)

    async def get(self, url: str) -> Exchange:
        self.asked.append(url)
        mood = self.moods.pop(0)
        if isinstance(mood, FetchError):
            raise mood
        body = article(f"Capture {len(self.asked)}", *PARAGRAPHS).encode() if mood == 200 else b""
        return Exchange(url, mood, "Told", self.headers, body, datetime.now(UTC))


def recording(archive: Archive, client: Moods, *, refresh: bool = False) -> WebPages:
    return WebPages(RecordedHttpClient(archive, "record", client, refresh=refresh), WebPolicy(), Reader())


PASSING = [408, 425, 429, 500, 502, 503, 504]


@pytest.mark.parametrize("status", PASSING)
async def test_a_status_that_may_pass_is_asked_for_again_and_a_good_one_counts(archive: Archive, status: int) -> None:
    client = Moods([status, status, 200])
    pages = recording(archive, client)
    for _ in range(2):
        error = await unreadable(pages, URL)
        assert (error.code, error.message) == (f"http_{status}", f"{URL}: HTTP {status} Told")
    page = await pages.read(URL)
    assert "Capture 3" in page.title
    assert await recording(archive, client).read(URL) == page
    assert await replaying(sealed(archive), WebPolicy()).read(URL) == page
    assert len(client.asked) == 3


@pytest.mark.parametrize("status", PASSING)
async def test_a_status_that_never_passed_is_shown_as_it_was(archive: Archive, status: int) -> None:
    recorded = await unreadable(recording(archive, Moods([status])), URL)
    assert recorded.lookup is not None
    assert recorded.lookup.miss is None
    frozen = sealed(archive)
    replayed = await unreadable(replaying(frozen, WebPolicy()), URL)
    assert (replayed.code, replayed.message) == (recorded.code, recorded.message)
    assert replayed.lookup is not None
    assert replayed.lookup.miss == "recorded_error"
    assert info(frozen.path).failures == {"exchange": 1}


async def test_a_status_that_will_not_pass_is_the_last_word(archive: Archive) -> None:
    client = Moods([404])
    for _ in range(2):
        assert (await unreadable(recording(archive, client), URL)).code == "http_404"
    assert info(archive.path).failures == {}


@pytest.mark.parametrize("failure", [503, FetchError("nobody answers", code="timeout", transient=True)])
async def test_refreshing_replaces_no_page_by_a_failure(archive: Archive, failure: int | FetchError) -> None:
    page = await recording(archive, Moods([200])).read(URL)
    refreshing = recording(archive, Moods([failure, 404]), refresh=True)
    told = await unreadable(refreshing, URL)
    assert told.code == ("http_503" if failure == 503 else "timeout")
    frozen = sealed(archive)
    for as_of in None, datetime.now(UTC):
        assert await replaying(frozen, WebPolicy(), as_of=as_of).read(URL) == page


ROBOTS = FetchError("robots.txt forbids it", code="robots", policy=True)
NO_NAME = FetchError("there is no such name", code="dns", transient=True)
LARGE = FetchError("it is too large", code="too_large")


@pytest.mark.parametrize(
    ("moods", "code"),
    [
        ([ROBOTS, NO_NAME], "dns"),
        ([NO_NAME, NO_NAME, ROBOTS], "blocked_by_policy"),
        ([503, NO_NAME], "dns"),
        ([NO_NAME, 503], "http_503"),
        ([503, 429], "http_429"),
        ([503, LARGE], "too_large"),
    ],
)
async def test_the_newest_failure_counts(archive: Archive, moods: Sequence[int | FetchError], code: str) -> None:
    client = Moods(list(moods))
    for _ in moods:
        recorded = await unreadable(recording(archive, client), URL)
    assert recorded.code == code
    replayed = await unreadable(replaying(sealed(archive), WebPolicy()), URL)
    assert (replayed.code, replayed.message) == (recorded.code, recorded.message)


@pytest.mark.parametrize("failure", [503, NO_NAME])
async def test_a_failure_captured_later_is_beyond_the_cutoff(archive: Archive, failure: int | FetchError) -> None:
    await unreadable(recording(archive, Moods([failure])), URL)
    frozen, now = sealed(archive), datetime.now(UTC)
    for as_of, miss in ((LONG_AGO, "after_cutoff"), (now + timedelta(days=1), "recorded_error")):
        error = await unreadable(replaying(frozen, WebPolicy(), as_of=as_of), URL)
        assert error.lookup is not None
        assert error.lookup.miss == miss
    absent = await unreadable(replaying(frozen, WebPolicy(), as_of=LONG_AGO), "https://example.org/other")
    assert absent.code == "not_in_archive"
