"""A page that somebody looks at while a store grows."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Browse, ServeView
from tests.browser.serving import Site, refreshed, serving, viewing
from tests.browser.wire import get
from tests.viewer.keeping.reading import read_findings

from toolablate.analysis.selection import Selection
from toolablate.reports.plots.figures import Printed
from toolablate.viewer import rendering as drawing
from toolablate.viewer.index import ViewerIndex


@pytest.fixture
def growing(ran: Path, tmp_path: Path) -> ViewerIndex:
    return ViewerIndex.open(tmp_path / "growing.index")


def test_nothing_there_yet_says_so_and_fills_itself(
    ran: Path, growing: ViewerIndex, browse: Browse, serve_view: ServeView
) -> None:
    site = serve_view(viewing(ran, growing))
    page = browse(site)
    expect(page.get_by_text("The page updates as trials end.")).to_be_visible()
    assert "No trial has ended yet." in get(site, "/questions").text
    refreshed(growing, ran, ended=40)
    expect(page.locator("table.results")).to_be_visible()
    expect(page.get_by_text("Effects, intervals and flips are being computed")).to_be_visible()
    growing.put_findings(read_findings(ran, why=False))
    expect(page.get_by_role("columnheader", name="p Holm").first).to_be_visible()


def test_what_is_open_focused_and_scrolled_stays(serve: Callable[..., Site], browse: Browse) -> None:
    site = serve()
    page = browse(site, "/questions", width=700)
    page.locator("summary", has_text="Legend").click()
    page.keyboard.press("j")
    page.keyboard.press("j")
    box = page.locator(".scroll")
    box.evaluate("each => { each.scrollLeft = 120; each.dataset.old = 'yes'; }")
    before = page.evaluate("document.activeElement.getAttribute('href')")
    site.view.index.put_progress("reading 3 of 7")
    expect(page.locator(".scroll:not([data-old])")).to_have_count(1)
    assert page.evaluate("document.activeElement.getAttribute('href')") == before
    assert page.locator("tr.here").count() == 1
    assert box.evaluate("each => each.scrollLeft") == 120
    assert page.locator("details.legend").get_attribute("open") is not None
    expect(page.locator("#progress")).to_have_text("reading 3 of 7")


def test_figures_stay_where_they_are_until_new_ones_are_drawn(
    serve: Callable[..., Site], browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, may_draw = drawing.printed, threading.Event()
    may_draw.set()

    def slowly(*given: Any, **named: Any) -> tuple[Printed, ...]:
        assert may_draw.wait(30)
        return drawn(*given, **named)

    monkeypatch.setattr(drawing, "printed", slowly)
    site = serve()
    page = browse(site)
    figures = page.locator("figure svg.plot:visible")
    figures.first.wait_for()
    there = figures.count()
    link = page.locator("#figure-scores svg a").first
    link.focus()
    focused = link.get_attribute("href")
    link.evaluate("each => { each.scrollIntoView({ block: 'center' }); each.dataset.old = 'yes'; }")
    seen = page.locator("#figure-scores").bounding_box()
    may_draw.clear()
    site.view.index.put_progress("reading 3 of 7")
    expect(page.get_by_text("from before the last update; new ones are being drawn")).to_be_visible()
    meanwhile = figures.count(), page.locator("#figure-scores").bounding_box()
    may_draw.set()
    expect(page.get_by_text("of a moment before")).to_have_count(0)
    expect(page.locator("[data-old]")).to_have_count(0)
    assert meanwhile == (there, seen)
    assert (figures.count(), page.locator("#figure-scores").bounding_box()) == (there, seen)
    assert (
        page.evaluate("document.activeElement.closest('#figure-scores') && document.activeElement.getAttribute('href')")
        == focused
    )


def test_what_is_read_stays_where_more_comes_above_it(
    ran: Path, growing: ViewerIndex, browse: Browse, serve_view: ServeView
) -> None:
    refreshed(growing, ran, ended=96)
    growing.put_findings(read_findings(ran, why=False))
    site = serve_view(viewing(ran, growing))
    page = browse(site)
    read = page.locator("#figure-outcomes")
    read.wait_for()
    read.evaluate("each => each.scrollIntoView({ block: 'start' })")
    seen, down = read.bounding_box(), page.evaluate("scrollY")
    refreshed(growing, ran, ended=60)
    expect(page.get_by_role("heading", name="Not finished")).to_have_count(1)
    assert page.evaluate("scrollY") > down
    # Browsers scroll by whole pixels.
    now = read.bounding_box()
    assert seen is not None
    assert now == {**seen, "y": pytest.approx(seen["y"], abs=1)}


def test_nothing_moves_under_the_hands_of_who_fills_in_a_form(serve: Callable[..., Site], browse: Browse) -> None:
    site = serve()
    page = browse(site, "/questions")
    page.locator("summary", has_text="Flip").click()
    page.get_by_role("checkbox", name="right → wrong").check()
    with page.expect_response("**/live"):
        site.view.index.put_progress("reading 1 of 7")
    expect(page.locator("#progress")).to_have_text("reading 1 of 7")
    assert page.get_by_role("checkbox", name="right → wrong").is_checked()


def test_trouble_is_shown_on_every_page(serve: Callable[..., Site], browse: Browse) -> None:
    site = serve()
    site.view.index.put_trouble("The store cannot be read: <b>disk</b>")
    page = browse(site)
    expect(page.locator("#trouble")).to_have_text("The store cannot be read: <b>disk</b>")
    trial = site.view.index.questions(Selection()).rows[0].glances[0].trials[0].trial
    expect(browse(site, f"/trial/{trial}").locator("#trouble")).to_be_visible()
    expect(browse(site, scripts=False).locator("#trouble")).to_be_visible()
    site.view.index.put_trouble("")
    expect(page.locator("#trouble")).to_be_hidden()


def test_what_is_new_is_told_as_numbers(serve: Callable[..., Site]) -> None:
    site = serve()
    first = json.loads(get(site, "/live").body)
    assert (first["planned"], first["ended"], first["running"]) == (96, 96, 0)
    site.view.index.put_progress("attributing 1 of 2")
    second = json.loads(get(site, "/live").body)
    assert second["version"] > first["version"]
    assert second["progress"] == "attributing 1 of 2"


def test_a_viewer_that_stops_is_no_trouble(
    ran: Path, growing: ViewerIndex, browse: Browse, complaints: list[str]
) -> None:
    refreshed(growing, ran, ended=96)
    with serving(viewing(ran, growing)) as site:
        page = browse(site)
        expect(page.locator("table.results")).to_be_visible()
    page.wait_for_timeout(2_500)
    assert page.locator("table.results").is_visible()
    assert all("ERR_CONNECTION_REFUSED" in each or "/live" in each for each in complaints)
    complaints.clear()
