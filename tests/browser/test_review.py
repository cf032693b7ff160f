"""A review in one session: two people with keys, a mend with a fault, a rejection, an adjudication, narrow, without
scripts."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Dialog, Page, expect
from tests.browser.conftest import SCHEMES, Browse, LookAt, seen_as
from tests.browser.serving import Site
from tests.browser.test_everywhere import SERIOUS, _is_in_order
from tests.experiments.construction.reviewing import reviewing
from tests.experiments.construction.writing import Writer, funnel, pipeline_of
from tests.servers.chat_server import ChatServer

from toolablate.experiments.construction.workbench import Decision, Workbench


@pytest.fixture
def path(chat_server: ChatServer, tmp_path: Path) -> Path:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server)
    assert funnel(path)["review"]["waiting"] == {"review": 4}
    return path


@pytest.fixture
def site(path: Path) -> Iterator[Site]:
    with reviewing(path) as served:
        yield served


def _decisions(site: Site) -> list[Decision]:
    with Workbench(site.view.pipeline.parent / "runs" / "questions.sqlite", write=False) as bench:
        return bench.decisions()


def _enters(page: Page, alias: str) -> None:
    page.get_by_label("Alias").fill(alias)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Review")


def _presses(page: Page, *keys: str) -> None:
    """Each key on the page that the one before leads to."""
    for key in keys:
        page.keyboard.press(key)


def _kept(page: Page, said: str, left: int) -> None:
    expect(page.locator("p[role=status].note")).to_contain_text(f"Kept: {said}")
    expect(page.locator(".review-head")).to_contain_text(f"{left} left")
    page.wait_for_load_state()


def _is_fine(page: Page) -> None:
    _is_in_order(page)
    for scheme in SCHEMES:
        page.set_viewport_size({"width": 390, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
        found = Axe().run(page).response["violations"]
        told = [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found if each["impact"] in SERIOUS]
        assert told == [], scheme
    seen_as(page, 1280, "light")


def test_a_review_by_keys(site: Site, browse: Browse, complaints: list[str], look_at: LookAt) -> None:
    mabel, hugo = browse(site), browse(site)
    _is_fine(mabel)
    _enters(mabel, "mabel")
    _enters(hugo, "hugo")
    _presses(mabel, "j", "Enter")
    expect(mabel.get_by_role("button", name="Accept y")).to_be_visible()
    look_at(mabel, "review-item")
    _is_fine(mabel)
    mabel.reload()
    _decides_four(mabel, complaints)
    assert [each.verdict for each in _decisions(site)] == ["accept", "reject", "mend", "accept"]
    assert all(each.seconds is not None for each in _decisions(site))
    assert _decisions(site)[1].reason == "the answer is wrong"
    assert _decisions(site)[2].content == {"question": "Which one of the salts?"}
    _comes_back(hugo)
    assert [each.verdict for each in _decisions(site)[4:]] == ["accept", "accept", "reject", "accept"]
    plain = browse(site, scripts=False)
    plain.get_by_role("button", name="hugo").click()
    plain.get_by_role("link", name="Review the next one").click()
    plain.get_by_role("button", name="Accept").click()
    expect(plain.locator(".label-progress")).to_contain_text("has decided 4 of 4 items")
    cleo = browse(site)
    _enters(cleo, "cleo")
    _presses(cleo, "j", "Enter")
    expect(cleo.get_by_role("heading", name="They differ")).to_be_visible()
    assert cleo.get_by_text("mabel").count() == cleo.get_by_text("hugo").count() == 0
    _is_fine(cleo)
    look_at(cleo, "review-decide")
    taken = cleo.locator(".review-sides > div").nth(1).inner_text().split()[1].removesuffix("ed")
    cleo.locator("input[name=right]").first.focus()
    _presses(cleo, "Enter", "b")
    expect(cleo.locator(".label-progress")).to_contain_text("Nothing waits for you")
    last = _decisions(site)[-1]
    assert (last.reviewer, last.verdict) == ("cleo", taken), "Enter on an option takes nobody's word"
    _is_fine(cleo)
    look_at(cleo, "review")


def test_words_that_were_not_kept_are_not_lost_without_a_question(site: Site, browse: Browse) -> None:
    page = browse(site)
    _enters(page, "mabel")
    _presses(page, "j", "Enter")
    expect(page.get_by_role("button", name="Accept y")).to_be_visible()
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    _presses(page, "c")
    page.keyboard.type("Which salt? ")
    _presses(page, "Escape", "]")
    expect(page.get_by_role("textbox").first).to_have_value(re.compile("Which salt?"))
    assert asked == ["beforeunload"]
    page.get_by_role("button", name="Keep the mend").click()
    _kept(page, "mended", 3)
    assert asked == ["beforeunload"]


def test_what_is_sent_while_no_server_answers_stays_on_the_page(
    path: Path, browse: Browse, complaints: list[str]
) -> None:
    with reviewing(path) as site:
        page = browse(site)
        _enters(page, "mabel")
        _presses(page, "j", "Enter")
        expect(page.get_by_role("button", name="Accept y")).to_be_visible()
        _presses(page, "x", "2")
        _kept(page, "rejected", 3)
        _presses(page, "c")
        expect(page.get_by_role("textbox").first).to_be_focused()
        page.keyboard.type("Which salt? ")
        page.wait_for_load_state("networkidle")
    _presses(page, "Control+Enter")
    told = page.locator("[data-trouble]")
    expect(told).to_contain_text("Not kept: the server does not answer; try again.")
    # What was kept before is not told beside it.
    expect(page.get_by_text("Kept: rejected")).to_be_hidden()
    written = page.get_by_role("textbox").first
    expect(written).to_be_focused()
    expect(written).to_have_value(re.compile("Which salt?"))
    # Started again it has another token: its address is opened in another tab.
    with reviewing(path, port=site.port, token="another") as site:
        _presses(page, "Control+Enter")
        expect(told).to_contain_text("Not kept. Open the address that toolablate printed.")
        other = page.context.new_page()
        other.goto(f"{site.base}/?token=another")
        other.close()
        _presses(page, "Control+Enter")
        _kept(page, "mended", 2)
        assert [each.verdict for each in _decisions(site)] == ["reject", "mend"]
        assert _decisions(site)[1].content["question"].startswith("Which salt?")
        page.goto("about:blank")
    complaints[:] = [each for each in complaints if "CONNECTION_REFUSED" not in each and "403" not in each]


def test_on_a_phone_there_are_no_keys_and_a_source_that_goes_on_says_so(site: Site, browse: Browse) -> None:
    page = browse(site, width=375, phone=True)
    page.set_viewport_size({"width": 375, "height": 500})
    page.get_by_label("Alias").fill("mabel")
    page.get_by_role("button", name="Begin").tap()
    page.get_by_role("link", name="Review the next one").tap()
    accept = page.get_by_role("button", name="Accept")
    expect(accept).to_have_text(re.compile("Accept"))
    page.get_by_text("Reject", exact=False).first.tap()
    assert [each for each in page.locator("kbd").all() if each.is_visible()] == []
    for each in page.locator("main :is(button, summary, select, .label-options label, .review-head a)").all():
        box = each.bounding_box()
        assert box is None or box["height"] >= 44, each.inner_text()
    more = page.locator("[data-more]")
    expect(more).to_be_visible()
    page.locator("[data-texts]").evaluate("each => each.scrollTo(0, each.scrollHeight)")
    expect(more).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (390, 844)])
def test_with_the_reasons_open_fields_reasons_and_button_are_in_sight(
    site: Site, browse: Browse, look_at: LookAt, width: int, height: int
) -> None:
    page = browse(site, width=width, phone=width < 400)
    page.set_viewport_size({"width": width, "height": height})
    page.get_by_label("Alias").fill("mabel")
    page.get_by_role("button", name="Begin").click()
    page.get_by_role("link", name="Review the next one").click()
    page.locator("[data-reasons] summary").click()
    look_at(page, f"review-reasons-{width}")
    page.wait_for_function(
        """() => {
            const first = document.querySelector(".review-field textarea").getBoundingClientRect();
            const bar = document.querySelector(".review-verdict").getBoundingClientRect();
            return first.top >= 0 && first.bottom <= bar.top;
        }"""
    )
    for each in [*page.locator(".review-verdict label:has([data-reason])").all(), page.locator("[data-reject]")]:
        # Also within what scrolls in the bar.
        expect(each).to_be_in_viewport(ratio=1)


def _decides_four(page: Page, complaints: list[str]) -> None:
    """Accepts, rejects by number, mends with a fault and then rightly, accepts."""
    _presses(page, "y")
    _kept(page, "accepted", 3)
    _presses(page, "x", "2")
    _kept(page, "rejected", 2)
    _presses(page, "c")
    expect(page.get_by_role("textbox").first).to_be_focused()
    _presses(page, "Control+a")
    page.keyboard.type("Which one of the salts?")
    expect(page.get_by_role("button", name="Keep the mend")).to_be_visible()
    option = page.get_by_role("textbox").nth(1)
    before = option.input_value()
    option.fill("All of the above")
    _presses(page, "Control+Enter")
    expect(page.locator("fieldset.faulty [role=alert]")).to_contain_text("none may say")
    expect(page.get_by_role("textbox").first).to_have_value("Which one of the salts?")
    complaints[:] = [each for each in complaints if "422" not in each]
    _is_fine(page)
    page.get_by_role("textbox").nth(1).fill(before)
    _presses(page, "Control+Enter")
    _kept(page, "mended", 1)
    _presses(page, "y")
    expect(page.locator(".label-progress")).to_contain_text("has decided 4 of 4 items")


def _comes_back(page: Page) -> None:
    """Sees nothing of the first person, and corrects a word of their own."""
    _presses(page, "j", "Enter")
    expect(page.get_by_role("button", name="Accept")).to_be_visible()
    _presses(page, "y")
    _kept(page, "accepted", 3)
    assert page.get_by_text("mabel").count() == 0
    _presses(page, "y")
    _kept(page, "accepted", 2)
    _presses(page, "[")
    expect(page.get_by_text("You accepted it.")).to_be_visible()
    _presses(page, "x")
    expect(page.get_by_text("In your words")).to_be_visible()
    _presses(page, "n")
    expect(page.locator("textarea[name=reason]")).to_be_focused()
    page.keyboard.type("two are right")
    _presses(page, "Enter")
    _kept(page, "rejected", 2)
    _presses(page, "y")
    _kept(page, "accepted", 1)
