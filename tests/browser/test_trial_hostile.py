"""What models, pages and questions wrote is shown, and does nothing."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Browse, LookAt
from tests.browser.hostile import LONG_LINE, SCRIPT, UNSEEN, done, hostile
from tests.browser.serving import Site

_FOREIGN = """() => [...document.querySelectorAll('*')].flatMap((each) => [
    ...[...each.attributes].filter((one) => /^on/i.test(one.name)).map((one) => `${each.tagName} ${one.name}`),
    ...['href', 'src', 'action', 'formaction', 'srcdoc', 'xlink:href'].map((name) => each.getAttribute(name))
        .filter((value) => value !== null && !/^(\\/(?!\\/)|#|\\?|data:image\\/(png|jpeg|gif|webp);base64,)/.test(value)),
    ...(/^(SCRIPT|IFRAME|OBJECT|EMBED|STYLE|BASE|META)$/.test(each.tagName) && document.body.contains(each)
        ? [each.tagName] : []),
])"""
"""Handlers, addresses that are not the viewer's own, and elements that do things."""


@pytest.fixture
def stored(tmp_path: Path) -> tuple[Path, str]:
    path = tmp_path / "hostile.sqlite"
    return path, done(hostile(path))


def test_nothing_runs_and_all_is_readable(
    stored: tuple[Path, str], serve: Callable[..., Site], browse: Browse, look_at: LookAt
) -> None:
    store, trial = stored
    site = serve(store)
    page = browse(site, f"/trial/{trial}")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true })")
    assert page.evaluate("window.ran") is None
    assert page.evaluate(_FOREIGN) == []
    assert dialogs == []
    assert page.locator("#event-1 pre").first.text_content() == (
        f"{SCRIPT} abcU+202EdlrowU+202C zeroU+200B ×3width U+001B]0;titleU+0007U+001B[2J U+0000 U+2028 U+E0041 U+FEFF end"
    )
    assert page.locator("#event-3 pre").first.text_content() == "ValueError: red"
    assert page.locator("#event-2 .whole").inner_text() == f"All {len(LONG_LINE):,} characters"
    shown = [(each.get_attribute("width"), each.get_attribute("height")) for each in page.locator("main img").all()]
    assert shown == [("3", "2"), ("3", "2")]
    assert "60,000 by 60,000 pixels" in page.locator("#event-1").inner_text()
    look_at(page, "trial-hostile")
    narrow = browse(site, f"/trial/{trial}", width=400)
    assert narrow.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_text_is_found_in_the_middle_of_one_that_is_not_all_shown(
    stored: tuple[Path, str], serve: Callable[..., Site], browse: Browse, look_at: LookAt
) -> None:
    store, trial = stored
    page = browse(serve(store, why=False), f"/trial/{trial}")
    event = page.locator("#event-2")
    expect(event).not_to_contain_text("needle")
    page.keyboard.press("/")
    page.keyboard.type("NEEDLE")
    page.keyboard.press("Enter")
    expect(page.locator("[data-found]")).to_have_text("1 of 1 events")
    expect(event).to_contain_text("xneedley")
    expect(page.locator("#event-2.is-here")).to_have_count(1)
    assert event.locator(".left-out").all_inner_texts() == [
        f"{count:,} characters are left out here" for count in (2_484_600, 2_494_600)
    ]
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)") == ["needle"]
    place, box = page.evaluate(
        """[[...CSS.highlights.get('found')][0], document.querySelector('#event-2 pre')].map((each) => {
          const { top, bottom } = each.getBoundingClientRect();
          return [top, bottom];
        })"""
    )
    assert max(box[0], 0) < place[0] < place[1] < min(box[1], 900), "one sees it"
    assert page.evaluate("window.ran") is None
    assert page.evaluate(_FOREIGN) == []
    look_at(page, "trial-found-in-the-middle")


def test_the_whole_of_a_text_is_text_alone(
    stored: tuple[Path, str], serve: Callable[..., Site], browse: Browse, complaints: list[str]
) -> None:
    store, trial = stored
    site = serve(store, why=False)
    page = browse(site, f"/trial/{trial}")
    address = page.locator("#event-2 .whole a").get_attribute("href")
    for part, expected in ((address, LONG_LINE), (f"/trial/{trial}/event/1/raw?part=output-artifact-5", SCRIPT)):
        reply = page.request.get(f"{site.base}{part}")
        assert reply.headers["content-type"] == "text/plain; charset=utf-8"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.text() == expected
    _opened(page, f"{site.base}/trial/{trial}/event/1/raw?part=output-artifact-5")
    complaints.clear()  # a text names no icon, and there is none where browsers look for one
    raw = page.request.get(f"{site.base}/trial/{trial}/event/1/raw?part=output")
    assert raw.text() == f"{SCRIPT} {UNSEEN}"


def _opened(page: Page, address: str) -> None:
    page.goto(address)
    assert page.evaluate("window.ran") is None
    assert SCRIPT in page.inner_text("body")
