"""What holds on every page: headings, names, contrast, narrow screens, keys."""

from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.colours import contrast, tokens
from tests.browser.conftest import SCHEMES, Browse, seen_as
from tests.browser.serving import Site

from toolablate.analysis.selection import Selection

SERIOUS = ("serious", "critical")
PLACES = ("overview", "questions", "nothing", "question", "labels", "trial", "diff", "find", "found", "failures")


def address(site: Site, place: str) -> str:
    index = site.view.index
    row = index.questions(Selection()).rows[0]
    first = {
        glance.condition: glance.trials[0].trial for glance in row.glances if glance.model == "simulated-credulous"
    }
    return {
        "overview": "/",
        "questions": "/questions?condition=python",
        "nothing": "/questions?ending=failed",
        "question": f"/question/{row.question}",
        "labels": "/labels",
        "find": "/find",
        "failures": "/failures?by=cluster&by=condition&column=answer&column=said",
        "found": "/find?q=the+OR+a+OR+1",
        "trial": f"/trial/{first['python']}",
        "diff": f"/diff/{first['none']}/{first['python']}",
    }[place]


@pytest.mark.parametrize("place", PLACES)
def test_a_page_is_in_order_fits_a_telephone_and_breaks_no_serious_rule(site: Site, browse: Browse, place: str) -> None:
    """In one visit: headings and names; no width to scroll through in either theme; the rules of axe-core."""
    page = browse(site, address(site, place))
    _is_in_order(page)
    page.wait_for_load_state("networkidle")
    for scheme in SCHEMES:
        seen_as(page, 400, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 23, 26)")
    # With everything unfolded, since folds hide from axe what they hide from people.
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    for width in (1280, 375):
        seen_as(page, width, "light")
        found = Axe().run(page).response["violations"]
        told = [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in SERIOUS]
        assert told == [], width


def _is_in_order(page: Page) -> None:
    levels = [
        int(each.evaluate("each => each.tagName")[1]) for each in page.locator("main :is(h1, h2, h3, h4, h5, h6)").all()
    ]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels)), levels
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate("document.title").strip() not in ("", "toolablate")
    assert page.locator("main").count() == page.locator("html[lang]").count() == 1
    twice = page.evaluate(
        "[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, at, all) => all.indexOf(id) !== at)"
    )
    assert twice == []


NAMELESS = """() => {
  const named = (each) =>
    each.getAttribute("aria-label")?.trim() || each.getAttribute("aria-labelledby") || each.title?.trim?.() ||
    each.getAttribute("title")?.trim() || each.textContent.trim() || each.labels?.length || each.querySelector("title, img[alt]");
  const used = document.querySelectorAll("a[href]:not([hidden]), button, summary, input:not([type=hidden]), select, textarea, [role=region], nav, dialog");
  const wrong = [...used].filter((each) => !named(each));
  const images = [...document.querySelectorAll("img:not([alt])")];
  const heads = [...document.querySelectorAll("main table")].filter((table) => !table.querySelector("th"));
  return [...wrong, ...images, ...heads].map((each) => each.outerHTML.slice(0, 120));
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(scheme: str) -> None:
    found = tokens(scheme)
    for text in ("ink", "quiet", "link", "gain", "loss", "partial", "odd", "failed"):
        for ground in ("paper", "panel", "raised"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    for kind in ("gain", "loss", "partial", "odd", "none", "failed"):
        assert contrast(found[kind], found[f"{kind}-tint"]) >= 4.5, kind
    for ground in ("mark", "chosen", "odd-tint", "failed-tint"):
        assert contrast(found["ink"], found[ground]) >= 4.5, ground
    assert contrast(found["link"], found["chosen"]) >= 4.5
    assert contrast(found["quiet"], found["chosen"]) >= 4.5
    assert contrast(found["paper"], found["link"]) >= 4.5
    for border in ("edge", "focus"):
        for ground in ("paper", "panel", "raised"):
            assert contrast(found[border], found[ground]) >= 3, (border, ground)


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def test_keys_walk_through_pages_and_rows(site: Site, browse: Browse) -> None:
    page = browse(site)
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/questions")
    rows = page.locator("table.questions tbody th a").all_inner_texts()
    for expected in (rows[0], rows[1], rows[2]):
        page.keyboard.press("j")
        assert focused(page) == expected
    page.keyboard.press("k")
    assert focused(page) == rows[1]
    page.keyboard.press("Enter")
    page.wait_for_url("**/question/*")
    assert page.get_by_role("heading", level=1).inner_text() == rows[1]
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.wait_for_url(lambda found: found.rstrip("/") == site.base)


def test_keys_are_left_to_who_is_typing(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("gojk/?")
    assert page.get_by_role("searchbox").input_value() == "gojk/?"
    assert page.url.endswith("/questions")
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.locator("h1").click()
    page.keyboard.press("g")
    page.keyboard.press("x")
    page.keyboard.press("o")
    assert page.url.endswith("/questions")


def test_keys_are_told(site: Site, browse: Browse) -> None:
    page = browse(site)
    dialog = page.locator("dialog#keys")
    expect(dialog).to_be_hidden()
    page.keyboard.press("?")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("button", name="Keys").click()
    expect(dialog).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(dialog).to_be_hidden()


def test_the_first_tab_skips_what_every_page_repeats(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    assert page.evaluate("document.activeElement.getBoundingClientRect().top") >= 0
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_a_dropdown_closes_by_escape_and_by_what_is_elsewhere(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    page.locator("summary", has_text="Outcome").click()
    page.keyboard.press("Escape")
    expect(page.locator("details.facet[open]")).to_have_count(0)
    assert focused(page) == "Outcome"
    page.keyboard.press("Enter")
    expect(page.locator("details.facet[open]")).to_have_count(1)
    page.locator("h1").click()
    expect(page.locator("details.facet[open]")).to_have_count(0)
