"""Replies are laid out as they were meant, and do nothing whatever they say."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.conftest import SCHEMES, Browse, LookAt, seen_as
from tests.browser.hostile import done
from tests.browser.meant import hostile_replies, meant
from tests.browser.serving import Site
from tests.reports.html.hostile_documents import DOCUMENTS, TABLES

STYLED = """() => {
  const wrong = [];
  for (const each of document.querySelectorAll(".md, .md *")) {
    for (const { name, value } of each.attributes) {
      if (name === "style" || name === "id" || name === "src" || name.startsWith("on")) wrong.push(`${each.tagName} ${name}`);
      if (name === "class" && !/^(md|rich|said|said-prose|said-reasoning|unseen|wide|pad|k-[a-z]+|md-[a-z0-9]+|prompt| )+$/.test(value))
        wrong.push(`class ${value}`);
      if (name === "href" && !/^https?:/.test(value)) wrong.push(`href ${value}`);
    }
    if (/^(SCRIPT|STYLE|LINK|IFRAME|IMG|SVG|FORM|INPUT|BUTTON|OBJECT|EMBED|VIDEO|AUDIO|BASE|META|TEMPLATE)$/i.test(each.tagName))
      wrong.push(each.tagName);
    const { position } = getComputedStyle(each);
    if (position !== "static" && position !== "relative") wrong.push(`${each.tagName} is ${position}`);
  }
  for (const sheet of document.styleSheets) if (!sheet.href?.startsWith(location.origin)) wrong.push("a style sheet of others");
  if (document.querySelectorAll("main").length !== 1 || document.querySelectorAll("#main").length !== 1) wrong.push("main");
  for (const name of ["ran", "main"]) if (name === "ran" && name in window) wrong.push("a script ran");
  if (getComputedStyle(document.body).display !== "block" || document.forms.length > 2) wrong.push("the page");
  return wrong;
}"""


@pytest.fixture
def replied(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "meant.sqlite"
    return path, done(meant(path))


def test_no_document_runs_loads_or_styles_anything(
    tmp_path: Path, serve: Callable[..., Site], browse: Browse, look_at: LookAt
) -> None:
    path = tmp_path / "hostile.sqlite"
    trial = done(hostile_replies(path))
    site = serve(path, why=False)
    page = browse(site, "/")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    seen: set[str] = set()
    address: str | None = f"/trial/{trial}?from=0"
    while address:
        page.goto(site.base + address)
        page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
        assert page.evaluate(STYLED) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        seen |= set(page.locator("[data-event]").evaluate_all("all => all.map((each) => each.dataset.event)"))
        more = page.locator(".more-events a")
        address = more.get_attribute("href") if more.count() else None
        look_at(page, f"rendered-hostile-{len(seen)}")
    assert len(seen) == sum(map(len, DOCUMENTS.values())) + len(TABLES) + len(DOCUMENTS["formulas"]) + 1
    page.goto(f"{site.base}/questions")
    page.locator("a[data-open]").first.click()
    page.wait_for_url("**/question/**")
    assert page.evaluate(STYLED) == []
    assert dialogs == []
    assert [each for each in asked if not each.startswith((site.base, "data:"))] == []


@pytest.mark.parametrize("scripts", [True, False])
def test_a_switch_in_the_address_shows_what_was_written(
    replied: tuple[Path, str], serve: Callable[..., Site], browse: Browse, scripts: bool
) -> None:
    store, trial = replied
    page = browse(serve(store, why=False), f"/trial/{trial}", scripts=scripts)
    event = page.locator("#event-2")
    expect(event.locator(".md .md-h2")).to_have_text("Solving the system")
    expect(event.locator("math")).not_to_have_count(0)
    expect(event).not_to_contain_text("**Cramer")
    page.get_by_role("navigation", name="How texts are shown").get_by_role("link", name="Raw").click()
    assert page.url.endswith("?raw=1")
    expect(event.locator("pre.said").last).to_contain_text("By **Cramer's rule**:")
    expect(page.locator(".md")).to_have_count(0)
    page.get_by_role("link", name="Question", exact=True).click()
    assert page.url.endswith("raw=1")
    expect(page.locator(".prompt").first).to_contain_text("**say**")
    page.get_by_role("navigation", name="How texts are shown").get_by_role("link", name="Rendered").click()
    expect(page.locator(".md strong").first).to_have_text("say")
    page.goto(page.url.partition("/question")[0] + f"/trial/{trial}")
    event.get_by_role("link", name="raw texts of event 2").click()
    page.wait_for_url("**raw=1#event-2")
    expect(event.locator("pre.said").last).to_contain_text("**Cramer")


@pytest.mark.timeout(300)
def test_axe_finds_nothing_in_what_is_laid_out(
    replied: tuple[Path, str], serve: Callable[..., Site], browse: Browse, look_at: LookAt
) -> None:
    store, trial = replied
    site = serve(store, why=False)
    page = browse(site, f"/trial/{trial}")
    for place in ("trial", "question"):
        if place == "question":
            page.goto(site.base + (page.get_by_role("link", name="Question", exact=True).get_attribute("href") or ""))
        page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
        for width, scheme in product((1440, 800, 375), SCHEMES):
            seen_as(page, width, scheme)
            look_at(page, f"rendered-{place}-{width}-{scheme}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, scheme)
            found = Axe().run(page).response["violations"]
            assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found] == [], (width, scheme)


def test_columns_of_chinese_letters_are_straight(
    replied: tuple[Path, str], serve: Callable[..., Site], browse: Browse
) -> None:
    store, trial = replied
    page = browse(serve(store, why=False), f"/trial/{trial}")
    ends = page.locator("#event-1 pre.said-output").first.evaluate(ENDS, ["score", "1.50", "22.25", "3.00"])
    assert max(ends) - min(ends) < 1.5
    names = page.locator("#event-1 pre.said-output").first.evaluate(ENDS, ["姓名", "张三", "欧阳修", "Bob"])
    # A wide letter has its gap behind it.
    assert max(names) - min(names) < 8


ENDS = """(pane, words) => words.map((word) => {
  const texts = document.createTreeWalker(pane, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const at = node.data.indexOf(word);
    if (at < 0) continue;
    const range = new Range();
    range.setStart(node, at);
    range.setEnd(node, at + word.length);
    return range.getBoundingClientRect().right;
  }
  return NaN;
})"""


def test_what_is_found_is_shown_in_what_was_written(
    replied: tuple[Path, str], serve: Callable[..., Site], browse: Browse
) -> None:
    store, trial = replied
    page = browse(serve(store, why=False), f"/trial/{trial}")
    _find(page, "Solving the system")
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)[0]") == "Solving the system"
    assert page.locator("#event-2 .md").count() == 1
    _find(page, "**Cramer's")
    expect(page.locator("#event-2 pre.said").last).to_contain_text("**Cramer's")
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)[0]") == "**Cramer's"


def _find(page: Page, text: str) -> None:
    page.locator("[data-search]").fill(text)
    page.locator("[data-search]").press("Enter")
    expect(page.locator("[data-found]")).to_have_text("1 of 1 events")
