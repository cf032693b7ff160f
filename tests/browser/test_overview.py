"""The first page in a real browser: its numbers are those of `compare`, and each leads to what it counts."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.conftest import Browse, LookAt, ServeView
from tests.browser.serving import Site, indexed, viewing
from tests.browser.wire import get
from tests.experiments.attribution.commands import said
from tests.reports.plots.samples import many
from tests.traces.samples import plan
from tests.viewer.keeping.reading import read_findings

from toolablate.analysis.selection import Selection
from toolablate.traces.store import Recorder, Store, TrialSummary


@pytest.fixture
def compared(site: Site) -> dict[tuple[str, str], dict[str, object]]:
    rows = json.loads(said("compare", site.view.store, "--json"))["comparisons"]
    return {(row["model"], row["condition"]): row for row in rows}


def results(page: Page) -> dict[tuple[str, str], dict[str, Locator]]:
    """The cells of the table of scores, by model and condition, and by what stands above them."""
    table = page.locator("table.results")
    heads = [" ".join(each.split()) for each in table.locator("thead th").all_inner_texts()]
    found, model = {}, ""
    for row in table.locator("tbody tr").all():
        cells = row.locator("th, td").all()
        if len(cells) == 1:
            model = cells[0].locator("bdi").inner_text()
        else:
            condition = cells[0].locator("bdi").inner_text()
            found[model, condition] = dict(zip(heads, cells, strict=True))
    return found


def number(cell: Locator) -> float:
    return float(cell.inner_text().replace("−", "-").replace("+", ""))


def test_its_numbers_are_those_of_compare(
    site: Site, browse: Browse, compared: dict[tuple[str, str], dict[str, float]]
) -> None:
    shown = results(browse(site))
    assert len(shown) == 6
    for name, row in compared.items():
        cells = shown[name]
        assert number(cells["Score, %"]) == pytest.approx(row["score"], abs=0.051)
        assert number(cells["Effect, points"]) == pytest.approx(row["delta_points"], abs=0.051)
        assert number(cells["p Holm"]) == pytest.approx(row["p_holm"], abs=0.0001)
        assert number(cells["questions R→W"]) == row["right_to_wrong"]
        assert number(cells["questions W→R"]) == row["wrong_to_right"]
        assert number(cells["noise"]) == pytest.approx(row["noise_flips"], abs=0.051)
        assert number(cells["Trials"]) == row["trials"]
        between = [float(each) for each in cells["one run R→W / W→R"].inner_text().split("/")]
        assert between == pytest.approx([row["flips_right_to_wrong"], row["flips_wrong_to_right"]], abs=0.051)


def test_a_number_leads_to_the_questions_or_trials_that_it_counts(site: Site, browse: Browse) -> None:
    counted: Counter[bool] = Counter()
    for cells in results(browse(site)).values():
        for head, cell in cells.items():
            flips = head in ("questions R→W", "questions W→R")
            if (flips or head in ("failed", "budget", "unparsed", "unscored")) and cell.locator("a").count():
                number = int(cell.inner_text())
                reply = get(site, cell.locator("a").get_attribute("href") or "")
                assert (f">{number} selected<" if flips else f"· {number} trial") in reply.text
                counted[flips] += 1
    assert counted[True] >= 1


def test_a_link_leads_to_all_trials_that_it_names(site: Site, browse: Browse) -> None:
    """Also those of figures: counted anew from what the store says of each trial."""
    page = browse(site)
    page.locator("svg.plot:visible").first.wait_for()
    with Store(site.view.store) as store:
        seen = store.summaries()
    links = {link for each in page.locator("main a[href]").all() if (link := each.get_attribute("href"))}
    compared = 0
    for link in links:
        asked = parse_qs(urlsplit(link).query, keep_blank_values=True)
        if asked and asked.keys() <= {"model", "condition", "domain", "ending"}:
            wanted = [each for each in seen if all(_said(each, name) in values for name, values in asked.items())]
            selected = len({each.question for each in wanted})
            assert f">{selected} selected<" in get(site, link).text or not selected, link
            assert not wanted or f"· {len(wanted)} trial" in get(site, link).text, link
            compared += 1
    assert compared > 15


def _said(seen: TrialSummary, parameter: str) -> str:
    if parameter != "ending":
        return str(getattr(seen, parameter))
    return seen.outcome if seen.outcome != "answered" and seen.verdict != "correct" else seen.verdict or "unscored"


def test_the_table_of_scores_fits_its_box(site: Site, browse: Browse) -> None:
    page = browse(site)
    box = page.locator(".scroll:has(table.results)")
    assert box.evaluate("each => each.scrollWidth <= each.clientWidth")


@pytest.mark.parametrize("conditions", [5, 10])
def test_no_figure_is_wider_than_its_box(serve: Callable[..., Site], browse: Browse, conditions: int) -> None:
    site = serve()
    site.view.index.put_findings(many(["m", "n"], [f"condition-{number}:placebo" for number in range(conditions)]))
    page = browse(site, width=400)
    page.locator("figure svg.plot:visible").first.wait_for()
    for width in (400, 560, 640, 720, 860, 920, 1000, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(SHOWN) == [1] * page.locator("main figure .scroll").count()
        assert page.evaluate(SCROLLING) == [], width


SHOWN = """[...document.querySelectorAll("main figure .scroll")].map(
  (box) => [...box.querySelectorAll("svg.plot")].filter((each) => each.getClientRects().length).length)"""
SCROLLING = """[...document.querySelectorAll("main figure .scroll")]
  .filter((box) => box.scrollWidth > box.clientWidth).map((box) => box.parentElement.id)"""


def test_nothing_is_promised_before_a_trial_has_ended(tmp_path: Path, browse: Browse, serve_view: ServeView) -> None:
    with Recorder(tmp_path / "s.sqlite") as recorder:
        plan(recorder)
    index = indexed(tmp_path / "s.sqlite", tmp_path / "i.sqlite", why=False)
    served = serve_view(viewing(tmp_path / "s.sqlite", index))
    page = browse(served)
    expect(page.get_by_text("No trial has ended yet.").first).to_be_visible()
    assert page.get_by_text("being computed").count() == 0


def test_every_link_of_it_leads_somewhere(site: Site, browse: Browse) -> None:
    page = browse(site)
    page.locator("svg.plot:visible").first.wait_for()
    links = {each.get_attribute("href") for each in page.locator("main a[href], main a").all()} - {None}
    assert len(links) > 15
    for link in links:
        assert get(site, str(link)).status == 200, link


def test_figures_stand_in_it_and_lead_on(site: Site, browse: Browse) -> None:
    page = browse(site)
    expect(page.locator("#figure-scores svg.plot:visible")).to_be_visible()
    expect(page.locator("#figure-matrices svg.plot:visible")).to_be_visible()
    identities = page.evaluate("[...document.querySelectorAll('[id]')].map(each => each.id)")
    assert len(identities) == len(set(identities))
    page.locator("#figure-scores svg a").first.click()
    page.wait_for_url("**/questions?**")
    assert page.locator(".chip").count() == 2


def test_it_says_that_models_are_simulated(site: Site, browse: Browse) -> None:
    banner = browse(site).locator("main .banner").inner_text()
    assert "simulated-credulous, simulated-steady imitate a model" in banner


def test_without_replays_it_counts_what_traces_tell_and_says_what_measures_it(site: Site, browse: Browse) -> None:
    page = browse(site)
    why = page.locator("section[aria-labelledby=why]")
    expect(why.locator("code", has_text="toolablate attribute STORE --replay")).to_be_visible()
    expect(why.locator("svg, table.decomposition")).to_have_count(0)
    expect(why.locator("th", has_text="Wrong trials, by trace")).to_be_visible()
    expect(why.locator("td", has_text="sampling noise, as without tools").first).to_be_visible()
    links = why.locator("td a")
    shown = {address: int(link.inner_text()) for link in links.all() if (address := link.get_attribute("href"))}
    found = read_findings(site.view.store).why
    assert found is not None
    assert sum(shown.values()) == sum(each.trials for each in found.attributed) > len(shown) > 3
    for address, trials in shown.items():
        listed = page.request.get(f"{site.base}{address}").text()
        heading = re.search(r"<h1>.*?</h1>", listed, re.DOTALL)
        assert heading is not None
        assert re.search(rf"\b{trials} trials? that fits?\b", heading[0]), (address, heading[0])


def test_what_is_not_known_yet_comes_by_itself(serve: Callable[..., Site], browse: Browse) -> None:
    served = serve(why=False)
    page = browse(served)
    expect(page.get_by_text("The mechanisms behind the effects are being computed")).to_be_visible()
    page.locator("summary", has_text="How to read these figures").click()
    served.view.index.put_findings(read_findings(served.view.store))
    expect(page.get_by_role("heading", name="What wrong trials are attributed to")).to_be_visible()
    expect(page.get_by_text("being computed")).to_have_count(0)
    assert page.locator("details.reading").first.get_attribute("open") is not None
    expect(page.locator("#said")).to_have_text("The figures are up to date.")


def test_without_scripts_it_can_be_read(site: Site, browse: Browse) -> None:
    page = browse(site, scripts=False)
    assert page.locator("table.results tbody tr").count() == 8
    assert site.view.index.questions(Selection()).total == 8
    assert page.locator("main dd").first.inner_text() == "8"


def test_it_looks_as_it_should(site: Site, browse: Browse, look_at: LookAt) -> None:
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            page = browse(site, width=width, scheme=scheme)
            page.locator("svg.plot:visible").first.wait_for()
            look_at(page, f"overview-{width}-{scheme}")
