"""What is asked of each service, and the envelope that is made of its results."""

import hashlib
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.tools.search.api_server import ApiServer, Asked, json_reply
from tests.tools.search.rest_services import SERVICES, Described

from toolablate import __version__
from toolablate.tools.search import SearchQuery
from toolablate.traces.records import SearchReply


def service_named(name: str) -> Described:
    return next(service for service in SERVICES if service.name == name)


async def found(api: ApiServer, service: Described, *items: Any, asked: SearchQuery | None = None) -> SearchReply:
    api.answer = json_reply(service.page(list(items)))
    return (await service.search(api.endpoint).search(asked or SearchQuery("a question"))).reply


async def sent(api: ApiServer, name: str, asked: SearchQuery, **settings: Any) -> Asked:
    service = service_named(name)
    api.answer = json_reply(service.page([]))
    searched = await service.search(api.endpoint, **settings).search(asked)
    assert searched.reply.status == "empty"
    return api.asked[-1]


async def test_an_envelope_says_all_there_is_to_know(api: ApiServer, service: Described) -> None:
    item = service.item("HTTPS://Example.org:443/a/../b?q=1#part", "A title", "Some text", "2023-11-16T01:36:32.547Z")
    before = datetime.now(UTC)
    reply = await found(api, service, item, asked=SearchQuery("what is 1 + 1 & more?", 7))
    assert before <= reply.fetched_at <= datetime.now(UTC)
    assert (reply.query, reply.provider, reply.status, reply.detail) == (
        "what is 1 + 1 & more?",
        service.name,
        "ok",
        "",
    )
    assert reply.client_version == f"toolablate {__version__}"
    body = api.answer
    assert isinstance(body, bytes)
    assert reply.raw_digest == hashlib.sha256(body.partition(b"\r\n\r\n")[2]).hexdigest()[:32]
    (result,) = reply.results
    assert (result.rank, result.title, result.snippet) == (1, "A title", "Some text")
    assert result.url == "HTTPS://Example.org:443/a/../b?q=1#part"
    assert result.canonical_url == "https://example.org/b?q=1"
    field = next(name for name, value in item.items() if value == "2023-11-16T01:36:32.547Z")
    assert (result.published_at, result.published_from) == ("2023-11-16T01:36:32Z", field)
    assert reply.parameters["endpoint"] == api.endpoint
    assert "what is 1 + 1 & more?" not in reply.parameters.values()
    assert SearchReply.from_json(reply.to_json()) == reply


async def test_a_request_carries_the_key_and_nothing_of_the_environment(
    api: ApiServer, service: Described, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for variable in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    await found(api, service)
    (asked,) = api.asked
    assert (asked.method, asked.path) == (service.method, "/search")
    assert asked.headers["user-agent"].startswith("toolablate/")
    assert "cookie" not in asked.headers
    assert ("authorization" in asked.headers) == (service.name == "tavily")
    if service.key_header:
        name, value = service.key_header
        assert asked.headers[name] == value
    assert "a question" in asked.parameters.values()


async def test_each_page_comes_once_and_ranks_count_on(api: ApiServer, service: Described) -> None:
    urls = ("https://e.org/1", "ftp://e.org/", "https://E.org/1#again", "https://e.org/2", "https://e.org/3")
    items = [service.item(url, url, "text", None) for url in urls]
    reply = await found(api, service, *items, asked=SearchQuery("q", 2))
    assert [(result.rank, result.title) for result in reply.results] == [(1, "https://e.org/1"), (2, "https://e.org/2")]


async def test_dates_are_read_and_what_is_too_late_is_left_out(api: ApiServer, service: Described) -> None:
    dates = ("2024-05-31T23:59:59", "2024-06-01", "3 days ago", "someday", None)
    items = [service.item(f"https://e.org/{number}", "T", "S", when) for number, when in enumerate(dates)]
    reply = await found(api, service, *items, asked=SearchQuery("q", 10, date(2024, 6, 1)))
    shown = [(result.rank, result.url[-1], result.published_at) for result in reply.results]
    assert shown == [(1, "0", "2024-05-31T23:59:59Z"), (2, "3", ""), (3, "4", "")]
    assert reply.detail == "2 left out by date"
    all_of_them = await found(api, service, *items)
    assert len(all_of_them.results) == 5
    relative = all_of_them.results[2]
    assert relative.published_at == (all_of_them.fetched_at - timedelta(days=3)).date().isoformat()
    assert relative.published_from.endswith(" (relative)")
    nothing = await found(api, service, items[1], asked=SearchQuery("q", 10, date(2024, 6, 1)))
    assert (nothing.status, nothing.detail) == ("empty", "1 left out by date")


@pytest.mark.parametrize(
    ("name", "parameter", "value", "earliest"),
    [
        ("brave", "freshness", "1970-01-01to2024-02-29", "0001-01-01to0001-01-01"),
        ("serper", "tbs", "cdr:1,cd_max:2/29/2024", "cdr:1,cd_max:1/1/1"),
        ("tavily", "end_date", "2024-02-29", "0001-01-01"),
        ("exa", "endPublishedDate", "2024-03-01T00:00:00.000Z", "0001-01-01T00:00:00.000Z"),
    ],
)
async def test_a_date_is_asked_for_in_the_services_words(
    api: ApiServer, name: str, parameter: str, value: str, earliest: str
) -> None:
    assert (await sent(api, name, SearchQuery("q", 10, date(2024, 3, 1)))).parameters[parameter] == value
    assert (await sent(api, name, SearchQuery("q", 10, date.min))).parameters[parameter] == earliest
    assert parameter not in (await sent(api, name, SearchQuery("q"))).parameters


@pytest.mark.parametrize(
    ("name", "parameter", "most"),
    [("brave", "count", "20"), ("serper", "num", 50), ("tavily", "max_results", 20), ("exa", "numResults", 50)],
)
async def test_no_more_results_are_asked_for_than_there_can_be(
    api: ApiServer, name: str, parameter: str, most: Any
) -> None:
    assert (await sent(api, name, SearchQuery("q", 50))).parameters[parameter] == most
    assert str((await sent(api, name, SearchQuery("q", 3))).parameters[parameter]) == "3"


@pytest.mark.parametrize(
    ("name", "settings", "parameters"),
    [
        ("searxng", {"region": "us-en", "backend": "bing,brave"}, {"language": "en-US", "engines": "bing,brave"}),
        ("searxng", {"language": "de"}, {"language": "de"}),
        ("searxng", {}, {}),
        ("brave", {"region": "uk-en"}, {"country": "GB", "search_lang": "en"}),
        ("brave", {"region": "tw-zh"}, {"country": "TW", "search_lang": "zh-hant"}),
        ("brave", {"language": "ja"}, {"search_lang": "jp"}),
        ("brave", {"region": "wt-wt", "options": {"safesearch": "off"}}, {"safesearch": "off"}),
        ("serper", {"region": "cn-zh", "language": "en"}, {"gl": "cn", "hl": "zh-cn"}),
        ("tavily", {"language": "en"}, {"search_depth": "basic", "topic": "general"}),
        ("tavily", {"options": {"topic": "news"}}, {"search_depth": "basic", "topic": "news"}),
        ("exa", {"region": "de-de"}, {"type": "auto", "userLocation": "DE"}),
    ],
)
async def test_region_language_and_options_are_asked_for_and_told(
    api: ApiServer, name: str, settings: dict[str, Any], parameters: dict[str, Any]
) -> None:
    asked = await sent(api, name, SearchQuery("q"), **settings)
    assert parameters.items() <= asked.parameters.items()
    told = service_named(name).search(api.endpoint, **settings).parameters
    assert told == {"endpoint": api.endpoint, **parameters}


async def test_all_that_was_sent_is_in_the_envelope(api: ApiServer, service: Described) -> None:
    reply = await found(api, service, asked=SearchQuery("a question", 3, date(2024, 1, 1)))
    (asked,) = api.asked
    query = next(name for name, value in asked.parameters.items() if value == "a question")
    kept = {name: value if isinstance(value, dict) else str(value) for name, value in reply.parameters.items()}
    unquestioned = {name: value for name, value in asked.parameters.items() if name != query}
    assert {name: value if isinstance(value, dict) else str(value) for name, value in unquestioned.items()} == {
        name: value for name, value in kept.items() if name != "endpoint"
    }


@pytest.mark.parametrize(
    ("name", "query", "asked_for"),
    [
        ("brave", "word " * 60, " ".join(["word"] * 50)),
        ("brave", "wörter " * 70, " ".join(["wörter"] * 50)),
        ("brave", "longword" * 10 + " " + "x" * 350, "longword" * 10),
        ("tavily", "字" * 500, "字" * 400),
        ("tavily", "a b" + "c" * 397, "a b" + "c" * 397),
        ("exa", "word " * 500, ("word " * 500).strip()),
    ],
)
async def test_a_query_is_cut_to_what_the_service_takes(api: ApiServer, name: str, query: str, asked_for: str) -> None:
    service = service_named(name)
    api.answer = json_reply(service.page([]))
    reply = (await service.search(api.endpoint).search(SearchQuery(query))).reply
    assert asked_for in api.asked[-1].parameters.values()
    assert reply.query == query
    assert reply.detail == ("" if asked_for == query.strip() else f"the query was cut to {len(asked_for)} characters")


async def test_a_query_that_is_no_unicode_is_asked_all_the_same(api: ApiServer, service: Described) -> None:
    reply = await found(api, service, asked=SearchQuery("a\ud800b  e\u0301 "))
    assert (reply.query, reply.status) == ("a\ufffdb  e\u0301 ", "empty")
    assert "a\ufffdb \u00e9" in api.asked[0].parameters.values()


async def test_marks_of_html_are_taken_from_braves_texts(api: ApiServer) -> None:
    item = SERVICES[1].item("https://e.org/", "A <strong>b</strong> &amp; c", "It&#x27;s <b>", None)
    (result,) = (await found(api, SERVICES[1], item)).results
    assert (result.title, result.snippet) == ("A b & c", "It's <b>")


async def test_the_age_is_taken_where_brave_gives_no_date(api: ApiServer) -> None:
    item = SERVICES[1].item("https://e.org/", "T", "S", None) | {"age": "November 16, 2023"}
    (result,) = (await found(api, SERVICES[1], item)).results
    assert (result.published_at, result.published_from) == ("2023-11-16", "age")


async def test_exa_without_highlights_gives_its_text(api: ApiServer) -> None:
    items = [
        {"url": f"https://e.org/{n}", "title": "T"} | more
        for n, more in enumerate(
            (
                {"highlights": ["a", 3, "b"]},
                {"highlights": [], "summary": "sum"},
                {"text": "whole"},
                {"highlights": "x"},
            )
        )
    ]
    reply = await found(api, SERVICES[4], *items)
    assert [result.snippet for result in reply.results] == ["a … b", "sum", "whole", ""]


@pytest.mark.parametrize(
    ("query", "asked_for"),
    [
        ("!!g secret", "g secret"),
        ("!bing :fr what <3 is a!b c:d", "bing fr what 3 is a!b c:d"),
        ("x  !! y", "x  y"),
        ("!!", "!!"),
        ("\u00bfqu\u00e9? (!x)", "\u00bfqu\u00e9? (!x)"),
    ],
)
async def test_a_query_cannot_command_searxng(api: ApiServer, query: str, asked_for: str) -> None:
    reply = await found(api, SERVICES[0], asked=SearchQuery(query))
    assert (api.asked[0].parameters["q"], reply.query) == (asked_for, query)


async def test_searxng_is_asked_at_search_whichever_way_its_address_is_written(api: ApiServer) -> None:
    for endpoint in (api.endpoint, f"{api.endpoint}/", api.endpoint.removesuffix("/search")):
        api.answer = json_reply(SERVICES[0].page([]))
        searched = await SERVICES[0].search(endpoint).search(SearchQuery("q"))
        assert api.asked[-1].path == "/search"
        assert searched.reply.parameters["endpoint"] == api.endpoint
