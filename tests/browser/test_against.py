"""A second store beside the one that is viewed."""

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.analysis.store_pairs import stored
from tests.browser.conftest import Browse
from tests.browser.hostile import done
from tests.browser.serving import indexed, serving, viewing
from tests.browser.wire import get
from tests.traces.samples import question

from toolablate.traces.records import OpenAIModel
from toolablate.viewer.against import OtherStore


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_two_stores_are_compared_and_a_flip_leads_to_its_trials(
    tmp_path: Path, browse: Browse, width: int, scheme: str
) -> None:
    asked = tuple(question(number) for number in range(6))
    here = done(stored(tmp_path / "old.sqlite", {"none": 4, "python": 5}, questions=asked))
    newer = OpenAIModel(name="gpt-y")
    there = done(stored(tmp_path / "new.sqlite", {"none": 4, "python": 2}, questions=asked, model=newer))
    view = replace(viewing(here, indexed(here, tmp_path / "index")), other=OtherStore(here, there))
    view.other.found()  # type: ignore[union-attr]
    with serving(view) as site:
        page = browse(site, "/", width=width, scheme=scheme)
        page.keyboard.press("g")
        page.keyboard.press("a")
        expect(page.get_by_text("The models differ: gpt-x in old.sqlite, gpt-y in new.sqlite.")).to_be_visible()
        row = page.locator("table.results tbody tr", has_text="python")
        assert [row.locator("td").nth(place).inner_text() for place in (1, 2, 7, 8)] == ["83.3", "33.3", "3", "0"]
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        serious = [
            each["id"] for each in Axe().run(page).response["violations"] if each["impact"] in ("serious", "critical")
        ]
        assert serious == []
        page.get_by_role("link", name="q2").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("python beside python")
        expect(page.locator(".diff-top-side.right")).to_contain_text("new.sqlite")
        # Trials of the other store are not served here, so that nothing leads to them.
        assert (
            page.locator(".diff-top-side.right a, .diff-head.right a, form").count()
            == page.locator("dialog form").count()
        )
        assert page.locator(".diff-head.left a").count() > 0
        page.get_by_role("link", name="All of old.sqlite").click()
        expect(page.get_by_role("heading", name="Flips")).to_be_visible()
        page.close()
    with serving(replace(view, other=None)) as site:
        assert get(site, "/against").status == 404
