"""What one takes along of the pages: links that work without scripts, files that say what the store says."""

import csv
import io
import json
import re
from pathlib import Path

from playwright.sync_api import Page
from tests.browser.conftest import Browse
from tests.browser.serving import Site
from tests.browser.test_trial import _wrong
from tests.browser.wire import get
from tests.experiments.attribution.commands import toolablate

from toolablate.traces.store import Store


def _taken(page: Page, link: str, at: Path) -> Path:
    with page.expect_download() as expected:
        page.locator(link).first.click()
    path = at / expected.value.suggested_filename
    expected.value.save_as(path)
    return path


def test_a_trial_is_taken_along_with_its_figures(replays: Site, browse: Browse, tmp_path: Path) -> None:
    trial, told = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}", width=1440, scripts=False)
    with Store(replays.view.store) as store:
        trace, question = store.trace(trial), store.question(store.trace(trial).trial.question)
    found = json.loads(_taken(page, ".taking [href$='/json']", tmp_path).read_text(encoding="utf-8"))
    assert (found["trial"]["question"], len(found["events"]), len(found["scores"])) == (
        *(trace.trial.question, len(trace.events)),
        1,
    )
    file = _taken(page, ".taking [href$='/report']", tmp_path)
    same = tmp_path / "same.html"
    wrote = toolablate(tmp_path, "report", replays.view.store, "-o", same, "--alone", "--trial", trial)
    assert wrote.returncode == 0, wrote.stderr
    assert file.read_bytes() == same.read_bytes(), "the command writes the same"
    alone = page.context.new_page()
    alone.goto(f"file://{file}")
    assert alone.locator(".event").count() == len(trace.events)
    assert alone.locator("h1").inner_text().startswith(question.id)
    assert "<script" not in file.read_text(encoding="utf-8")
    assert not re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*", file.read_text(encoding="utf-8"))
    lanes = list(csv.DictReader(io.StringIO(_taken(page, "[href$='timeline.csv']", tmp_path).read_text())))
    usage = trace.usage
    assert [int(each["event"]) for each in lanes] == list(range(len(trace.events)))
    assert int(lanes[-1]["tokens_so_far"]) == (usage.input_tokens or 0) + (usage.output_tokens or 0)
    beliefs = list(csv.DictReader(io.StringIO(_taken(page, "[href$='belief.csv']", tmp_path).read_text())))
    trajectory = told.explained.evidence.trajectory
    assert trajectory is not None
    assert [float(each["right"]) for each in beliefs] == [each.right.mean for each in trajectory.beliefs]
    assert _taken(page, "[href$='timeline.png']", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in _taken(page, "[href$='belief.svg']", tmp_path).read_bytes()


def test_figures_of_the_overview_and_a_pair_are_taken_along(replays: Site, browse: Browse, tmp_path: Path) -> None:
    page = browse(replays)
    page.locator("#figure-scores").wait_for()
    names = [str(each.get_attribute("id")).removeprefix("figure-") for each in page.locator("figure[id]").all()]
    assert {"scores", "effects", "outcomes"} <= set(names)
    for name in names:
        rows = get(replays, f"/figure/{name}.csv").text.splitlines()
        assert len(rows) > 1, name
        assert "model" in rows[0]
    shares = {
        (row["model"], row["condition"]): row["percent"]
        for row in csv.DictReader(io.StringIO(get(replays, "/figure/scores.csv").text))
    }
    findings = replays.view.index.findings()
    assert findings is not None
    assert shares == {(arm.model, arm.condition): str(arm.accuracy.percent) for arm in findings.arms}
    assert _taken(page, "#figure-scores [href$='.png']", tmp_path).read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in _taken(page, "#figure-scores [href$='.svg']", tmp_path).read_bytes()
    for wrong in ("/figure/nothing.svg", "/figure/nothing.csv", "/figure/scores.pdf", "/trial/ffff/json"):
        assert get(replays, wrong).status_code == 404, wrong
    trial, _ = _wrong(replays.view.store)
    page.goto(f"{replays.base}/diff/{trial}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Link copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    both = json.loads(_taken(page, ".taking [href$='/json']", tmp_path).read_text(encoding="utf-8"))
    assert both[0]["trial"]["condition"] != both[1]["trial"]["condition"]
    file = _taken(page, ".taking [href$='/report']", tmp_path)
    page.goto(f"file://{file}")
    assert page.locator(".diff-row").count() > 1
