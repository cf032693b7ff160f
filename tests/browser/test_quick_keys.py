"""Keys at moments when a page is not ready for them: before its scripts are there, while its table is replaced, before
what was asked for has come, and after coming back."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page, Route, expect
from tests.browser.conftest import Browse
from tests.browser.serving import Site, refreshed


def held(page: Page, address: str) -> Callable[[], None]:
    """Holds back what is at such addresses; what is returned lets it come."""
    waiting: list[Route] = []
    open_to_all = False
    page.route(address, lambda route: route.continue_() if open_to_all else waiting.append(route))

    def let() -> None:
        nonlocal open_to_all
        open_to_all = True
        for each in waiting:
            each.continue_()

    return let


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent.trim()"))


def names(page: Page) -> list[str]:
    return page.locator("tr[data-step] [data-open]").all_inner_texts()


def test_keys_before_the_scripts_are_there_are_not_lost(site: Site, browse: Browse) -> None:
    page = browse(site, "/labels")
    let = held(page, "**/static/keys.js")
    page.goto(f"{site.base}/questions", wait_until="commit")
    expect(page.locator("tr[data-step]").last).to_be_attached()
    second = names(page)[1]
    for key in ("j", "j", "Enter"):
        page.keyboard.press(key)
    let()
    page.wait_for_url("**/question/*")
    assert page.get_by_role("heading", level=1).inner_text() == second


def test_what_is_typed_before_the_scripts_are_there_stays(site: Site, browse: Browse) -> None:
    page = browse(site, "/labels")
    let = held(page, "**/static/keys.js")
    page.goto(f"{site.base}/questions", wait_until="commit")
    page.get_by_role("searchbox").focus()
    page.keyboard.type("jk?")
    let()
    page.wait_for_load_state()
    assert page.get_by_role("searchbox").input_value() == "jk?"
    expect(page.locator("dialog#keys")).to_be_hidden()


def test_no_table_is_replaced_between_two_keys(serve: Callable[..., Site], browse: Browse) -> None:
    site = serve()
    page = browse(site, "/labels")
    # It stands still but for what is run below: how long a page takes to come is not to decide.
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    page.goto(f"{site.base}/questions")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(1_000)
    page.keyboard.press("j")
    chosen = focused(page)
    site.view.index.put_progress("reading 1 of 7")
    page.clock.run_for(1_100)
    expect(page.locator("#progress")).to_have_text("reading 1 of 7")
    assert not [each for each in asked if each.endswith("/questions")]
    page.keyboard.press("Enter")
    page.wait_for_url("**/question/*")
    assert page.get_by_role("heading", level=1).inner_text() == chosen


def test_j_goes_on_from_where_a_row_was_that_is_gone(ran: Path, serve: Callable[..., Site], browse: Browse) -> None:
    site = serve(why=False)
    page = browse(site, "/questions")
    rows = names(page)
    for _ in range(3):
        page.keyboard.press("j")
    assert focused(page) == rows[2]
    refreshed(site.view.index, ran, without=rows[2])
    expect(page.locator("tr[data-step]")).to_have_count(len(rows) - 1)
    page.keyboard.press("Enter")
    assert page.url.endswith("/questions")
    page.keyboard.press("j")
    assert focused(page) == rows[3]
    page.keyboard.press("k")
    assert focused(page) == rows[1]
    expect(page.locator("tr.here")).to_have_count(1)


def test_who_comes_back_stands_where_they_left(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    rows = names(page)
    for _ in range(3):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/question/*")
    page.go_back()
    expect(page.locator("tr.here [data-open]")).to_be_focused()
    assert focused(page) == rows[2]
    page.locator("tr[data-step] a.mark").first.click()
    page.wait_for_url("**/trial/*")
    page.go_back()
    expect(page.locator("tr.here [data-open]")).to_have_text(rows[0])


def test_j_goes_on_from_an_event_that_has_not_come_yet(
    long_trial: tuple[Path, str], serve: Callable[..., Site], browse: Browse
) -> None:
    store, trial = long_trial
    site = serve(store, why=False)
    page = browse(site, "/labels")
    let = held(page, "**/events?*")
    page.goto(f"{site.base}/trial/{trial}#event-38")
    page.locator("#event-38.is-here").wait_for()
    for _ in range(4):
        page.keyboard.press("j")
    let()
    page.locator("#event-42.is-here").wait_for()
