"""What goes out is what the URL standard's parse says: the address, the port, the path and the name."""

import ssl
from collections.abc import Callable
from typing import Any

import pytest
from tests.tools.web.roads import Roads
from tests.tools.web_server import WebServer, reply

from toolablate.tools.web import Exchange, FetchError, LiveHttpClient, WebPolicy, is_public, normal_url
from toolablate.tools.web.urls import target_of

Opening = Callable[..., LiveHttpClient]
EVERYWHERE = WebPolicy(ports=tuple(range(65_536)), robots=False, delay_seconds=0.0, seconds=10.0)


async def public_address(host: str, port: int) -> list[str]:
    return ["8.8.8.8"]


async def test_every_case_of_the_standard_goes_where_it_says(
    url_cases: list[dict[str, Any]],
    live: Opening,
    certificate: tuple[ssl.SSLContext, ssl.SSLContext],
    roads: Roads,
) -> None:
    names: list[str] = []
    served, trusting = certificate
    served.sni_callback = lambda _socket, name, _context: names.append(name)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    client = live(EVERYWHERE, resolve=public_address, tls=trusting)
    counts = {"sent": 0, "blocked": 0, "unnameable": 0}
    for scheme, tls in (("http:", None), ("https:", served)):
        async with WebServer().running(tls) as roads.server:
            for case in url_cases:
                if case.get("protocol") != scheme or case["username"] or case["password"]:
                    continue
                for kept in (roads.wanted, roads.server.requests, names):
                    kept.clear()
                try:
                    exchange = await client.get(normal_url(case["input"], case.get("base")))
                except FetchError as error:
                    counts[refusal(error, case)] += 1
                    assert not roads.server.requests
                else:
                    check_sent(exchange, case, roads, names)
                    counts["sent"] += 1
    assert counts["sent"] > 180
    assert counts["blocked"] > 5
    assert counts["unnameable"] < 5


def refusal(error: FetchError, case: dict[str, Any]) -> str:
    """Private addresses and port 0 are not asked; and TLS knows no names with an empty label, nor too long ones."""
    if error.code == "blocked":
        assert case["port"] == "0" or not is_public(case["hostname"].strip("[]"))
        return "blocked"
    labels = case["hostname"].rstrip(".").split(".")
    assert case["protocol"] == "https:", error.message
    assert not all(0 < len(label) < 64 for label in labels), error.message
    return "unnameable"


def check_sent(exchange: Exchange, case: dict[str, Any], roads: Roads, names: list[str]) -> None:
    target = target_of(exchange.url)
    secure = case["protocol"] == "https:"
    assert roads.wanted == [(target.address or "8.8.8.8", int(case["port"] or (443 if secure else 80)))]
    assert exchange.address == (target.address or "8.8.8.8")
    assert roads.server
    [(path, headers)] = roads.server.requests
    assert path == case["href"].partition("#")[0].removeprefix(f"{case['protocol']}//{case['host']}")
    assert path.removesuffix("?") == case["pathname"] + case["search"].removesuffix("?")
    assert headers["host"] == case["host"]
    if secure and not target.address:
        assert names == [case["hostname"].rstrip(".")]


async def test_a_request_is_all_that_the_record_says_and_no_more(
    live: Opening, roads: Roads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.delenv("no_proxy")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1/")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1/")
    async with WebServer(pages={"/a": reply("x", Set_Cookie="id=1; Path=/")}).running() as roads.server:
        client = live(WebPolicy(robots=False, delay_seconds=0.0, language="zh-CN"), resolve=public_address)
        exchange = await client.get("http://page.example/a?b")
        await client.get("http://page.example/a?b")
    assert roads.server.requests[0] == roads.server.requests[1]
    path, headers = roads.server.requests[0]
    assert path == "/a?b"
    assert headers == {name.lower(): value for name, value in exchange.request_headers}
    assert set(headers) == {"host", "user-agent", "accept", "accept-language", "accept-encoding", "connection"}
    assert headers["accept-language"] == "zh-CN, *;q=0.5"
    assert headers["user-agent"].startswith("toolablate/")
