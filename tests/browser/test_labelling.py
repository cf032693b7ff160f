"""Labels given fast, early, or twice, and one after the other."""

import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Locator, Page, Route, expect
from tests.browser.conftest import Browse
from tests.browser.test_labels import Serve, _labels, _saved, _send, _wrong

from toolablate.analysis.codebooks.codebook import built_in
from toolablate.traces.records import Label
from toolablate.traces.store import Recorder, Store

LABEL = re.compile(r"/trial/\w+/label$")


def _middle(of: Locator) -> tuple[float, float]:
    box = of.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def _held_back(page: Page) -> list[Route]:
    """What the page sends from now on, which is kept from the server until it is told to go on."""
    held: list[Route] = []
    page.route(LABEL, lambda route: held.append(route))
    return held


def test_what_is_said_while_a_label_is_saved_is_not_said_of_the_old_trial(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}")
    address, held = page.url, _held_back(page)
    page.keyboard.press("c")
    page.keyboard.press("2")
    confirm = _middle(page.locator("[data-confirm]"))
    with page.expect_request(LABEL):
        page.keyboard.press("Enter")
    for key in ("Enter", "y", "c", "o", "Enter", "]"):
        page.keyboard.press(key)
    page.mouse.dblclick(*confirm)
    assert page.url == address, "who goes elsewhere now would lose the label"
    assert len(held) == 1
    held[0].continue_()
    _saved(page, 1)
    assert [each.mechanism for each in _labels(site)] == [built_in("mechanisms").codes[1].name]


def test_a_label_on_its_way_is_told(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}")
    page.route(LABEL, lambda route: route.fulfill(status=204))  # with which a browser stays where it is
    page.keyboard.press("y")
    expect(page.locator("[data-label-panel][inert]")).to_have_attribute("aria-busy", "true")


def test_a_double_click_or_a_double_enter_is_one_label(serve: Serve, browse: Browse) -> None:
    site = serve()
    trial = _wrong(site)
    page = browse(site, f"/trial/{trial}")
    page.locator("[data-confirm]").dblclick(no_wait_after=True)
    _saved(page, 1)
    page.keyboard.press("c")
    page.keyboard.press("7")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    _saved(page, 2)
    assert len(_labels(site)) == 2
    with ThreadPoolExecutor(4) as many:  # as of a browser without scripts
        sent = [many.submit(_send, site, trial, action="save", mechanism="sampling_noise") for _ in range(4)]
    assert {each.result().status_code for each in sent} == {303}
    assert [each.mechanism for each in _labels(site)][2:] == ["sampling_noise"]


def test_a_label_may_come_before_anything_is_attributed(serve: Serve, browse: Browse, tmp_path: Path) -> None:
    known = serve()
    trial = _wrong(known)
    early = serve(Path(shutil.copy(known.view.store, tmp_path / "early.sqlite")), why=False, blind=True)
    page = browse(early, f"/trial/{trial}")
    page.keyboard.press("y")
    expect(page.locator("#label")).to_be_in_viewport()
    assert "it is still being computed" in page.locator("#label").inner_text()
    assert _send(early, trial, action="save", mechanism="budget").status_code == 303
    (label,) = _labels(early)
    page = browse(early, "/labels")
    with Store(early.view.store) as store:
        wrong = {each.trial for each in store.summaries() if each.value == 0 and each.condition != "none"} | {trial}
    assert f"labelled 1 of {len(wrong)} failures" in page.locator(".label-progress").inner_text()
    assert "1 of 1" in page.locator("form.toolbar").inner_text()
    assert (label.attributed, label.method, label.blind) == (None, None, True)
    with Recorder(known.view.store) as recorder:
        recorder.label(label)
    known.view.index.put_label(label)
    page = browse(known, "/labels")
    assert "something else was attributed" not in page.locator("main").inner_text()
    assert "then: not known" in page.locator(".label-table").inner_text()
    assert page.locator("#with").count() == 1, "it is held against what is attributed now"
    page = browse(known, "/labels?which=attribution+changed")
    assert "No label matches" in page.locator(".label-table").inner_text()


def test_the_keys_of_labels_stand_among_the_keys(serve: Serve, browse: Browse) -> None:
    site = serve()
    for trial, there in ((_wrong(site), True), (_wrong(site, blamed=False), False)):
        page = browse(site, f"/trial/{trial}")
        page.keyboard.press("?")
        keys = page.locator("dialog#keys dt").all_inner_texts()
        assert ({"y", "c", "n"} <= set(keys)) == there
        assert "/" in keys
    page = browse(site, "/labels")
    page.keyboard.press("?")
    assert "/" not in page.locator("dialog#keys dt").all_inner_texts(), "there is nothing to search"


@pytest.mark.parametrize("blind", [False, True])
def test_labels_lead_to_the_trials_that_are_still_to_be_labelled(serve: Serve, browse: Browse, blind: bool) -> None:
    site = serve(blind=blind)
    with Store(site.view.store) as store:
        failures = {each.trial for each in store.summaries() if each.value == 0 and each.condition != "none"}
    with Recorder(site.view.store) as recorder:
        other = Label.model_validate(
            {"trial": min(failures), "person": "Grace", "at": datetime.now(UTC), "mechanism": "sampling_noise"}
        )
        recorder.label(other)
    site.view.index.put_label(other)
    page = browse(site, "/labels")
    assert f"labelled 0 of {len(failures)} failures" in page.locator(".label-progress").inner_text()
    page.get_by_role("link", name=f"All {len(failures)} still to be labelled").click()
    page.wait_for_url("**/questions?unlabelled=Ada")
    assert f"{len(failures)} trials that fit" in page.locator("h1").inner_text()
    page.goto(f"{site.base}/labels")
    page.get_by_role("link", name="Label the next one").click()
    expect(page.locator(".trial-place")).to_have_text(f"1 of {len(failures)}")
    page.wait_for_load_state()
    assert "The attribution is hidden until you save a label" in page.locator("#label").inner_text(), "by default"
    assert page.locator("[data-confirm], input[name=attributed], .is-evidence").count() == 0
    first, following = page.url, page.locator("[rel=next]").get_attribute("href") or ""
    page.keyboard.press("u")
    page.wait_for_url(f"**{following}")
    expect(page.locator(".trial-place")).to_have_text(f"1 of {len(failures) - 1}")
    label = _labels(site)[-1]
    assert (label.mechanism, label.blind, label.trial in first) == ("unknown", True, True)
    page.goto(page.url.partition("?")[0])  # without hiding anything
    assert page.locator("input[name=attributed]").count() == (not blind)
    page.go_back()
    told = page.locator("#label").inner_text()
    assert ("It was shown before" in told) == (not blind)
    page.goto(f"{site.base}/labels")
    assert f"labelled 1 of {len(failures)} failures" in page.locator(".label-progress").inner_text()
    refused = httpx.get(f"{site.base}/questions?unlabelled=Grace", headers={"Cookie": site.cookie})
    assert refused.status_code == (400 if blind else 200)
