"""The page on which people correct mapped references: from the disk, in a browser, it gives back what they said."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.conftest import LookAt

from toolablate.benchmarks.clear.corrections import read_corrections
from toolablate.benchmarks.clear.references import RawReference, mapped_page, write_checklists
from toolablate.traces.records import ChecklistItem

HOSTILE = "</textarea></script><script>window.ran = 1</script>\n<img src=x onerror='window.ran = 1'>"
ITEMS = (ChecklistItem(name="Origin", definition="Where from."), ChecklistItem(name=HOSTILE, definition=HOSTILE))
TEXTS = {"M-1": {"Origin": "yeast\nand more", HOSTILE: HOSTILE}, "M-2": {"Origin": "", HOSTILE: "\nfirst line blank"}}


@pytest.fixture
def opened(chromium: Browser, tmp_path: Path) -> Iterator[tuple[Page, Path]]:
    """The page of two references, and the rows that it is of. Nothing may complain, or be asked for from elsewhere."""
    references = [
        RawReference(name, "M", f"{name} says {HOSTILE}", ITEMS, {"id": name, "input": "i", "raw_human_reference": "r"})
        for name in TEXTS
    ]
    rows, file = tmp_path / "mapped.jsonl", tmp_path / "mapped.html"
    write_checklists(references, TEXTS, rows)
    file.write_text(mapped_page(references, TEXTS, saved_as="c.jsonl"), encoding="utf-8")
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page, complaints = context.new_page(), list[str]()
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto(file.as_uri())
    yield page, rows
    context.close()
    assert complaints == []


def saved(page: Page, path: Path) -> list[dict[str, object]]:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    assert download.value.suggested_filename == "c.jsonl"
    download.value.save_as(path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_what_people_say_is_saved_and_fits_the_rows(opened: tuple[Page, Path], tmp_path: Path, look_at: LookAt) -> None:
    page, rows = opened
    assert page.evaluate("window.ran") is None
    assert page.locator("fieldset").count() == 4
    assert saved(page, tmp_path / "none.jsonl") == [], "nothing was said yet, whatever line breaks a browser has"
    page.get_by_label("Your name").fill("Ada")
    first, second, third, fourth = (page.locator("fieldset").nth(place) for place in range(4))
    first.locator("textarea").fill("yeast")
    first.get_by_role("group", name="Does all that was shown").get_by_label("Yes").check()
    second.get_by_role("group", name="Was all shown").get_by_label("No").check()
    fourth.locator("textarea").fill("mended")
    expect(page.locator("#said")).to_have_text("3 of 4 looked at")
    look_at(page, "checklist-page")
    page.reload()
    expect(page.locator("#said")).to_have_text("3 of 4 looked at")
    lines = saved(page, tmp_path / "c.jsonl")
    assert [(line["id"], line["text"], line["person"]) for line in lines] == [
        ("M-1", "yeast", "Ada"), ("M-1", HOSTILE, "Ada"), ("M-2", "mended", "Ada"),
    ]  # fmt: skip
    assert third.locator("textarea").input_value() == "N/A"
    found = read_corrections(rows, tmp_path / "c.jsonl")
    assert found.texts == {"M-1": {"Origin": "yeast"}, "M-2": {HOSTILE: "mended"}}
    assert [(each.items, each.share.value) for each in (found.faithful, found.complete)] == [(1, 1), (1, 0)]
