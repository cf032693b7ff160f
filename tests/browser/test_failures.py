"""The page of wrong trials: with and without scripts, in the address alone, as the command has it."""

import json
import re
from urllib.parse import urlencode

import pytest
from click.testing import CliRunner
from playwright.sync_api import expect
from tests.browser.conftest import Browse, ServeView
from tests.browser.hostile import done, hostile
from tests.browser.serving import Site, indexed, viewing
from tests.browser.test_hostile_names import RUNS, UNSEEN
from tests.browser.wire import get, raw

from toolablate.cli import group
from toolablate.viewer.saved_views import SavedViews


def failures(*pairs: tuple[str, str]) -> str:
    return f"/failures?{urlencode(pairs)}"


@pytest.mark.parametrize("scripts", [True, False])
def test_from_groups_to_a_trial_at_its_event_and_a_saved_view(site: Site, browse: Browse, scripts: bool) -> None:
    page = browse(site, "/", scripts=scripts)
    if scripts:
        page.keyboard.press("g")
        page.keyboard.press("w")
    else:
        page.get_by_role("link", name="Failures", exact=True).click()
    expect(page.get_by_role("heading", name="By relation")).to_be_visible()
    page.locator("select[name=by]").nth(0).select_option("condition")
    page.locator("select[name=by]").nth(1).select_option("mechanism")
    page.locator("summary", has_text="Columns").click()
    page.get_by_role("checkbox", name="Baseline").check()
    page.locator("form.filters > .toolbar > button.primary").click()
    expect(page.get_by_role("heading", name="By condition and mechanism")).to_be_visible()
    first = page.locator(".failures-groups tbody tr").first
    size = int(first.locator("td.number").first.inner_text().replace(",", ""))
    first.get_by_role("link").click()
    expect(page.locator(".chips .chip")).to_have_count(2)
    assert f"{size:,} of" in page.locator("h1").inner_text()
    expect(page.locator(".failures-trials thead")).to_contain_text("Baseline")
    here = page.url.removeprefix(site.base)

    page.locator("summary", has_text="Views").click()
    page.get_by_label("Name").fill(f"mine, scripts {scripts}")
    page.get_by_role("button", name="Save this view").click()
    saved = page.get_by_role("link", name=f"mine, scripts {scripts}")
    expect(saved).to_have_attribute("aria-current", "true")
    assert page.url.removeprefix(site.base) == here
    page.goto(f"{site.base}/failures")
    saved.click()
    assert page.url.removeprefix(site.base) == here
    page.get_by_role("button", name=f"Delete the view mine, scripts {scripts}").click()
    expect(saved).to_have_count(0)

    page.locator(".failures-trials tbody a.mono").first.click()
    expect(page).to_have_url(re.compile(r"/trial/[0-9a-f]{32}(\?from=\d+)?(#event-\d+)?$"))
    alike = page.get_by_role("link", name="More like this")
    wanted = alike.get_attribute("href")
    alike.click()
    assert page.url == f"{site.base}{wanted}"
    expect(page.get_by_text("the most alike first")).to_be_visible()


@pytest.mark.parametrize("by", ["relation", "flip,condition", "cluster", "mechanism,domain"])
def test_the_page_and_the_command_count_alike(site: Site, by: str) -> None:
    done = CliRunner().invoke(group, ["failures", str(site.view.store), "--by", by, "--json"])
    assert done.exit_code == 0, done.output
    ours = json.loads(done.output)
    page = get(site, failures(("by", by))).text
    rows = re.search(r'class="failures-groups">.*?<tbody>(.*?)</tbody>', page, re.DOTALL)
    assert rows is not None
    shown = [int(row.replace(",", "")) for row in re.findall(r"</t[hd]>\s*<td class=\"number\">([\d,]+)</td>", rows[1])]
    assert shown == [each["wrong"] for each in ours["groups"]]
    assert f"{ours['wrong']:,} wrong trial" in re.sub(r"<[^>]+>", "", page)


@pytest.mark.parametrize(
    ("pair", "says"),
    [
        (("relation", "nope"), "no wrong trial has that"),
        (("by", "nope"), "Failures have no"),
        (("metadata.nope", "x"), "Failures have no"),
        (("page", "0"), "number from 1"),
        (("page", "9" * 30), "number from 1"),
    ],
)
def test_what_there_is_not_is_told_in_its_place(site: Site, pair: tuple[str, str], says: str) -> None:
    answer = get(site, failures(pair))
    assert (answer.status, says in answer.text) == (400, True)


def test_who_labels_blind_is_not_told_what_trials_are_attributed_to(serve: "type[Site]") -> None:
    blind = serve(blind=True)  # type: ignore[call-arg]
    page = get(blind, failures(("column", "mechanism"), ("column", "turned"), ("column", "said"), ("column", "answer")))
    assert page.status == 200
    for word in ("Mechanism", "Turned at", "#event-", "What it says"):
        assert word not in page.text
    for key in ("by", "mechanism"):
        assert get(blind, failures((key, "mechanism"))).status == 400


def test_only_the_pages_own_forms_save_views(site: Site) -> None:
    views = SavedViews.beside(site.view.index.path)

    def send(body: str, *, origin: str = site.base, cookie: str = site.cookie) -> int:
        head = (
            f"POST /failures/views HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nOrigin: {origin}\r\nCookie: {cookie}\r\n"
        )
        return raw(site, f"{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()).status

    assert send("name=x&query=by%3Dflip", origin="http://evil.example") == 403
    assert send("name=x&query=by%3Dflip", cookie="none=1") == 403
    assert views.all() == {}
    for name, query in (("", "by=flip"), ("x" * 81, ""), ("x", "by=" + "y" * 5_000)):
        assert send(urlencode({"name": name, "query": query, "action": "save"})) == 400
    assert send("name=x&query=by%3Dflip%26page%3D3%26token%3Dt&action=save") == 303
    assert views.all() == {"x": "by=flip"}
    views.path.write_text("{broken")
    assert (views.all(), get(site, "/failures").status) == ({}, 200)
    views.save("<b>&y", "")
    assert "&lt;b&gt;&amp;y" in get(site, "/failures").text
    views.delete("<b>&y")


def test_hostile_texts_stay_text(
    tmp_path_factory: pytest.TempPathFactory, browse: Browse, serve_view: ServeView
) -> None:
    folder = tmp_path_factory.mktemp("hostile-failures")
    done(hostile(folder / "store.sqlite"))
    columns = [("column", name) for name in ("question", "answer", "said", "expected", "model")]
    site = serve_view(viewing(folder / "store.sqlite", indexed(folder / "store.sqlite", folder / "index.sqlite")))
    page = browse(site, failures(("by", "question"), *columns))
    assert page.locator(".failures-trials tbody tr").count() > 0
    assert page.evaluate(RUNS) == []
    text = page.locator("main").inner_text().replace("\n", "")
    assert page.evaluate(f"text => new RegExp({UNSEEN!r}).test(text)", text) is False
