"""Regions of a book in a browser: accepted by key, drawn by mouse, over two pages, masked, moved, deleted; by finger;
without scripts; narrow."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import Browse, LookAt
from tests.browser.serving import TOKEN, Site, answering
from tests.browser.test_review import _is_fine
from tests.experiments.construction.test_books import PAGES
from tests.experiments.construction.test_regions import plan_of

from toolablate.experiments.construction.sources.cut_regions import CutBooks, Region, load_regions_plan
from toolablate.viewer.application import served
from toolablate.viewer.reviewing.regions import ROUTES, RegionsView


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    path = plan_of(tmp_path, PAGES)
    with CutBooks(load_regions_plan(path)) as cut:
        view = RegionsView(cut, path)
        with answering(served(ROUTES, TOKEN, frame="regions_base.html", of="plan", view=view)) as base:
            yield Site(base, view)


def _regions(site: Site, state: str) -> list[Region]:
    return [each for each in site.view.cut.regions.values() if each.state == state]


def _said(page: Page, text: str) -> None:
    expect(page.locator("#said")).to_have_text(text)


def _draws(page: Page, sheet: int, box: tuple[float, float, float, float]) -> None:
    """With the mouse, in points of the page."""
    figure = page.locator("[data-page]").nth(sheet)
    svg = figure.locator("svg")
    seen = svg.bounding_box()
    assert seen
    scale = seen["width"] / float(figure.get_attribute("data-width") or 0)
    # Below the bars that stay in place.
    page.evaluate(f"scrollBy(0, {seen['y'] + box[1] * scale - 300})")
    seen = svg.bounding_box()
    assert seen
    left, top, right, bottom = (side * scale for side in box)
    page.mouse.move(seen["x"] + left, seen["y"] + top)
    page.mouse.down()
    page.mouse.move(seen["x"] + right, seen["y"] + bottom, steps=4)
    page.mouse.up()


def test_regions_are_cut_by_keys_and_mouse(site: Site, browse: Browse, look_at: LookAt) -> None:
    page = browse(site)
    _is_fine(page)
    page.get_by_role("link", name="Trees").click()
    expect(page.get_by_role("heading", name="Region 1")).to_be_visible()
    page.wait_for_load_state()
    assert page.evaluate("document.images[0].naturalWidth") == 800
    _is_fine(page)
    look_at(page, "regions-page")
    # The first proposal is chosen: it is moved by keys, and accepted as it is then.
    first = site.view.cut.of(site.view.cut.books[0])[0]
    page.locator("body").press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("y")
    _said(page, "Kept.")
    (kept,) = _regions(site, "accepted")
    assert kept.id == first.id
    left, top, right, bottom = first.boxes[0].box
    assert kept.boxes[0].box == pytest.approx((left + 2, top, right + 2, bottom + 2), abs=0.06)
    assert kept.tiles
    # The second is deleted.
    page.keyboard.press("n")
    page.keyboard.press("x")
    _said(page, "Deleted.")
    assert len(_regions(site, "deleted")) == 1
    # A new one over two pages, with a mask.
    page.keyboard.press("2")
    _draws(page, 0, (50, 340, 380, 400))
    page.keyboard.press("3")
    _draws(page, 1, (50, 50, 380, 80))
    page.keyboard.press("4")
    _draws(page, 0, (60, 350, 120, 360))
    look_at(page, "regions-drawn")
    page.keyboard.press("y")
    _said(page, "Kept.")
    drawn = _regions(site, "accepted")[-1]
    assert drawn.id != kept.id
    assert [each.page for each in drawn.boxes] == [1, 2]
    assert drawn.boxes[0].box == pytest.approx((50, 340, 380, 400), abs=2)
    assert drawn.masks[0].box == pytest.approx((60, 350, 120, 360), abs=2)
    assert "further apart." in drawn.text
    # It is moved with the mouse, from its middle.
    _draws(page, 0, (365, 360, 375, 365))
    page.keyboard.press("y")
    _said(page, "Kept.")
    assert site.view.cut.regions[drawn.id].boxes[0].box == pytest.approx((60, 345, 390, 405), abs=3)


def test_keys_that_are_typed_while_a_region_is_kept_are_not_lost(site: Site, browse: Browse) -> None:
    page = browse(site, "/page/0/1")
    page.wait_for_load_state()
    proposed = page.locator("[data-region][data-state=proposed]").count()
    assert proposed > 1
    held: list[Route] = []

    def keep(route: Route) -> None:
        if route.request.method == "POST" and not held:
            held.append(route)
        else:
            route.continue_()

    page.route("**/page/**", keep)
    page.keyboard.type("yn" * proposed)
    while not held:
        page.wait_for_timeout(10)
    held[0].continue_()
    expect(page.locator("[data-region][data-state=accepted]")).to_have_count(proposed)


def test_what_is_drawn_stays_where_it_cannot_be_kept(site: Site, browse: Browse, complaints: list[str]) -> None:
    page = browse(site, "/page/0/1")
    form = page.locator("[data-new]")
    form.locator("[data-boxes]").fill("9 0 0 50 50")
    form.get_by_role("button", name="Accept").click()
    expect(page.get_by_role("alert")).to_contain_text("There is no page 9; the file has 3.")
    expect(form.locator("[data-boxes]")).to_have_value("9 0 0 50 50")
    assert _regions(site, "accepted") == []
    complaints.clear()
    form.locator("[data-boxes]").fill("")


def test_a_finger_draws_and_the_bar_accepts(site: Site, browse: Browse, look_at: LookAt) -> None:
    page = browse(site, "/page/0/2", phone=True)
    page.get_by_label("New region").first.check()
    svg = page.locator("svg").first
    svg.scroll_into_view_if_needed()
    seen = svg.bounding_box()
    assert seen
    session = page.context.new_cdp_session(page)

    def touch(kind: str, across: float, down: float) -> None:
        at = [{"x": seen["x"] + across * seen["width"], "y": seen["y"] + down * seen["height"]}] if across else []
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    touch("touchStart", 0.1, 0.15)
    touch("touchMove", 0.5, 0.2)
    touch("touchMove", 0.9, 0.22)
    touch("touchEnd", 0, 0)
    look_at(page, "regions-phone")
    page.get_by_role("button", name="Accept the chosen").click()
    _said(page, "Kept.")
    (kept,) = _regions(site, "accepted")
    assert kept.boxes[0].page == 2
    assert kept.boxes[0].box == pytest.approx((40, 90, 360, 132), abs=4)


def test_without_scripts_forms_are_sent_as_any_other(site: Site, browse: Browse) -> None:
    page = browse(site, "/page/0/1", scripts=False)
    page.get_by_role("button", name="Accept").first.click()
    expect(page.get_by_role("button", name="Keep the change")).to_be_visible()
    page.locator("[data-new] textarea[name=boxes]").fill("1 40 80 390 200")
    page.locator("[data-new]").get_by_role("button", name="Accept").click()
    expect(page.get_by_role("button", name="Keep the change")).to_have_count(2)
    assert len(_regions(site, "accepted")) == 2
