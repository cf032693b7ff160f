"""The tool as a model sees it, over a real provider and a real server, and over lookups that found nothing."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.tools.search.api_server import ApiServer, json_reply
from tests.tools.search.rest_services import KEY, SERVICES
from tests.tools.web_server import reply

from toolablate.tools.guards.guard import Guard, Inspection, NoGuard
from toolablate.tools.search import LiveSearch, SearchOutcome, SearchQuery, search_key, search_tool
from toolablate.tools.text import MISS_MESSAGES
from toolablate.tools.tool import ToolResult
from toolablate.traces.errors import ToolError
from toolablate.traces.records import Lookup, Marker, MissKind

BRAVE = SERVICES[1]
ITEMS = (
    BRAVE.item("https://e.org/1", "First", "The text\nof it.", "2024-01-02T03:04:05"),
    BRAVE.item("https://e.org/2", "", "More \x1b[31mtext.", None),
    BRAVE.item("https://e.org/3", "Third\u2028line", "x" * 500, "May 1, 2023"),
)
SHOWN = f"""Results for 'any thing':
1. First (2024-01-02)
    https://e.org/1
    The text of it.
2. (no title)
    https://e.org/2
    More [31mtext.
3. Third line (2023-05-01)
    https://e.org/3
    {"x" * 399}…"""


class Marking:
    """Marks what holds a word, and blocks the hosts or pages that it is told."""

    def __init__(self, *blocked: str) -> None:
        self._blocked = blocked
        self.seen: list[tuple[str, str]] = []

    def inspect(self, url: str, text: str) -> Inspection:
        self.seen.append((url, text))
        markers = (Marker(kind="answer_leak", where=url, excerpt="text"),) if "text" in text else ()
        return Inspection(markers, url in self._blocked)


async def searched(api: ApiServer, guard: Guard | None = None, answer: bytes = b"", **arguments: Any) -> ToolResult:
    api.answer = answer or json_reply(BRAVE.page(list(ITEMS)))
    source = LiveSearch(BRAVE.search(api.endpoint))
    return await search_tool(source, guard or NoGuard()).call({"query": " any thing\n", **arguments})


async def test_results_are_shown_one_after_the_other_as_data(api: ApiServer) -> None:
    result = await searched(api)
    assert (result.output, result.status, result.markers) == (SHOWN, "ok", ())
    provider = BRAVE.search(api.endpoint)
    key = search_key(provider.name, provider.parameters, SearchQuery("any thing"))
    assert result.lookup == Lookup(kind="search", key=key)
    assert (await searched(api)).output == SHOWN


async def test_no_more_is_shown_than_was_asked_for(api: ApiServer) -> None:
    result = await searched(api, max_results=1)
    assert result.output == "\n".join(SHOWN.splitlines()[:4])
    assert api.asked[0].parameters["count"] == "10"


async def test_nothing_found_is_said(api: ApiServer) -> None:
    result = await searched(api, answer=json_reply(BRAVE.page([])))
    assert (result.output, result.status) == ("No results for 'any thing'.", "ok")
    assert result.lookup is not None


async def test_a_date_reaches_the_provider(api: ApiServer) -> None:
    result = await searched(api, before="2023-06-01")
    assert api.asked[0].parameters["freshness"] == "1970-01-01to2023-05-31"
    assert [line for line in result.output.splitlines() if line.startswith("    http")] == [
        "    https://e.org/2",
        "    https://e.org/3",
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"before": "2023"}, "before: must be a day, written as YYYY-MM-DD, found"),
        ({"before": "1672531200"}, "before: "),
        ({"before": "2023-02-30"}, "before: day is out of range for month, found"),
        ({"before": "01/02/2023"}, "before: "),
        ({"before": ""}, "before: "),
        ({"before": 20230101}, "before: "),
        ({"max_results": 0}, "max_results: "),
        ({"max_results": 51}, "max_results: "),
        ({"max_results": "10"}, "max_results: "),
        ({"query": "  "}, "query: "),
        ({"query": "x" * 2001}, "query: "),
        ({"site": "e.org"}, "there is no argument 'site'"),
    ],
)
async def test_a_wrong_call_is_told_why(api: ApiServer, arguments: Mapping[str, Any], said: str) -> None:
    result = await searched(api, **arguments)
    assert (result.status, result.error) == ("invalid", "invalid_arguments")
    assert result.output.startswith(f"Invalid call of web_search: {said}")
    assert api.asked == []


def test_a_model_is_told_flat_arguments_and_the_name_that_is_set() -> None:
    tool = search_tool(LiveSearch(BRAVE.search("http://127.0.0.1:9/")), NoGuard(), name="browser.search")
    assert tool.spec.name == "browser.search"
    assert list(tool.spec.parameters["properties"]) == ["query", "max_results", "before"]  # type: ignore[arg-type]
    assert tool.spec.parameters["required"] == ["query"]
    assert "$defs" not in str(tool.spec.parameters)
    assert "null" not in str(tool.spec.parameters)


async def test_what_is_noticed_is_kept_and_what_is_blocked_is_left_out_without_a_word(api: ApiServer) -> None:
    guard = Marking("https://e.org/1")
    result = await searched(api, guard)
    lines = SHOWN.splitlines()
    shorter = [lines[0], "1. (no title)", *lines[5:7], "2. Third line (2023-05-01)", *lines[8:]]
    assert result.output == "\n".join(shorter)
    assert guard.seen[0] == ("https://e.org/1", "First\nThe text of it.")
    assert [(marker.kind, marker.where) for marker in result.markers] == [
        ("answer_leak", "https://e.org/1"),
        ("withheld", "https://e.org/1"),
        ("answer_leak", "https://e.org/2"),
    ]
    nothing = await searched(api, Marking("https://e.org/1", "https://e.org/2", "https://e.org/3"))
    assert nothing.output == "No results for 'any thing'."


async def test_only_what_is_shown_is_looked_at(api: ApiServer) -> None:
    items = [
        BRAVE.item("https://e.org/1", "t " * 100 + "text", "x" * 400 + " text", None),
        BRAVE.item("https://e.org/2", "t", "x" * 390 + " text", None),
    ]
    guard = Marking()
    result = await searched(api, guard, json_reply(BRAVE.page(items)))
    assert [marker.where for marker in result.markers] == ["https://e.org/2"]
    assert all(line in result.output for _, text in guard.seen for line in text.split("\n"))


async def test_a_result_cannot_pass_for_a_link(api: ApiServer) -> None:
    items = [BRAVE.item("https://e.org/", "【0†login†bank.com】", "【重磅】 【3\u200b†here】", None)]
    output = (await searched(api, answer=json_reply(BRAVE.page(items)))).output
    assert output.splitlines()[1::2] == ["1. [0†login†bank.com】", "    【重磅】 [3\u200b†here】"]


@pytest.mark.parametrize(
    ("answer", "code", "retryable", "wait"),
    [
        (reply("x", status="429 Too Many Requests", Retry_After="3"), "rate_limited", True, 3.0),
        (reply("x", status="500 Oops"), "error", True, None),
        (reply("x", status="504 Gateway Timeout"), "timeout", True, None),
        (reply("<html>captcha</html>"), "blocked", True, None),
        (reply(KEY, status="401 Unauthorized"), "blocked", False, None),
    ],
)
async def test_a_search_that_failed_is_no_result(
    api: ApiServer, answer: bytes, code: str, retryable: bool, wait: float | None
) -> None:
    with pytest.raises(ToolError) as raised:
        await searched(api, answer=answer)
    error = raised.value
    assert (error.code, error.retryable, error.retry_after) == (code, retryable, wait)
    assert error.message.startswith(f"web_search: brave {code}: ")
    assert error.hint
    assert KEY not in str(error)


@pytest.mark.parametrize("miss", MISS_MESSAGES)
async def test_what_an_archive_does_not_have_is_told_in_its_words(miss: MissKind) -> None:
    lookup = Lookup(kind="search", key="k", miss=miss, nearest="search 'secret'")
    result = await search_tool(Archive(SearchOutcome(None, lookup, MISS_MESSAGES[miss])), NoGuard()).call(
        {"query": "q"}
    )
    assert result == ToolResult(f"Error: {MISS_MESSAGES[miss]}.", status="error", error=miss, lookup=lookup)
    assert "secret" not in result.output


class Archive:
    """Stands where an archive is asked: this room cannot see it."""

    name = "archive"

    def __init__(self, found: SearchOutcome) -> None:
        self._found = found

    async def find(self, asked: SearchQuery) -> SearchOutcome:
        return self._found


async def test_the_same_query_in_another_spelling_shows_the_same(api: ApiServer) -> None:
    assert await searched(api, query="caf\u00e9") == await searched(api, query="cafe\u0301 ")
    assert [asked.parameters["q"] for asked in api.asked] == ["caf\u00e9", "caf\u00e9"]
