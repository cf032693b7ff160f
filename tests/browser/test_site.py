"""The documentation as a site: opened from its files, searched without a network; its notebooks, and the demo.

Where TOOLABLATE_DOCS names what `make docs` has made, that is looked at."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.deep, pytest.mark.timeout(600)]


def test_a_page_is_found_by_its_words_and_nothing_leaves_the_machine(chromium: Browser, tmp_path: Path) -> None:
    docs = Path(os.environ.get("TOOLABLATE_DOCS", tmp_path / "docs"))
    if not docs.exists():
        subprocess.run([sys.executable, ROOT / "docs/site/build.py", docs], check=True, capture_output=True)
    page = chromium.new_page()
    asked = list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.goto((docs / "site/index.html").as_uri())
    page.get_by_role("dialog", name="Search").get_by_role("button").click()
    page.keyboard.type("noise floor")
    page.get_by_role("heading", name="Flips and the noise floor").click()
    expect(page).to_have_url(re.compile(r"statistics\.html.*#flips-and-the-noise-floor$"))
    page.goto((docs / "site/notebook_failures.html").as_uri())
    expect(page.locator(".output table").first).to_be_visible()
    expect(page.frame_locator(".output iframe").first.get_by_text("exact-exchange").first).to_be_visible()
    page.goto((docs / "site/index.html").as_uri())
    page.get_by_role("link", name="the demo in the viewer").click()
    expect(page.get_by_role("heading", name="demo.sqlite")).to_be_visible()
    assert all(url.startswith(("file:", "data:", "blob:")) for url in asked), asked
    page.close()
