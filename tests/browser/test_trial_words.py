"""The words of a trial in a real browser: those that are evidence, and those that somebody copies or looks for."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Browse
from tests.browser.serving import Site
from tests.browser.test_trial import _here, _wrong

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.store_report import read_explanation
from toolablate.traces.store import Store


def test_links_to_evidence_lead_to_its_very_words(replays: Site, browse: Browse) -> None:
    trial, told = _quoted(replays.view.store)
    page = browse(replays, f"/trial/{trial}")
    answer = told.explained.evidence.signals.answer
    option = told.question.choices["ABCDEFGHIJ".index(answer[0])] if told.question.choices else answer[0]
    assert option.lower() in [each.lower() for each in page.locator("mark").all_inner_texts()]
    page.keyboard.press("e")
    anchor = page.evaluate("location.hash.slice(1)")
    assert anchor == f"event-{told.explained.evidence.signals.adoption.event}-quote"  # type: ignore[union-attr]
    expect(page.locator(f"#{anchor}")).to_be_in_viewport()
    assert _here(page) == anchor.removesuffix("-quote")
    still = browse(replays, f"/trial/{trial}#{anchor}", scripts=False)
    expect(still.locator(f"#{anchor}")).to_be_in_viewport()


def _quoted(store: Path) -> tuple[str, Explanation]:
    """A trial whose evidence holds the answer that it gave in the end."""
    with Store(store) as opened:
        trials = [each.trial for each in opened.summaries() if each.verdict == "wrong" and each.condition != "none"]
    for trial in trials:
        found = read_explanation(store, trial)
        if isinstance(found, Explanation) and (adopted := found.explained.evidence.signals.adoption):
            attribution = found.explained.attribution
            if attribution and attribution.evidence[:1] == (adopted.event,):
                return trial, found
    pytest.fail("no wrong trial of the store has its answer from its evidence")


def test_texts_are_copied_and_folds_opened(replays: Site, browse: Browse) -> None:
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = page.locator("#event-0 pre.said").last
    sides = "each => [each.offsetTop, each.offsetWidth, each.offsetHeight]"
    before = text.evaluate(sides)
    text.hover()
    page.get_by_role("button", name="Copy", exact=True).click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == text.text_content()
    assert text.evaluate(sides) == before, "the button takes no room"
    folded = page.locator(".events details:not([open])")
    count = folded.count()
    page.keyboard.press("x")
    expect(folded).to_have_count(0)
    page.keyboard.press("x")
    expect(folded).to_have_count(page.locator(".events details").count())
    assert count


def test_a_text_is_found_in_the_events_of_a_trial(replays: Site, browse: Browse) -> None:
    trial, told = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}")
    result = next(at for at, each in enumerate(told.conversation) if each.kind == "tool_call")
    output = told.conversation[result].output  # type: ignore[union-attr]
    line = max((each for each in output.splitlines() if "\x1b" not in each), key=len)[:40]
    with_it = [
        int(card.get_attribute("data-event") or -1)
        for card in page.locator(".event").all()
        if line.casefold() in "\n".join(card.locator(".said").all_text_contents()).casefold()
    ]
    page.keyboard.press("/")
    page.keyboard.type(line.upper())
    page.keyboard.press("Enter")
    expect(page.locator("[data-found]")).to_have_text(f"1 of {len(with_it)} events")
    for place in (*range(1, len(with_it)), 0):
        page.keyboard.press("Enter")
        expect(page.locator("[data-found]")).to_have_text(f"{place + 1} of {len(with_it)} events")
    page.keyboard.press("Control+a")
    page.keyboard.type("the")
    page.keyboard.press("Enter")
    expect(page.locator("[data-found]")).to_contain_text("of")
    places = (
        "[...CSS.highlights.get('found')].map((each) => each.startContainer.parentElement.closest('.said') !== null)"
    )
    assert set(page.evaluate(places)) == {True}, "in texts alone, not in what the page says of them"
    page.keyboard.type("no such words")
    page.keyboard.press("Enter")
    expect(page.locator("[data-found]")).to_have_text("nowhere")
    page.route("**/find?*", lambda route: route.fulfill(body="no list"))
    page.keyboard.type(" that the server was asked for")
    page.keyboard.press("Enter")
    expect(page.locator("[data-found]")).to_have_text("the viewer does not answer")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    assert _here(page), "its keys are the page's again"
