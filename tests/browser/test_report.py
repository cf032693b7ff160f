"""A report in a browser, from the disk: it shows all, runs nothing and asks for nothing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import LookAt
from tests.browser.hostile import SCRIPT, UNSEEN, done, hostile
from tests.browser.test_trial_hostile import _FOREIGN
from tests.experiments.attribution.commands import toolablate

LEAST = """(figure) => figure.getScreenCTM().a * Math.min(
    ...[...figure.querySelectorAll("text")].map((text) => parseFloat(getComputedStyle(text).fontSize)))"""
Open = Callable[..., Page]


@pytest.fixture
def opened(chromium: Browser) -> Iterator[Open]:
    """`opened(path, width=1280, scheme="light")`; at the end no page may have asked for anything but its file."""
    contexts, complaints = [], []

    def start(path: Path, *, width: int = 1280, scheme: str = "light") -> Page:
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: complaints.append(said.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        return page

    yield start
    for context in contexts:
        context.close()
    assert [each for each in complaints if not each.startswith("data:image/png")] == []


def unfolded(page: Page) -> Page:
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    return page


def test_a_hostile_store_makes_a_page_of_text(tmp_path: Path, opened: Open, look_at: LookAt) -> None:
    trial = done(hostile(tmp_path / "s.sqlite"))
    told = toolablate(tmp_path, "report", "s.sqlite", "-o", "r.html", "--trial", trial)
    assert told.returncode == 0, told.stderr
    page = unfolded(opened(tmp_path / "r.html"))
    assert page.evaluate("window.ran") is None
    assert page.evaluate(_FOREIGN) == []
    assert SCRIPT in (page.locator("#t1-event-1 pre").first.text_content() or "")
    assert UNSEEN not in (page.locator("main").text_content() or "")
    assert page.locator("#t1 img").count() > 0
    look_at(page, "report-hostile")
    narrow = unfolded(opened(tmp_path / "r.html", width=400))
    assert narrow.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert (tmp_path / "r.html").stat().st_size < 1_000_000


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (400, "dark")])
def test_it_is_read_from_the_disk(
    ran: Path, tmp_path: Path, opened: Open, look_at: LookAt, width: int, scheme: str
) -> None:
    told = toolablate(tmp_path, "report", ran, "-o", "r.html", "--traces", "2")
    assert told.returncode == 0, told.stderr
    page = opened(tmp_path / "r.html", width=width, scheme=scheme)
    assert page.locator("h1").inner_text() == f"toolablate report: {ran.stem}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    look_at(page, f"report-{width}-{scheme}")
    for figure in page.locator("svg.plot:visible").all():
        assert figure.get_attribute("role") in ("img", "group")
        assert figure.evaluate(LEAST) >= 11, "letters could not be read"
    ink = page.locator("#figure-scores svg text[style*='weight']").first.evaluate(
        "(each) => getComputedStyle(each).fill"
    )
    assert ink == page.evaluate("getComputedStyle(document.body).color")
    page.locator("#t1 > summary").click()
    assert page.locator("#t1-event-0").is_visible()
    unfolded(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.emulate_media(media="print")
    assert page.locator("nav.contents").is_hidden()
    look_at(page, f"report-printed-{width}")
