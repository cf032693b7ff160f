"""Search by ddgs: its real engines and HTTP client against a server of this machine that misbehaves."""

import pytest
from tests.tools.conftest import Caller
from tests.tools.web_server import Drip, WebServer, reply

from toolablate.tools import DdgsSearch, Resources, ddgs_backends, open_toolset
from toolablate.traces.errors import InputError, ToolError
from toolablate.traces.records import ToolUse

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


async def test_results_come_in_the_engines_own_order(web: WebServer) -> None:
    web.pages["/"] = reply(FOUND)
    found = await search(web).search("any thing", 10)
    assert (found.status, found.provider) == ("ok", "ddgs/duckduckgo")
    assert [(result.rank, result.title, result.url, result.snippet) for result in found.results] == [
        (1, "First & best", "https://e.org/1", "The text."),
        (2, "Second", "https://e.org/2", "More text."),
    ]
    assert len((await search(web).search("any thing", 1)).results) == 1


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
    reply_ = await search(web).search("query", 10)
    assert (reply_.status, reply_.results) == (status, ())


async def test_a_service_that_is_not_there_is_an_error(web: WebServer) -> None:
    nowhere = DdgsSearch("duckduckgo", timeout_seconds=1, endpoint="http://127.0.0.1:9/")
    assert (await nowhere.search("query", 10)).status == "error"


@pytest.mark.parametrize("page", ["<html>no JSON</html>", "{}", "[1]", "null"])
async def test_a_foreign_page_that_breaks_the_engines_parser_is_an_error(web: WebServer, page: str) -> None:
    web.pages["/"] = reply(page)
    found = await search(web, backend="wikipedia").search("query", 10)
    assert (found.status, found.provider) == ("error", "ddgs/wikipedia")


@pytest.mark.parametrize(
    ("page", "code"),
    [(reply(ROBOT), "blocked"), (reply("no", status="429 Too Many Requests"), "rate_limited"), (reply(""), "error")],
)
async def test_the_tool_raises_and_says_it_may_be_tried_again(
    web: WebServer, call: Caller, page: bytes, code: str
) -> None:
    web.pages["/"] = page
    async with open_toolset([ToolUse(name="web_search")], Resources(search=search(web))) as tools:
        with pytest.raises(ToolError) as raised:
            await call(tools, "web_search", query="query")
    assert (raised.value.code, raised.value.retryable) == (code, True)
    assert "ddgs/duckduckgo" in raised.value.message


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
    assert (await search(web, backend=backend).search("query", 10)).status == status
