from typing import Any

import pytest
from tests.tools.recorded.conftest import PARAGRAPHS, Reader, policy_for, recording, replaying, sealed, unreadable
from tests.tools.web_server import Drip, WebServer, article, redirect, reply, zipped

from toolablate.tools.archive import Archive
from toolablate.tools.recorded import RecordedHttpClient, WebPages
from toolablate.tools.text import MISS_MESSAGES
from toolablate.tools.web import Exchange, FetchError, LiveHttpClient, WebPolicy
from toolablate.traces.errors import ToolError


def broken() -> bytes:
    return zipped("text " * 100)[:-20].replace(b"Content-Length", b"X-Length")


REPLIES: dict[str, tuple[Any, str]] = {
    "absent": (reply("gone", status="404 Not Found"), "http_404"),
    "moved to nowhere": (reply(status="404 Not Found", Location="/x"), "http_404"),
    "not modified": (reply(status="304 Not Modified", Location="/x"), "http_304"),
    "server's fault": (reply("", status="500 Internal Server Error"), "http_500"),
    "loop": (redirect("/page"), "too_many_redirects"),
    "redirect to no URL": (redirect("http://[/"), "bad_url"),
    "broken": (broken(), "bad_encoding"),
    "binary": (reply(b"\x89PNG\r\n\x1a\n" + bytes(range(256)), kind="image/png"), "not_text"),
    "blank": (reply("<html><body></body></html>"), "no_text"),
    "no reply": (b"", "bad_reply"),
    "silent": (Drip((b"HTTP/1.1 200 OK\r\n",), 30), "timeout"),
    "large": (reply("x" * 200_000), "too_large"),
}


@pytest.mark.parametrize("case", REPLIES)
async def test_what_cannot_be_read_is_told_in_the_same_words(case: str, web: WebServer, archive: Archive) -> None:
    policy = policy_for(web, seconds=0.3 if case == "silent" else 5.0, wire_bytes=100_000)
    web.pages["/page"], code = REPLIES[case]
    recorded = await unreadable(recording(archive, policy), web.url("/page"))
    assert recorded.code == code
    web.pages = {}
    replayed = await unreadable(replaying(sealed(archive), policy), web.url("/page"))
    assert (replayed.message, replayed.code) == (recorded.message, recorded.code)
    assert replayed.lookup is not None
    assert recorded.lookup is not None
    assert replayed.lookup.key == recorded.lookup.key
    assert recorded.lookup.miss is None
    not_had = code in ("bad_reply", "timeout", "too_large", "http_500")
    assert replayed.lookup.miss == ("recorded_error" if not_had else None)


class Robots:
    """Refuses what a host's robots.txt forbids, which only a request can tell."""

    async def get(self, url: str) -> Exchange:
        raise FetchError(f"{url}: robots.txt forbids it", code="robots", policy=True)


async def test_what_the_policy_forbids_is_told_in_the_same_words_live_recorded_and_replayed(
    web: WebServer, archive: Archive
) -> None:
    policy = policy_for(web, blocked_hosts=frozenset({"example.com"}))
    urls = [
        "http://www.example.com/x",
        "http://10.0.0.1/",
        "http://127.0.0.1:1/",
        web.url("/to-private"),
        "https://user:secret@example.org/",
        "https://user:\ud800@example.org/",
    ]
    web.pages = {"/to-private": redirect("http://192.168.1.1/")}
    live = [await unreadable(WebPages(LiveHttpClient(policy), policy, Reader()), url) for url in urls]
    recorded = [await unreadable(recording(archive, policy), url) for url in urls]
    robots = WebPages(RecordedHttpClient(archive, "record", Robots()), policy, Reader())
    recorded.append(await unreadable(robots, "https://example.org/robots"))
    frozen = sealed(archive)
    replayed = [await unreadable(replaying(frozen, policy), url) for url in [*urls, "https://example.org/robots"]]
    assert {error.message for error in [*live, *recorded, *replayed]} == {MISS_MESSAGES["blocked_by_policy"]}
    assert {error.lookup.miss for error in [*live, *recorded, *replayed] if error.lookup} == {"blocked_by_policy"}
    assert [error.lookup for error in replayed] == [error.lookup for error in recorded]
    assert [error.lookup for error in live] == [error.lookup for error in recorded[:-1]]
    parts = ("may not be opened", "not on the public", "port 1 ", "192.168.1.1", "user name", "user name", "robots.txt")
    reasons = [error.lookup.reason if error.lookup else "" for error in replayed]
    assert all(part in reason for part, reason in zip(parts, reasons, strict=True)), reasons


async def test_a_policy_of_its_time_is_not_the_last_word(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    await unreadable(WebPages(RecordedHttpClient(archive, "record", Robots()), policy, Reader()), web.url("/series"))
    page = await recording(archive, policy).read(web.url("/series"))
    assert await replaying(sealed(archive), policy).read(web.url("/series")) == page


async def test_a_replay_heeds_the_policy_of_its_own_plan(web: WebServer, archive: Archive, policy: WebPolicy) -> None:
    web.pages = {"/a": redirect("/b"), "/b": reply(article("Series", *PARAGRAPHS))}
    await recording(archive, policy).read(web.url("/a"))
    strict = policy_for(web, blocked_hosts=frozenset({"127.0.0.1/b"}))
    error = await unreadable(replaying(sealed(archive), strict), web.url("/a"))
    assert error.code == "blocked_by_policy"


async def test_what_is_no_url_is_no_lookup(archive: Archive, policy: WebPolicy) -> None:
    for pages in (recording(archive, policy), replaying(archive, policy)):
        error = await unreadable(pages, "ftp://example.org/")
        assert (error.code, error.lookup) == ("bad_url", None)


async def test_a_failure_that_may_pass_is_tried_again_and_superseded(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": b""}
    pages = recording(archive, policy)
    assert (await unreadable(pages, web.url("/series"))).code == "bad_reply"
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    page = await pages.read(web.url("/series"))
    assert await replaying(sealed(archive), policy).read(web.url("/series")) == page


async def test_a_failure_that_will_not_pass_is_not_tried_again(web: WebServer, archive: Archive) -> None:
    policy = policy_for(web, wire_bytes=1_000)
    web.pages = {"/series": reply("x" * 2_000)}
    errors = [await unreadable(recording(archive, policy), web.url("/series")) for _ in range(2)]
    assert errors[0].message == errors[1].message
    assert len(web.requests) == 1


class NoNetwork:
    async def get(self, url: str) -> Exchange:
        raise FetchError("no name server can be reached", code="no_network", transient=True)


async def test_a_machine_without_network_is_no_fact_about_a_page(archive: Archive, policy: WebPolicy) -> None:
    url = "https://example.org/"
    for client in (NoNetwork(), RecordedHttpClient(archive, "record", NoNetwork())):
        with pytest.raises(ToolError) as caught:
            await WebPages(client, policy, Reader()).read(url)
        assert (caught.value.code, caught.value.retryable) == ("no_network", True)
    assert (await unreadable(replaying(sealed(archive), policy), url)).code == "not_in_archive"


async def test_an_extraction_that_did_not_end_is_tried_again_when_recording(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    pages = recording(archive, policy, Reader(codes=["timeout"]))
    assert (await unreadable(pages, web.url("/series"))).code == "timeout"
    page = await pages.read(web.url("/series"))
    assert await replaying(sealed(archive), policy).read(web.url("/series")) == page
    assert len(web.requests) == 1


async def test_an_extraction_that_did_not_end_is_replayed_as_such(
    web: WebServer, archive: Archive, policy: WebPolicy
) -> None:
    web.pages = {"/series": reply(article("Series", *PARAGRAPHS))}
    recorded = await unreadable(recording(archive, policy, Reader(codes=["timeout"])), web.url("/series"))
    replayed = await unreadable(replaying(sealed(archive), policy), web.url("/series"))
    assert (replayed.message, replayed.lookup) == (recorded.message, recorded.lookup)
