"""Addresses that ask for what is not there get a page that says so, never a bug."""

from collections.abc import Callable
from dataclasses import replace
from urllib.parse import quote

import pytest
from lxml import html
from tests.browser.serving import Site, serving
from tests.browser.wire import get

from toolablate.traces.errors import StoreError
from toolablate.viewer.index import ViewerIndex

HOSTILE = "<script>window.hit=1</script>\u202eevil\u200b\x1b[31m"


def said(site: Site, path: str, status: int) -> str:
    reply = get(site, path)
    assert reply.status == status, path
    assert reply.headers["content-type"] == "text/html; charset=utf-8"
    page = html.fromstring(reply.text)
    assert page.xpath("count(//nav//a)") >= 3
    assert "<script>window" not in reply.text
    return " ".join(page.xpath("string(//main)").split())


@pytest.mark.parametrize(
    "name", ["model", "condition", "domain", "difficulty", "mechanism", "label", "tool", "ending", "flip"]
)
def test_values_that_nothing_has_are_named_with_those_that_there_are(site: Site, name: str) -> None:
    text = said(site, f"/questions?{name}=no-such-{name}", 400)
    assert f"No {name} here is called “no-such-{name}”." in text
    assert "There are:" in text or "No trial has any." in text
    said(site, f"/questions?{name}={quote(HOSTILE)}", 400)


def test_the_values_that_there_are_are_told(site: Site) -> None:
    assert "There are: none, python, search." in said(site, "/questions?condition=x", 400)


@pytest.mark.parametrize("page", ["0", "-1", "abc", "1.5", "", "٣", "00", "1e3"])
def test_pages_count_from_one(site: Site, page: str) -> None:
    assert "is no page: pages count from 1." in said(site, f"/questions?page={quote(page)}", 400)


@pytest.mark.parametrize("page", ["2", "999999999", str(10**30)])
def test_beyond_the_last_page_is_the_last(site: Site, page: str) -> None:
    assert "page 1 of 1" in said(site, f"/questions?page={page}", 200)


def test_nothing_sorts_by_what_it_does_not_know(site: Site) -> None:
    assert "Nothing sorts by “beauty”, only: order," in said(site, "/questions?sort=beauty", 400)
    said(site, "/questions?sort=", 400)
    said(site, "/questions?sort=--name", 400)


def test_texts_to_look_for_are_short(site: Site) -> None:
    assert "has 2,000 characters; at most 1,000 are." in said(site, "/questions?text=" + "a" * 2_000, 400)
    assert get(site, "/questions?text=" + "a" * 1_000_000).status in (0, 400, 414)


@pytest.mark.parametrize("text", [HOSTILE, "%", "_", "'", '"', "\\", "\x00", "系列", "(", "*", "NEAR/1 OR"])
def test_any_text_can_be_looked_for(site: Site, text: str) -> None:
    said(site, f"/questions?text={quote(text)}", 200)


@pytest.mark.parametrize(
    "path", ["/nowhere", "/questions/", "/question/", "/question/no-such", "/question/a%2Fb", "/trial/no-such"]
)
def test_what_is_not_there_is_said_to_be_missing(site: Site, path: str) -> None:
    if get(site, path).status == 307:  # to the same address without its slash
        return
    said(site, path, 404)


def test_unknown_parameters_are_none_of_its_business(site: Site) -> None:
    said(site, "/questions?utm_source=mail&page=1", 200)


def test_a_page_that_breaks_says_so_in_the_same_look(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(error: Exception) -> Callable[[ViewerIndex], None]:
        def broken(self: ViewerIndex) -> None:
            raise error

        return broken

    class Broken(ViewerIndex):
        facets = breaks(ZeroDivisionError("secret"))  # type: ignore[assignment]

    class Unreadable(ViewerIndex):
        facets = breaks(StoreError("the store is locked", hint="Close what writes it."))  # type: ignore[assignment]

    for kind, expected in ((Broken, "This page has a bug"), (Unreadable, "the store is locked")):
        with serving(replace(site.view, index=kind(site.view.index.path))) as served:
            text = said(served, "/questions", 500)
            assert expected in text
            assert "secret" not in text
            assert "Traceback" not in text
            assert "default-src 'none'" in get(served, "/questions").headers["content-security-policy"]
