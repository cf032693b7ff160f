"""What runs just now: its trials with their traces so far, and what was cut off."""

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect
from tests.browser.conftest import Browse
from tests.browser.hostile import done
from tests.browser.serving import indexed, serving, viewing
from tests.browser.wire import get
from tests.traces.samples import attempt, begun, conversation, plan

from toolablate.traces.records import Usage
from toolablate.traces.store import Recorder


def test_a_running_trial_is_read_as_it_goes_and_one_that_was_cut_off_says_so(tmp_path: Path, browse: Browse) -> None:
    path, told = tmp_path / "s.sqlite", conversation(2)
    with Recorder(path) as recorder:
        planned = plan(recorder)
        done(attempt(recorder, planned[0]))
        done(attempt(recorder, planned[1], outcome="failed"))
        ending, cut = (done(begun(recorder, each)) for each in planned[2:4])
        for session in (ending, cut):
            session.record(told[0])
        done(recorder.taken())
        with serving(viewing(path, indexed(path, tmp_path / "index", why=False))) as site:
            page = browse(site, "/")
            expect(page.locator("#running-link")).to_have_text("2 running")
            page.locator("#running-link").click()
            expect(page.get_by_text("Spent by trials, without judges: 720 tokens, $0.006")).to_be_visible()
            expect(page.get_by_text("trials per minute, about")).to_be_visible()
            expect(page.get_by_role("heading", name="Errors")).to_be_visible()
            expect(page.locator("tr[data-step]")).to_have_count(2)
            _clean(page)
            page.locator(f"a[href='/running/{planned[2].id}']").click()
            expect(page.locator("[data-event]")).to_have_count(1)
            _clean(page)
            for event in told[1:]:
                ending.record(event)
            expect(page.locator("[data-event]")).to_have_count(len(told))
            done(ending.finish("answered", 1.0, Usage(), None))
            page.wait_for_url(f"**/trial/{planned[2].id}")
            page.close()
    # Nobody is at the other one any more: its recorder has gone without ending it.
    with serving(viewing(path, indexed(path, tmp_path / "later", why=False))) as site:
        text = get(site, "/running").text
        assert "Cut off" in text
        assert "No process runs trials." in text
        assert planned[3].id in text
        page = browse(site, f"/running/{planned[3].id}")
        expect(page.get_by_text("whoever ran this trial was killed")).to_be_visible()
        assert page.locator("[data-event]").count() == 1
        page.close()


def _clean(page: Page) -> None:
    found = Axe().run(page).response["violations"]
    assert [each["id"] for each in found if each["impact"] in ("serious", "critical")] == []
