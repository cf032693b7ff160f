"""The page on which a person compares pairs: judged by keys, gone on with after a reload, saved as a metric's rows."""

import re
from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.benchmarks.lfqa_e.comparing import UNIFIED, written

from toolablate.benchmarks.lfqa_e.annotation import annotation_page
from toolablate.benchmarks.lfqa_e.comparisons import VERDICTS, load_comparisons
from toolablate.benchmarks.lfqa_e.metrics import metric_of_file


def test_a_person_judges_by_keys_and_saves(chromium: Browser, tmp_path: Path) -> None:
    """The good answer wins, whichever side it stands on; the last pair is judged again, as the same.

    A second tab follows.
    """
    rows = [
        {**UNIFIED, "id": str(n), "question": f"Why {n}?", "response_a": "good </script><b>", "response_b": "poor"}
        for n in range(6)
    ]
    comparisons = load_comparisons(written(tmp_path / "rows.json", *rows))
    file = tmp_path / "page.html"
    file.write_text(annotation_page(comparisons), encoding="utf-8")
    context = chromium.new_context(accept_downloads=True)
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(file.as_uri())
    other = context.new_page()
    other.goto(file.as_uri())
    for number in range(6):
        expect(page.locator("h1")).to_have_text(f"{number + 1} of 6; {number} judged")
        assert page.locator("b").count() == 0
        page.keyboard.press("1" if "good" in (page.locator("#first").text_content() or "") else "2")
        # What another tab shows has reached the browser; a reload that came sooner could miss it.
        expect(other.locator("h1")).to_have_text(f"1 of 6; {number + 1} judged")
        if number == 2:
            page.reload()
    page.keyboard.press("0")
    expect(page.get_by_role("button", name=re.compile("^0"))).to_have_attribute("aria-pressed", "true")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save verdicts").click()
    saved = tmp_path / "verdicts.jsonl"
    download.value.save_as(saved)
    said = metric_of_file("human", saved, comparisons).codes.tolist()
    assert sorted(VERDICTS[code] for code in said) == ["a"] * 5 + ["same"]
    assert complaints == []
    context.close()
