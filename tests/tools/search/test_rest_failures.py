"""Every service misbehaves in every way, over real HTTP: five kinds of failure, none of them `empty`, and no leaks."""

import asyncio
import base64
import json
import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any
from urllib.parse import quote

import pytest
from tests.tools.search.api_server import Answer, ApiServer, Flood, Reset, json_reply
from tests.tools.search.rest_services import KEY, SERVICES, Described
from tests.tools.web_server import Drip, WebServer, reply, zipped

from toolablate.tools.search import Searched, SearchQuery
from toolablate.tools.search.provider import SearchSettings
from toolablate.tools.search.rest_client import RestLimits, RestSearch
from toolablate.traces.records import SearchReply

PATIENT = RestLimits(seconds=20.0, reply_bytes=100_000)
IMPATIENT = RestLimits(seconds=0.3)
HTML = "<!doctype html><html><body>Just a moment</body></html>"
ONE = "@the key@"
CAPTCHA = "<!doctype html><html><body><div class='g-recaptcha'>Are you a robot?</div></body></html>"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


async def answered(api: ApiServer, service: Described, answer: Answer, limits: RestLimits = PATIENT) -> Searched:
    api.answer = answer
    return await service.search(api.endpoint, limits).search(SearchQuery("a question", 5))


async def failed(api: ApiServer, service: Described, answer: Answer, limits: RestLimits = PATIENT) -> SearchReply:
    reply_ = (await answered(api, service, answer, limits)).reply
    assert reply_.results == ()
    assert len(api.asked) == 1
    assert reply_.status != "empty"
    assert reply_.detail
    return reply_


async def test_nothing_found_is_empty(api: ApiServer, service: Described) -> None:
    searched = await answered(api, service, json_reply(service.page([])))
    assert (searched.reply.status, searched.reply.detail, searched.reply.lasting) == ("empty", "", False)
    assert json.loads(searched.raw) == service.page([])


@pytest.mark.parametrize("status", ["401 Unauthorized", "402 Payment Required", "403 Forbidden", "432 Plan", "433 Pay"])
async def test_a_refusal_is_blocked_and_lasts(api: ApiServer, service: Described, status: str) -> None:
    found = await failed(api, service, json_reply({"message": "not for you", "error": "no"}, status, Retry_After="9"))
    assert (found.status, found.lasting, found.retry_after) == ("blocked", True, None)
    assert f"HTTP {status[:3]}" in found.detail
    assert "no" in found.detail


async def test_too_many_requests_are_rate_limited_and_say_for_how_long(api: ApiServer, service: Described) -> None:
    found = await failed(api, service, json_reply({"error": "slow down"}, "429 Too Many Requests", Retry_After="7"))
    assert (found.status, found.lasting, found.retry_after) == ("rate_limited", False, 7.0)
    assert "slow down" in found.detail


@pytest.mark.parametrize(
    "answer",
    [
        Drip((b"",), 2.0),
        Drip((HEAD,), 2.0),
        Drip((HEAD + b"Content-Length: 50\r\n\r\n", b"{", *(b" " for _ in range(20))), 0.1),
        reply("x", status="504 Gateway Timeout"),
        reply("x", status="408 Request Timeout"),
    ],
    ids=["silent", "half a head", "drop by drop", "504", "408"],
)
async def test_what_takes_too_long_is_a_timeout(api: ApiServer, service: Described, answer: Answer) -> None:
    began = asyncio.get_running_loop().time()
    found = await failed(api, service, answer, IMPATIENT)
    assert (found.status, found.lasting) == ("timeout", False)
    assert asyncio.get_running_loop().time() - began < 1.5


@pytest.mark.parametrize(
    ("answer", "lasting"),
    [
        (reply("oops", status="500 Internal Server Error"), False),
        (reply("", status="503 Service Unavailable"), False),
        (json_reply({"error": "bad"}, "400 Bad Request"), True),
        (json_reply({"detail": [{"loc": ["q"]}]}, "422 Unprocessable Entity"), True),
        (reply("", status="404 Not Found"), True),
        (reply("", status="204 No Content"), True),
        (reply("{}", status="999 Whatever"), False),
        (reply(HTML), False),
        (reply(""), False),
        (reply('{"results": [{"url"', kind="application/json"), False),
        (reply('"results"', kind="application/json"), False),
        (reply("[]", kind="application/json"), False),
        (reply("null", kind="application/json"), False),
        (reply("[" * 90_000, kind="application/json"), False),
        (reply("1" * 90_000, kind="application/json"), False),
        (reply(b"\xff\xfe\x00", kind="application/json"), False),
        (json_reply({}), False),
        (json_reply({"items": []}), False),
        (json_reply({"message": "Internal error", "code": 3}), False),
        (reply(" " * 100_001, kind="application/json"), False),
        (Flood(HEAD + b"\r\n"), False),
        (Flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n"), False),
        (zipped("{}", Content_Type="application/json"), False),
        (Reset(), False),
        (Reset(HEAD + b"Content-Length: 100\r\n\r\n{"), False),
        (HEAD + b"Content-Length: 100\r\n\r\n{", False),
        (b"no HTTP at all\r\n\r\n", False),
        (HEAD + b"".join(b"X-%d: %s\r\n" % (number, b"x" * 1000) for number in range(300)) + b"\r\n{}", False),
    ],
    ids=lambda value: value[:24] if isinstance(value, bytes) else None,
)
async def test_whatever_else_goes_wrong_is_an_error(
    api: ApiServer, service: Described, answer: Answer, lasting: bool
) -> None:
    found = await failed(api, service, answer)
    assert (found.status, found.lasting) == ("error", lasting), found.detail
    assert SearchReply.from_json(found.to_json()) == found


async def test_a_wait_is_read_however_it_is_written(api: ApiServer) -> None:
    waits = {"7": 7.0, "0.5": 0.5, "-1": None, "nan": None, "soon": None, "": None, "1e999": None}
    waits |= {"1e300": 3_600.0, "86400": 3_600.0, "Wed, 21 Oct 2100 07:28:00 GMT": 3_600.0}
    waits |= {"Thu, 16 Nov 2023 10:00:00 GMT": 0.0, "Thu, 16 Nov 2023 10:00:99999999999 GMT": None}
    for written, wait in waits.items():
        api.asked.clear()
        found = await failed(api, SERVICES[4], reply("x", status="429 Too Many", Retry_After=written))
        assert (found.status, found.retry_after) == ("rate_limited", wait), written
    api.asked.clear()
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    found = await failed(api, SERVICES[4], reply("x", status="503 Busy", Retry_After=later))
    assert found.retry_after == pytest.approx(60, abs=3)


async def test_a_robot_check_with_status_200_is_blocked(api: ApiServer, service: Described) -> None:
    found = await failed(api, service, reply(CAPTCHA))
    assert (found.status, found.lasting) == ("blocked", False)


@pytest.mark.parametrize("results", [{"0": {}}, "none", 3, True, None, ["https://e.org/"], [None], [[]]])
async def test_results_that_are_no_list_of_results_are_an_error(
    api: ApiServer, service: Described, results: Any
) -> None:
    found = await failed(api, service, json_reply(service.page(results)))
    assert found.status == "error"


@pytest.mark.parametrize("url", [None, "", 3, [], "javascript:alert(1)", "file:///etc/passwd", "//e.org", "https://"])
async def test_results_without_a_web_address_are_an_error_and_not_nothing_found(
    api: ApiServer, service: Described, url: Any
) -> None:
    found = await failed(api, service, json_reply(service.page([service.item(url, "Title", "Text", None)])))
    assert (found.status, found.detail) == ("error", "none of 1 results has a web address")


async def test_an_address_of_any_length_takes_no_long_time(api: ApiServer, service: Described) -> None:
    items = [service.item(f"http://{'a' * 40_000} b", "T", "S", None), service.item("https://e.org/", "T", "S", None)]
    found = (await answered(api, service, json_reply(service.page(items)))).reply
    assert [result.url for result in found.results] == ["https://e.org/"]
    api.asked.clear()
    await failed(api, service, json_reply(service.page([service.item(f"https://e.org/{'a' * 4_000}", "T", "S", None)])))


@pytest.mark.parametrize("wrong", [None, 3, True, {"a": 1}, ["x"], "\x00\ud800"])
async def test_wrong_types_inside_a_result_spoil_only_what_they_are(
    api: ApiServer, service: Described, wrong: Any
) -> None:
    items = [service.item("https://e.org/1", wrong, wrong, wrong), service.item("https://e.org/2", "T", "S", None)]
    found = (await answered(api, service, json_reply(service.page([*items, None, 7])))).reply
    assert found.status == "ok"
    assert [(result.rank, result.url) for result in found.results] == [(1, "https://e.org/1"), (2, "https://e.org/2")]
    assert found.results[0].published_at == ""
    assert SearchReply.from_json(found.to_json()) == found


async def test_a_service_that_is_not_there_is_an_error(service: Described) -> None:
    found = (await service.search("http://127.0.0.1:9/search", PATIENT).search(SearchQuery("q"))).reply
    assert (found.status, found.lasting, found.raw_digest) == ("error", False, "")


async def test_a_redirect_is_not_followed(api: ApiServer, service: Described, web: WebServer) -> None:
    web.pages["/"] = json_reply(service.page([]))
    found = await failed(api, service, reply(status="302 Found", Location=web.url("/")))
    assert (found.status, found.lasting) == ("error", True)
    assert web.requests == []


@pytest.mark.parametrize(
    "service", [each for each in SERVICES if each.key_header], ids=lambda each: each.name, indirect=True
)
@pytest.mark.parametrize(
    "answer",
    [
        json_reply({"error": f"the key {KEY} is not known", "detail": KEY}, "401 Unauthorized"),
        reply(f"no such key: {KEY}", status="403 Forbidden"),
        reply("no", kind=f"text/{KEY}"),
        reply("{}", kind="application/json", Content_Encoding=KEY),
        json_reply({"message": KEY}),
    ],
)
async def test_a_key_that_comes_back_is_kept_nowhere(
    api: ApiServer, service: Described, answer: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    searched = await answered(api, service, answer)
    assert service.key_header
    name, value = service.key_header
    assert api.asked[0].headers[name] == value
    assert KEY not in searched.reply.to_json()
    assert KEY.encode() not in searched.raw
    assert "127.0.0.1" in caplog.text
    assert KEY not in "".join(message for message in caplog.messages if "receive" not in message)
    assert KEY not in repr(service.search(api.endpoint)) + str(vars(searched.reply))


SPELT = 'sk/abc+0123 DEF=="'
SPELLINGS = {
    "plain": SPELT.replace('"', '\\"'),
    "slashes": SPELT.replace("/", "\\/").replace('"', '\\"'),
    "unicode": "".join(f"\\u{ord(char):04X}" for char in SPELT),
    "some unicode": SPELT.replace("/", "\\u002f").replace("a", "\\u0061").replace('"', "\\u0022"),
    "url": quote(SPELT, safe=""),
    "url twice": quote(quote(SPELT, safe=""), safe=""),
    "url, all of it": "".join(f"%{ord(char):02x}" for char in SPELT),
    "entities": "".join(f"&#{ord(char)};" for char in SPELT),
    "some entities": SPELT.replace("/", "&#x2F;").replace('"', "&quot;"),
    "JSON in JSON": json.dumps(json.dumps(SPELT).replace("/", "\\/"))[1:-1],
    "emphasis": SPELT.replace("/", "<strong>/</strong>").replace('"', '\\"'),
    "base64": base64.b64encode(SPELT.encode()).decode(),
}


@pytest.mark.parametrize("spelt", SPELLINGS.values(), ids=SPELLINGS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-be"])
async def test_a_key_that_comes_back_in_another_spelling_is_kept_nowhere(
    api: ApiServer, spelt: str, encoding: str
) -> None:
    service = SERVICES[1]
    page = json.dumps(service.page([service.item(f"https://e.org/?k={ONE}", ONE, f"It is {ONE}.", None)]))
    for body, status in ((page, "200 OK"), (json.dumps({"error": ONE}), "401 No"), (ONE, "403 No")):
        api.answer = reply(body.replace(ONE, spelt).encode(encoding), kind="application/json", status=status)
        search = RestSearch(service.make(SearchSettings(endpoint=api.endpoint)), SPELT)
        searched = await search.search(SearchQuery("q", 5))
        # The time, the digest and the port can hold any four digits.
        kept = searched.reply.model_dump_json(exclude={"fetched_at", "raw_digest"}).replace(api.endpoint, "")
        told = kept + searched.raw.decode("latin-1").replace("\0", "")
        told += "".join(result.title + result.snippet for result in searched.reply.results)
        assert "[key]" in told
        for part in ("0123", "MDEyMy", "%30%31", "0031", "&#49;"):
            assert part not in told, told
        if status == "200 OK" and encoding == "utf-8":
            assert searched.reply.status == "ok"


@pytest.mark.parametrize(
    ("name", "answer", "status", "lasting"),
    [
        (
            "brave",
            json_reply({"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": "x"}}, "422 X"),
            "blocked",
            True,
        ),
        ("brave", json_reply({"error": {"code": "VALIDATION", "detail": "q"}}, "422 X"), "error", True),
        ("brave", json_reply({"error": {"code": "RATE_LIMITED", "detail": "x"}}, "429 X"), "rate_limited", False),
        (
            "brave",
            json_reply({"error": {"code": "QUOTA_LIMITED", "detail": "x"}}, "429 X", Retry_After="9"),
            "rate_limited",
            True,
        ),
        ("brave", json_reply({"type": "ErrorResponse", "error": {"code": "X"}}), "error", False),
        ("brave", json_reply({"type": "search"}), "empty", False),
        ("serper", json_reply({"message": "Unauthorized.", "statusCode": 403}, "403 Forbidden"), "blocked", True),
        ("serper", json_reply({"message": "Not enough credits", "statusCode": 400}, "400 Bad"), "blocked", True),
        ("serper", json_reply({"message": "Missing query", "statusCode": 400}, "400 Bad"), "error", True),
        ("serper", json_reply({"searchParameters": {"q": "x"}, "credits": 1}), "empty", False),
        ("tavily", json_reply({"detail": {"error": "Unauthorized: invalid API key."}}, "401 X"), "blocked", True),
        ("tavily", json_reply({"detail": {"error": "your plan's set usage limit"}}, "432 X"), "blocked", True),
        ("exa", json_reply({"error": "out of credits", "tag": "NO_MORE_CREDITS"}, "402 X"), "blocked", True),
        ("searxng", reply(HTML, status="403 Forbidden"), "blocked", True),
        ("searxng", reply("Too Many Requests", status="429 Too Many Requests"), "rate_limited", False),
    ],
)
async def test_what_services_say_in_their_own_way(
    api: ApiServer, name: str, answer: bytes, status: str, lasting: bool
) -> None:
    service = next(each for each in SERVICES if each.name == name)
    found = (await answered(api, service, answer)).reply
    assert (found.status, found.lasting, found.retry_after) == (status, lasting, None)


async def test_what_a_service_says_is_told(api: ApiServer) -> None:
    brave, searxng = SERVICES[1], SERVICES[0]
    said = {"type": "ErrorResponse", "error": {"code": "RATE_LIMITED", "detail": "Too\nfast", "meta": {}}}
    headers = {"X-RateLimit-Reset": "1, 1419704"}
    found = await failed(api, brave, json_reply(said, "429 Too Many Requests", **headers))
    assert (found.detail, found.retry_after) == ("HTTP 429 Too Many Requests: RATE_LIMITED Too fast", 1.0)
    api.asked.clear()
    found = await failed(api, searxng, reply(HTML, status="403 Forbidden"))
    assert found.detail == "HTTP 403 Forbidden; the instance must have json in search.formats of its settings.yml"


@pytest.mark.parametrize(
    ("engines", "status"),
    [
        ([["google", "CAPTCHA"]], "blocked"),
        ([["google", "Suspended: CAPTCHA"], ["bing", "timeout"]], "blocked"),
        ([["google", "access denied"]], "blocked"),
        ([["google", "Suspended: too many requests"], ["bing", "timeout"]], "rate_limited"),
        ([["google", "timeout"], ["bing", "unexpected crash"]], "timeout"),
        ([["google", "unexpected crash"]], "error"),
        ([["google", None], "bing", 3], "error"),
        ([], "empty"),
        (None, "empty"),
    ],
)
async def test_engines_that_gave_nothing_are_not_nothing_found(api: ApiServer, engines: Any, status: str) -> None:
    page = {"query": "q", "results": [], "unresponsive_engines": engines}
    found = (await answered(api, SERVICES[0], json_reply(page))).reply
    assert (found.status, found.lasting) == (status, False)


async def test_results_stand_where_only_some_engines_gave_nothing(api: ApiServer) -> None:
    item = SERVICES[0].item("https://e.org/", "T", "S", None)
    page = {"results": [item], "unresponsive_engines": [["google", "CAPTCHA"]]}
    found = (await answered(api, SERVICES[0], json_reply(page))).reply
    assert (found.status, len(found.results), found.detail) == ("ok", 1, "engines that gave nothing: google: CAPTCHA")
