"""Pages from a real server that behaves well, badly, or with malice."""

import gzip
import os
import subprocess
import sys
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.tools.web.sizes import size
from tests.tools.web_server import Drip, WebServer, redirect, reply, zipped

from toolablate.tools.web import Exchange, Fetched, FetchError, LiveHttpClient, WebPolicy, follow

Opening = Callable[..., LiveHttpClient]
Failure = Callable[[Awaitable[object]], Awaitable[FetchError]]

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.fixture
def get(web: WebServer, policy: WebPolicy, live: Opening) -> Callable[..., Awaitable[Fetched]]:
    async def fetched(path: str = "/", **limits: float) -> Fetched:
        limited = replace(policy, **limits)  # type: ignore[arg-type]
        return await follow(web.url(path), live(limited), limited)

    return fetched


Get = Callable[..., Awaitable[Fetched]]


@pytest.mark.parametrize(
    ("page", "body"),
    [
        (reply("hello", kind="text/plain"), b"hello"),
        (reply("", kind="text/plain"), b""),
        (zipped("hello", kind="text/plain"), b"hello"),
        (reply(zlib.compress(b"hello"), kind="text/plain", Content_Encoding="deflate"), b"hello"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;a=b\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n", b"hello"),
        (HEAD + b"\r\nhello", b"hello"),
        (reply("hello and more", kind="text/plain", Content_Length="5"), b"hello"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + reply("hello", kind="text/plain"), b"hello"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 20 + reply("hello", kind="text/plain"), b"hello"),
        (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello", b"hello"),
    ],
    ids=size,
)
async def test_a_body_comes_as_it_was_meant(web: WebServer, get: Get, page: bytes, body: bytes) -> None:
    web.pages["/"] = page
    fetched = await get()
    assert (fetched.url, fetched.content_type.partition(";")[0], fetched.body) == (web.url("/"), "text/plain", body)


async def test_an_exchange_is_kept_as_it_was_sent(web: WebServer, get: Get) -> None:
    packed = gzip.compress(b"hello")
    web.pages["/"] = redirect("/b?q=%C3%BC#part")
    web.pages["/b"] = (
        b"HTTP/1.1 200 All R\xe4ght\r\nX-MiXed: a\r\nx-mixed: \xc3\xbc\r\nContent-Encoding: gzip\r\n"
        b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"".join(b"1\r\n%c\r\n" % byte for byte in packed)
        + b"0\r\n\r\n"
    )
    fetched = await get("/#top")
    first, second = fetched.exchanges
    assert (first.url, first.status, first.header("location"), first.body) == (
        web.url("/"),
        302,
        "/b?q=%C3%BC#part",
        b"",
    )
    assert (second.url, second.status, second.reason, second.address) == (
        web.url("/b?q=%C3%BC"),
        200,
        "All Räght",
        "127.0.0.1",
    )
    assert second.body == packed
    assert second.headers == (
        ("X-MiXed", "a"),
        ("x-mixed", "Ã¼"),
        ("Content-Encoding", "gzip"),
        ("Set-Cookie", "a=1"),
        ("Set-Cookie", "b=2"),
        ("Transfer-Encoding", "chunked"),
    )
    assert fetched.body == b"hello"
    assert first.fetched_at < second.fetched_at
    assert [path for path, _ in web.requests] == ["/", "/b?q=%C3%BC"]


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_redirects_are_followed(web: WebServer, get: Get, status: str) -> None:
    web.pages["/"] = redirect("b", status)
    web.pages["/b"] = reply("b")
    assert (await get()).body == b"b"


@pytest.mark.parametrize(
    ("location", "path"),
    [
        (b"/\xc3\xbc", "/%C3%BC"),
        (b"/\xfc", "/%C3%BC"),
        (b"/a b", "/a%20b"),
        (b"\\a", "/a"),
        (b"?x", "/?x"),
        (b"/a/../b", "/b"),
        (b" /b ", "/b"),
        (b"/b\r\nLocation: http://127.0.0.1:1/", "/b"),
    ],
)
async def test_where_a_redirect_leads(web: WebServer, get: Get, location: bytes, path: str) -> None:
    web.pages["/"] = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
    with pytest.raises(FetchError, match="redirects more than 1 times" if path.startswith("/?") else "404"):
        await get(redirects=1)
    assert web.requests[1][0] == path


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://127.0.0.1:1/", "blocked"),
        ("http://127.0.0.1/", "blocked"),
        ("http://localhost/", "blocked"),
        ("http://169.254.169.254/latest/meta-data/", "blocked"),
        ("http://0x7f.1/", "blocked"),
        ("http://2130706433/", "blocked"),
        ("http://[::1]/", "blocked"),
        ("http://[::ffff:7f00:1]/", "blocked"),
        ("http://me:secret@8.8.8.8/", "blocked"),
        ("http://8.8.8.8:22/", "blocked"),
        ("//10.0.0.1/", "blocked"),
        ("https://leaks.example/", "blocked_host"),
        ("file:///etc/passwd", "bad_url"),
        ("gopher://8.8.8.8/", "bad_url"),
        ("data:text/html,hi", "bad_url"),
        ("http://[::1", "bad_url"),
        ("/" + "a" * 5_000, "bad_url"),
        ("/", "too_many_redirects"),
        ("/next", "too_many_redirects"),
    ],
)
async def test_every_hop_is_checked(web: WebServer, get: Get, failure: Failure, target: str, code: str) -> None:
    web.pages["/"] = redirect(target)
    web.pages["/next"] = redirect("/")
    failed = await failure(get(blocked_hosts=frozenset({"leaks.example"})))
    assert (failed.code, failed.policy) == (code, code.startswith("blocked"))
    assert len(web.requests) == (6 if code == "too_many_redirects" else 1)


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (reply("x", status="404 Not Found"), "http_404"),
        (reply("x", status="500 Oops"), "http_500"),
        (reply("x", status="204 No Content"), "http_204"),
        (reply(status="304 Not Modified"), "http_304"),
        (reply(status="302 Found"), "http_302"),
        (reply("x" * 100_001), "too_large"),
        (HEAD + b"\r\n" + b"x" * 200_000, "too_large"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"8000\r\n" + b"x" * 0x8000 + b"\r\n", "bad_reply"),
        (zipped(b"\0" * 300_001), "too_large"),
        (reply("hello", Content_Encoding="gzip"), "bad_encoding"),
        (reply("hello", Content_Length="10"), "bad_reply"),
        (reply("hello", Content_Length="-1"), "bad_reply"),
        (HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", "bad_reply"),
        (HEAD + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nhello", "bad_reply"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhello", "bad_reply"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 30 + b"\r\nhello", "bad_reply"),
        (HEAD + b"Bad\x00Name: x\r\n\r\nhello", "bad_reply"),
        (HEAD + b"X: a\rb\r\n\r\nhello", "bad_reply"),
        (HEAD + b"Content-Length: 5", "bad_reply"),
        (b"no HTTP at all\r\n\r\n", "bad_reply"),
        (b"HTTP/1.1 99999 Big\r\n\r\n", "bad_reply"),
        (b"", "bad_reply"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Fill: " + b"a" * 300_000 + b"\r\n\r\n", "bad_reply"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 60_000 + b"\r\n", "bad_reply"),
        (b"HTTP/1.1 100 Continue\r\n" + b"X: a\r\n" * 60_000 + b"\r\n", "bad_reply"),
    ],
    ids=size,
)
async def test_what_cannot_be_read_says_why(web: WebServer, get: Get, failure: Failure, page: bytes, code: str) -> None:
    web.pages["/"] = page
    failed = await failure(get())
    assert (failed.code, failed.policy) == (code, False)
    assert web.url("/") in failed.message


async def test_a_status_is_told_in_the_servers_words_on_one_line(web: WebServer, get: Get, failure: Failure) -> None:
    web.pages["/"] = reply(status="404 Not" + " x" * 100)
    assert (await failure(get())).message.startswith(f"{web.url('/')}: HTTP 404 Not x x x")


@pytest.mark.parametrize(
    "page",
    [
        Drip((b"",), 5.0),
        Drip((HEAD, b"\r\n", *[b"x"] * 50), 0.1),
        Drip((b"HTTP/1.1 200 OK\r\n", *[b"X-A: b\r\n"] * 50), 0.1),
        Drip((b"HTTP/1.1 102 Processing\r\n\r\n",) * 50, 0.1),
        Drip((HEAD, b"Transfer-Encoding: chunked\r\n\r\n", *[b"1;x=y\r\nx\r\n"] * 50), 0.1),
    ],
)
async def test_a_slow_server_is_given_up(web: WebServer, get: Get, failure: Failure, page: Drip) -> None:
    web.pages["/"] = page
    failed = await failure(get(seconds=0.5))
    assert (failed.code, failed.transient) == ("timeout", True)


async def test_redirects_share_one_time_limit(web: WebServer, get: Get, failure: Failure) -> None:
    web.pages["/"] = Drip((b"HTTP/1.1 302 Found\r\n", b"Location: /\r\nContent-Length: 0\r\n\r\n"), 0.3)
    assert (await failure(get(seconds=0.8))).code == "timeout"
    assert 1 <= len(web.requests) <= 3


@pytest.mark.deep
async def test_waiting_for_a_hosts_turn_is_not_counted(web: WebServer, get: Get) -> None:
    web.pages["/"] = redirect("/b")
    web.pages["/b"] = reply("b")
    assert (await get(seconds=2.0, delay_seconds=2.5)).body == b"b"


class Kept:
    """An archive that has every page, and one that leads on."""

    def __init__(self, onward: str) -> None:
        self.onward = onward
        self.asked: list[str] = []

    async def get(self, url: str) -> Exchange:
        self.asked.append(url)
        headers = (("Location", self.onward),) if len(self.asked) == 1 else ()
        return Exchange(url, 302 if headers else 200, "", headers, b"kept", datetime.now(UTC))


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://www.leaks.example/x", "blocked_host"),
        ("https://page.example:22/", "blocked"),
        ("http://0x7f.1/", "blocked"),
        ("http://me@page.example/", "blocked"),
    ],
)
async def test_the_policy_holds_for_what_is_kept_too(failure: Failure, url: str, code: str) -> None:
    policy = WebPolicy(blocked_hosts=frozenset({"leaks.example"}))
    client = Kept("/b")
    assert (await failure(follow(url, client, policy))).code == code
    assert client.asked == []
    client = Kept(url)
    assert (await failure(follow("page.example", client, policy))).code == code
    assert client.asked == ["https://page.example/"]


FOLLOWED = """
import asyncio, sys
from datetime import datetime, UTC
from toolablate.tools.web.exchange import Exchange
from toolablate.tools.web.follow import follow
from toolablate.tools.web.policy import WebPolicy

class Kept:
    async def get(self, url):
        return Exchange(url, 200, "OK", (), b"kept", datetime.now(UTC))

policy = WebPolicy(allow=frozenset({"127.0.0.1:8000"}), blocked_hosts=frozenset({"leaks.example"}))
assert asyncio.run(follow("example.org/x", Kept(), policy)).body == b"kept"
loaded = {"httpx2", "httpcore2", "httpx", "h11", "anyio", "protego"} & set(sys.modules)
assert not loaded, loaded
"""


def test_following_what_is_kept_needs_no_network_client(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWED],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=dict(os.environ),
    )
    assert done.returncode == 0, done.stderr
