"""Fetching from a real server that behaves well, badly, or with malice."""

import asyncio
import gzip
import shutil
import socket
import ssl
import subprocess
import tracemalloc
import zlib
from pathlib import Path

import pytest
from tests.tools.web_server import Drip, WebServer, redirect, reply, zipped

from toolablate.tools.browser.fetch import Fetched, fetch
from toolablate.tools.browser.page import PageUnreadableError
from toolablate.tools.browser.policy import FetchPolicy

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


def policy(web: WebServer, **limits: float) -> FetchPolicy:
    settings = {"wire_bytes": 100_000, "decoded_bytes": 300_000, "seconds": 5.0, **limits}
    return FetchPolicy(**settings, allow=frozenset({web.host}))  # type: ignore[arg-type]


async def get(web: WebServer, path: str = "/", **limits: float) -> Fetched:
    return await fetch(web.url(path), policy(web, **limits))


async def failure(web: WebServer, page: bytes | Drip, **limits: float) -> str:
    web.pages["/"] = page
    with pytest.raises(PageUnreadableError) as failed:
        await get(web, **limits)
    return failed.value.code


@pytest.mark.parametrize(
    ("page", "body"),
    [
        (reply("hello", kind="text/plain"), b"hello"),
        (reply("", kind="text/plain"), b""),
        (zipped("hello", kind="text/plain"), b"hello"),
        (reply(zlib.compress(b"hello"), kind="text/plain", Content_Encoding="deflate"), b"hello"),
        (reply(gzip.compress(b"hel") + gzip.compress(b"lo"), kind="text/plain", Content_Encoding="gzip"), b"hello"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", b"hello"),
        (HEAD + b"\r\nhello", b"hello"),
    ],
)
async def test_a_body_comes_as_it_was_meant(web: WebServer, page: bytes, body: bytes) -> None:
    web.pages["/"] = page
    fetched = await get(web)
    assert (fetched.url, fetched.content_type.partition(";")[0], fetched.body) == (web.url("/"), "text/plain", body)


async def test_the_request_names_the_host_and_keeps_no_cookies(web: WebServer) -> None:
    web.pages["/"] = reply(status="302 Found", Location="/b?q=%C3%BC", Set_Cookie="id=1; Path=/")
    web.pages["/b"] = reply("b")
    fetched = await get(web, "/#part")
    assert fetched.url == web.url("/b?q=%C3%BC")
    assert [path for path, _ in web.requests] == ["/", "/b?q=%C3%BC"]
    for _, headers in web.requests:
        assert headers["host"] == web.host
        assert headers["user-agent"].startswith("toolablate/")
        assert "cookie" not in headers


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_redirects_are_followed(web: WebServer, status: str) -> None:
    web.pages["/"] = redirect("b", status)
    web.pages["/b"] = reply("b")
    assert (await get(web)).body == b"b"


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("http://127.0.0.1:1/", "blocked"),
        ("http://127.0.0.1/", "blocked"),
        ("http://localhost/", "blocked"),
        ("http://169.254.169.254/latest/meta-data/", "blocked"),
        ("http://[::1]/", "blocked"),
        ("http://[::ffff:7f00:1]/", "blocked"),
        ("http://me:secret@8.8.8.8/", "blocked"),
        ("//10.0.0.1/", "blocked"),
        ("file:///etc/passwd", "bad_url"),
        ("gopher://8.8.8.8/", "bad_url"),
        ("data:text/html,hi", "bad_url"),
        ("http://[::1", "bad_url"),
        ("/", "too_many_redirects"),
        ("/next", "too_many_redirects"),
    ],
)
async def test_every_hop_is_checked(web: WebServer, target: str, code: str) -> None:
    web.pages["/next"] = redirect("/")
    assert await failure(web, redirect(target)) == code
    assert len(web.requests) == (6 if code == "too_many_redirects" else 1)


@pytest.mark.parametrize(
    ("page", "code"),
    [
        (reply("x", status="404 Not Found"), "http_404"),
        (reply("x", status="500 Oops"), "http_500"),
        (reply("x", status="204 No Content"), "http_204"),
        (reply(status="302 Found"), "http_302"),
        (reply("x" * 100_001), "too_large"),
        (HEAD + b"\r\n" + b"x" * 200_000, "too_large"),
        (zipped(b"\0" * 300_001), "too_large"),
        (reply(gzip.compress(b"hello" * 1000)[:-12], Content_Encoding="gzip"), "bad_encoding"),
        (reply("hello", Content_Encoding="gzip"), "bad_encoding"),
        (reply("hello", Content_Encoding="br"), "bad_encoding"),
        (reply("hello", Content_Encoding="gzip, gzip"), "bad_encoding"),
        (reply("hello", Content_Length="10"), "unreachable"),
        (reply("hello", Content_Length="-1"), "unreachable"),
        (b"no HTTP at all\r\n\r\n", "unreachable"),
        (b"", "unreachable"),
        (b"HTTP/1.1 200 OK\r\n" + b"X-Fill: " + b"a" * 300_000 + b"\r\n\r\n", "unreachable"),
    ],
)
async def test_what_cannot_be_read_says_why(web: WebServer, page: bytes, code: str) -> None:
    assert await failure(web, page) == code


@pytest.mark.parametrize(
    "page",
    [
        Drip((b"",), 5.0),
        Drip((HEAD, b"\r\n", *[b"x"] * 50), 0.1),
        Drip((b"HTTP/1.1 200 OK\r\n", *[b"X-A: b\r\n"] * 50), 0.1),
    ],
)
async def test_a_slow_server_is_given_up(web: WebServer, page: Drip) -> None:
    assert await failure(web, page, seconds=0.5) == "timeout"


async def test_redirects_share_one_time_limit(web: WebServer) -> None:
    web.pages["/"] = Drip((redirect("/"),), 1.0)
    assert await failure(web, Drip((b"HTTP/1.1 302 Found\r\n", b"Location: /\r\n\r\n"), 0.3), seconds=0.8) == "timeout"


async def test_nobody_listens(web: WebServer) -> None:
    with pytest.raises(PageUnreadableError) as failed:
        await fetch("http://127.0.0.1:9/", FetchPolicy(allow=frozenset({"127.0.0.1:9"})))
    assert failed.value.code == "unreachable"


async def test_a_bomb_costs_no_more_than_the_limit(web: WebServer) -> None:
    bomb = gzip.compress(b"\0" * 100_000_000)
    assert len(bomb) < 1_000_000
    web.pages["/"] = reply(bomb, Content_Encoding="gzip")
    limits = FetchPolicy(decoded_bytes=5_000_000, allow=frozenset({web.host}))
    tracemalloc.start()
    try:
        with pytest.raises(PageUnreadableError) as failed:
            await fetch(web.url("/"), limits)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert failed.value.code == "too_large"
    assert peak < 30_000_000


async def test_a_secure_connection_goes_to_the_address_and_is_verified_for_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path, "pages.test")
    names: list[str] = []
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(certificate, certificate.with_suffix(".key"))
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    trusting = ssl.create_default_context(cafile=str(certificate))
    monkeypatch.setattr("toolablate.tools.browser.fetch._tls", lambda: trusting)
    async with WebServer(pages={"/": reply("secret")}).running(served) as web:
        resolve_all_to_loopback(monkeypatch, web.port)
        allow = frozenset({f"pages.test:{web.port}", f"other.test:{web.port}"})
        fetched = await fetch(f"https://pages.test:{web.port}/", FetchPolicy(allow=allow))
        with pytest.raises(PageUnreadableError, match=r"not valid for 'other\.test'"):
            await fetch(f"https://other.test:{web.port}/", FetchPolicy(allow=allow))
    assert (fetched.url, fetched.body) == (f"https://pages.test:{web.port}/", b"secret")
    assert web.requests[0][1]["host"] == f"pages.test:{web.port}"
    assert names == ["pages.test", "other.test"]


def make_certificate(folder: Path, name: str) -> Path:
    certificate = folder / "server.pem"
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed, which makes the test's certificate")
    subject = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    key = ("-newkey", "rsa:2048", "-nodes", "-keyout", certificate.with_suffix(".key"))
    command = ("openssl", "req", "-x509", *key, "-out", certificate, "-days", "2", *subject)
    subprocess.run(command, check=True, capture_output=True)
    return certificate


def resolve_all_to_loopback(monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    async def resolve(*_: object, **__: object) -> list[object]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
