"""URLs are read as the URL standard reads them."""

from typing import Any

import pytest
from hypothesis import given, strategies

from toolablate.tools.web import FetchError, normal_url, request_key
from toolablate.tools.web.urls import MAX_URL_CHARS, page_url, target_of


def test_every_case_of_the_standard(url_cases: list[dict[str, Any]]) -> None:
    """Those of other schemes are refused as such, and those with a user name or password."""
    outcomes = {"bad_url": 0, "blocked": 0, "parsed": 0}
    for case in url_cases:
        try:
            found = normal_url(case["input"], case.get("base"))
        except FetchError as error:
            found = error.code
        wanted = expected(case)
        outcomes["parsed" if ":" in wanted else wanted] += 1
        assert found == wanted, case
    assert outcomes["parsed"] > 200
    assert outcomes["blocked"] > 20
    assert outcomes["bad_url"] > 273


def test_the_parts_of_a_normal_url_are_the_standards_and_it_stays_as_it_is(url_cases: list[dict[str, Any]]) -> None:
    for case in url_cases:
        url = expected(case)
        if url.startswith("http"):
            target = target_of(url)
            assert (f"{target.scheme}:", target.host, target.path) == (
                case["protocol"],
                case["hostname"],
                url.removeprefix(f"{case['protocol']}//{case['host']}"),
            )
            assert target.path.removesuffix("?") == case["pathname"] + case["search"].removesuffix("?")
            assert target.port == int(case["port"] or {"http:": 80, "https:": 443}[case["protocol"]])
            assert target.authority == case["host"]
            assert normal_url(url) == page_url(url) == url


def expected(case: dict[str, Any]) -> str:
    if case.get("failure") or case["protocol"] not in ("http:", "https:"):
        return "bad_url"
    if case["username"] or case["password"]:
        return "blocked"
    return str(case["href"]).partition("#")[0]


NO_URLS = """
ftp://example.org/ file:///etc/passwd javascript:alert(1) data:text/html,hi example.org /etc/passwd http:// http://?
http://[::1 http://[ http://a%00b.org/ http://[fe80::1%25eth0]/ http://[fe80::1%eth0]/ http://[8.8.8.8]/
http://8.8.8.8:99999/ http://256.1.1.1/ http://1.2.3.4.5/ http://0x100000000/ http://xn--/ http://a.xn--pokxncvks/
"""


@pytest.mark.parametrize(
    "url",
    [
        *NO_URLS.split(),
        "",
        " ",
        "http://a b.org/",
        "http://a/" + "a" * MAX_URL_CHARS,
        "http://a/" + "ü" * (MAX_URL_CHARS // 2),
    ],
)
def test_what_is_no_url_of_the_web(url: str) -> None:
    with pytest.raises(FetchError) as refused:
        normal_url(url)
    assert (refused.value.code, refused.value.policy) == ("bad_url", False)
    assert len(refused.value.message) < 400


@pytest.mark.parametrize(
    "url", ["http://me@8.8.8.8/", "http://me:secret@a.org/", "http://:secret@a.org/", "//me@a.org/"]
)
def test_user_names_and_passwords_are_refused(url: str) -> None:
    with pytest.raises(FetchError) as refused:
        normal_url(url, "http://b.org/")
    assert (refused.value.code, refused.value.policy) == ("blocked", True)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("example.org", "https://example.org/"),
        (" Example.org/a?b#c\n", "https://example.org/a?b"),
        ("example.org:8080/x", "https://example.org:8080/x"),
        ("//example.org/x", "https://example.org/x"),
        ("例子.中国/书", "https://xn--fsqu00a.xn--fiqs8s/%E4%B9%A6"),
        ("http://example.org", "http://example.org/"),
        ("http:example.org", "http://example.org/"),
        ("https://münchen.example/ä b?c d", "https://xn--mnchen-3ya.example/%C3%A4%20b?c%20d"),
    ],
)
def test_what_a_model_writes(text: str, url: str) -> None:
    assert page_url(text) == url


@pytest.mark.parametrize(
    "text", ["readme", "about:blank", "mailto:me@example.org", "localhost:80", "ftp.example.org:x", "1.5"]
)
def test_what_a_model_writes_that_is_no_url(text: str) -> None:
    with pytest.raises(FetchError) as refused:
        page_url(text)
    assert refused.value.code == "bad_url"


def test_a_text_of_any_length_is_refused_at_once() -> None:
    for text in ("a." * 1_000_000, "http://" + "a" * 5_000_000):
        with pytest.raises(FetchError, match="longer than"):
            page_url(text)


def test_the_key_tells_requests_apart() -> None:
    keys = {
        request_key("GET", "http://a/"),
        request_key("GET", "http://a/", language="zh"),
        request_key("POST", "http://a/"),
        request_key("GET", "http://a/", body_digest="00"),
        request_key("GET", "http://a/b"),
    }
    assert len(keys) == 5
    assert (
        request_key("GET", "http://a/", "", "en")
        == request_key("GET", "http://a/")
        == "a260de9f5ce7eac2d17a6b286a6f76d6"
    )


@given(strategies.text())
def test_whatever_the_text_it_is_refused_or_read_once_and_for_all(text: str) -> None:
    for written in (text, f"http://{text}", f"https://a.org/{text}"):
        try:
            url = page_url(written)
        except FetchError:
            continue
        target = target_of(url)
        assert url == normal_url(url) == f"{target.scheme}://{target.authority}{target.path}"
        assert all("!" <= char <= "~" for char in url)
