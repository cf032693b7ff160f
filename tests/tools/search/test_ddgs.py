"""Search by ddgs: its real engines and HTTP client against a server of this machine that misbehaves."""

import hashlib
import subprocess
import sys
from datetime import date
from importlib.metadata import version

import pytest
from tests.tools.search.api_server import ApiServer, Flood
from tests.tools.web_server import Drip, WebServer, redirect, reply

from toolablate.tools.guards.guard import NoGuard
from toolablate.tools.search import DdgsSearch, LiveSearch, SearchQuery, ddgs_backends, search_tool
from toolablate.traces.errors import InputError, ToolError
from toolablate.traces.records import SearchReply

FOUND = """<html><body>
<div class="links_main body"><h2><a href="https://e.org/1">First &amp; best</a></h2><a href="https://e.org/1">The text.</a></div>
<div class="links_main body"><h2><a href="https://duckduckgo.com/y.js?ad=1">Ad</a></h2><a href="https://duckduckgo.com/y.js?ad=1">Buy</a></div>
<div class="links_main body"><h2><a href="https://e.org/1">Again</a></h2><a href="https://e.org/1">The text.</a></div>
<div class="links_main body"><h2><a href="https://e.org/2">Second</a></h2><a href="https://e.org/2">More text.</a></div>
</body></html>"""
NOTHING = "<html><body><div class='no-results'>No results found for that.</div></body></html>"
ROBOT = "<html><body><div class='anomaly-modal__title'>Unfortunately, bots use DuckDuckGo too.</div></body></html>"


def search(web: WebServer, path: str = "/", backend: str = "duckduckgo") -> DdgsSearch:
    return DdgsSearch(backend, timeout_seconds=1, endpoint=web.url(path))


async def found(provider: DdgsSearch, query: str = "query", max_results: int = 10) -> SearchReply:
    return (await provider.search(SearchQuery(query, max_results))).reply


async def test_results_come_in_the_engines_own_order(web: WebServer) -> None:
    web.pages["/"] = reply(FOUND)
    reply_ = await found(search(web), "any thing")
    assert (reply_.status, reply_.provider) == ("ok", "ddgs/duckduckgo")
    assert [(result.rank, result.title, result.url, result.snippet) for result in reply_.results] == [
        (1, "First & best", "https://e.org/1", "The text."),
        (2, "Second", "https://e.org/2", "More text."),
    ]
    assert len((await found(search(web), "any thing", 1)).results) == 1


async def test_an_envelope_says_what_was_asked_of_whom(web: WebServer) -> None:
    web.pages["/"] = reply(FOUND)
    provider = search(web)
    searched = await provider.search(SearchQuery("any thing", 10, date(2000, 1, 1)))
    reply_ = searched.reply
    assert (reply_.query, reply_.engine, reply_.client_version) == (
        "any thing",
        "duckduckgo",
        f"ddgs {version('ddgs')}",
    )
    assert reply_.parameters == provider.parameters
    assert reply_.parameters == {"endpoint": web.url("/"), "region": "us-en", "safesearch": "moderate"}
    assert searched.raw == FOUND.encode()
    assert reply_.raw_digest == hashlib.sha256(searched.raw).hexdigest()[:32]
    assert reply_.status == "ok"
    assert SearchReply.from_json(reply_.to_json()) == reply_


@pytest.mark.parametrize(
    ("page", "status"),
    [
        (reply(NOTHING), "empty"),
        (reply(ROBOT), "blocked"),
        (reply(ROBOT, status="202 Accepted"), "blocked"),
        (reply("no", status="403 Forbidden"), "blocked"),
        (reply("slow down", status="429 Too Many Requests"), "rate_limited"),
        (reply("oops", status="500 Internal Server Error"), "error"),
        (reply(""), "error"),
        (reply("\x00\x01\x02", kind="application/octet-stream"), "empty"),
        (reply("x", Content_Length="100000"), "error"),
        (b"garbage, no HTTP at all\r\n\r\n", "error"),
        (Drip((b"HTTP/1.1 200 OK\r\n",), 3.0), "timeout"),
    ],
)
async def test_a_failure_is_never_taken_for_nothing_found(web: WebServer, page: bytes | Drip, status: str) -> None:
    web.pages["/"] = page
    reply_ = await found(search(web))
    assert (reply_.status, reply_.results) == (status, ())


async def test_a_service_that_is_not_there_is_an_error(web: WebServer) -> None:
    nowhere = DdgsSearch("duckduckgo", timeout_seconds=1, endpoint="http://127.0.0.1:9/")
    assert (await found(nowhere)).status == "error"


@pytest.mark.parametrize("page", ["<html>no JSON</html>", "{}", "[1]", "null"])
async def test_a_foreign_page_that_breaks_the_engines_parser_is_an_error(web: WebServer, page: str) -> None:
    web.pages["/"] = reply(page)
    reply_ = await found(search(web, backend="wikipedia"))
    assert (reply_.status, reply_.provider) == ("error", "ddgs/wikipedia")


@pytest.mark.parametrize(
    ("page", "code"),
    [(reply(ROBOT), "blocked"), (reply("no", status="429 Too Many Requests"), "rate_limited"), (reply(""), "error")],
)
async def test_the_tool_raises_and_says_it_may_be_tried_again(web: WebServer, page: bytes, code: str) -> None:
    web.pages["/"] = page
    with pytest.raises(ToolError) as raised:
        await search_tool(LiveSearch(search(web)), NoGuard()).call({"query": "query"})
    assert (raised.value.code, raised.value.retryable) == (code, True)
    assert "ddgs/duckduckgo" in raised.value.message


EMPTY = """<html><head><title>{0} at a search engine</title></head><body><form action="/html/?q={0}">
<input name="q" value="{0}"></form><div class="no-results">No results found for <b>{0}</b>.</div>{1}</body></html>"""


@pytest.mark.parametrize(
    ("query", "shown", "besides"),
    [
        ("who invented captcha", "who invented captcha", ""),
        ("who invented captcha", "who+invented+captcha", ""),
        ("Who invented CAPTCHA?", "who invented <mark>captcha</mark>", "<a href='/?q=recaptcha+history'>more</a>"),
        ("<div class='g-recaptcha'>", "&lt;div class=&#39;g-recaptcha&#39;&gt;", ""),
        ("are  you a ROBOT", "are you a robot", ""),
        ("unusual traffic & noise", "unusual traffic &amp; noise", "<p>Unusual traffic reports</p>"),
        ("query", "query", "<!-- no captcha --><img src='/logo.png?for=captcha'>"),
    ],
)
async def test_what_was_asked_for_is_no_robot_check(web: WebServer, query: str, shown: str, besides: str) -> None:
    web.pages["/"] = reply(EMPTY.format(shown, besides))
    assert (await found(search(web), query)).status == "empty"


@pytest.mark.parametrize("query", ["query", "who invented captcha", "are you a robot"])
@pytest.mark.parametrize(
    "check",
    [
        "<form id='captcha-form' action='/x'></form>",
        "<div class='g-recaptcha' data-sitekey='k'></div>",
        "<script src='/cdn-cgi/challenge-platform/h/b.js?ray=1'></script>",
        "<form action='/showcaptcha?key=1'>",
        "<p>Our systems have detected unusual traffic.</p>",
    ],
)
async def test_a_robot_check_is_one_whatever_was_asked_for(web: WebServer, query: str, check: str) -> None:
    web.pages["/"] = reply(f"<html><body><input value='{query}'>{check}</body></html>")
    assert (await found(search(web), query)).status == "blocked"


@pytest.mark.parametrize("backend", ddgs_backends())
async def test_redirects_are_not_followed(web: WebServer, backend: str) -> None:
    web.pages = {"/": redirect("/internal"), "/internal": reply(FOUND)}
    assert (await found(search(web, backend=backend))).status == "error"
    assert [path.partition("?")[0] for path, _ in web.requests if path.startswith("/internal")] == []


async def test_a_redirect_says_where_to(web: WebServer) -> None:
    for place, status in (
        ("/internal?q=captcha", "error"),
        ("/sorry/index?q=x", "blocked"),
        ("https://e.org/showcaptcha?x", "blocked"),
        ("http://[", "error"),
    ):
        web.pages["/"] = redirect(place)
        reply_ = await found(search(web))
        assert (reply_.status, reply_.detail) == (status, "HTTP 302: redirected, and a search is not sent on")


async def test_a_reply_without_an_end_is_not_read_to_it(api: ApiServer) -> None:
    for head in (b"\r\n", b"Transfer-Encoding: chunked\r\n\r\n", b"Content-Encoding: gzip\r\n\r\n"):
        api.answer = Flood(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head)
        reply_ = await found(DdgsSearch("mojeek", timeout_seconds=10, endpoint=api.endpoint))
        assert (reply_.status, reply_.results) == ("error", ())
    api.answer = Flood(b"HTTP/1.1 429 Slow\r\n\r\n")
    assert (await found(DdgsSearch("mojeek", timeout_seconds=10, endpoint=api.endpoint))).status == "rate_limited"
    # The HTTP client closes a connection that was given up when it is next used.
    api.answer = reply(NOTHING)
    assert (await found(DdgsSearch("mojeek", timeout_seconds=10, endpoint=api.endpoint))).status == "empty"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/html; charset=gbk", FOUND.replace("Second", "第二").encode("gbk")),
        ("text/html", b"\xef\xbb\xbf" + FOUND.replace("Second", "第二").encode()),
        ("text/html; charset=no-such", FOUND.replace("Second", "第二").encode()),
    ],
)
async def test_text_is_read_in_the_encoding_that_the_reply_names(web: WebServer, kind: str, body: bytes) -> None:
    web.pages["/"] = reply(body, kind=kind)
    assert (await found(search(web))).results[1].title == "第二"


BOMB = """
import asyncio, gzip, resource, sys, zlib
from toolablate.tools.search import DdgsSearch, SearchQuery

packer = zlib.compressobj(9, wbits=31)
head = packer.compress(b"<p>") + packer.flush(zlib.Z_FULL_FLUSH)
block = packer.compress(b"<" * 1_000_000) + packer.flush(zlib.Z_FULL_FLUSH)
bomb = head + block * 300
small = gzip.compress(b"<p>nothing")
seen = []

async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    seen.append(1)
    body = bomb if len(seen) > 1 else small
    writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Encoding: gzip\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
    writer.close()

async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    search = DdgsSearch(endpoint="http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1])
    await search.search(SearchQuery("q"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply = (await search.search(SearchQuery("q"))).reply
    print(reply.status, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    server.close()

asyncio.run(main())
"""


@pytest.mark.deep
def test_a_bomb_costs_at_most_30_mb() -> None:
    done = subprocess.run([sys.executable, "-c", BOMB], check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    status, kilobytes = done.stdout.split()
    assert status == "error"
    assert int(kilobytes) * 1024 < 30_000_000


@pytest.mark.parametrize("backend", ["auto", "all", "altavista", "", "duckduckgo,brave", "DuckDuckGo", "images"])
def test_a_backend_that_ddgs_does_not_have_is_refused(backend: str) -> None:
    with pytest.raises(InputError) as refused:
        DdgsSearch(backend)
    assert repr(backend) in refused.value.message
    assert "duckduckgo" in refused.value.hint


@pytest.mark.parametrize("region", ["", "us", "us_en", "us-en-x", "US-EN"])
def test_a_region_that_is_none_is_refused(region: str) -> None:
    with pytest.raises(InputError, match=r"search\.region"):
        DdgsSearch(region=region)


@pytest.mark.parametrize("backend", ddgs_backends())
@pytest.mark.parametrize(
    ("page", "status"),
    [(reply("slow", status="429 Too Many Requests"), "rate_limited"), (reply("no", status="403 Forbidden"), "blocked")],
)
async def test_every_backend_reports_a_refusal(web: WebServer, backend: str, page: bytes, status: str) -> None:
    """Guards against an engine of another ddgs that goes around the HTTP client that is watched."""
    web.pages["/"] = page
    assert (await found(search(web, backend=backend))).status == status


async def test_a_query_cannot_send_the_engine_elsewhere(web: WebServer) -> None:
    web.pages["/"] = reply(NOTHING)
    await found(search(web, backend="brave"), "!!g some thing!")
    assert "q=g+some+thing%21" in web.requests[0][0].replace("%20", "+")
