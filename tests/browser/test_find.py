"""The page that searches: with and without scripts, in the address alone, whatever texts hold."""

import re
from collections.abc import Iterator
from itertools import product
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect
from tests.browser.conftest import SCHEMES, Browse, LookAt, seen_as
from tests.browser.hostile import done, hostile
from tests.browser.serving import Site, indexed, serving, viewing
from tests.browser.test_hostile_names import RUNS, UNSEEN
from tests.browser.wire import get


def find(query: str, **more: str) -> str:
    return f"/find?{urlencode({'q': query} | more)}"


@pytest.mark.parametrize("scripts", [True, False])
def test_a_search_leads_to_the_event_in_the_trial(site: Site, browse: Browse, scripts: bool) -> None:
    page = browse(site, "/find", scripts=scripts)
    page.get_by_role("searchbox").fill("tool:python print")
    page.get_by_role("button", name="Find", exact=True).click()
    expect(page).to_have_url(re.compile(r"/find\?q=tool%3Apython\+print$"))
    expect(page.get_by_role("heading", name="By condition")).to_be_visible()
    quote = page.locator(".found-quote").first
    expect(quote.locator("mark")).to_have_text(re.compile("^print$", re.IGNORECASE))
    place = quote.locator("a").inner_text()
    quote.locator("a").click()
    number = re.search(r"event (\d+)", place)
    assert number is not None
    expect(page).to_have_url(re.compile(rf"/trial/[0-9a-f]{{32}}(\?from=\d+)?#event-{number[1]}$"))
    expect(page.locator(f"#event-{number[1]}")).to_be_visible()


def test_flips_are_set_beside_the_rest_by_condition(site: Site, browse: Browse) -> None:
    page = browse(site, find("condition:*"))
    rows = page.locator(".found-conditions tbody tr")
    assert rows.count() == 3
    assert "baseline" in rows.first.inner_text()
    assert re.search(r"% \(\d+ of \d+\)", rows.nth(1).inner_text())


def test_pages_follow_each_other(site: Site, browse: Browse) -> None:
    page = browse(site, find("condition:*"))
    first = page.locator(".found-trial .mono").all_inner_texts()
    page.get_by_role("link", name="Next").click()
    expect(page).to_have_url(re.compile("page=2"))
    second = page.locator(".found-trial .mono").all_inner_texts()
    assert len(first) == 20
    assert not set(first) & set(second)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("bogus:x", "the fields: question"),
        ("/(/", "RE2"),
        ("tool:nothing x", "there is no such tool"),
        ('"open', "closed"),
    ],
)
def test_a_query_that_cannot_be_read_is_told_in_its_place(site: Site, query: str, says: str) -> None:
    answer = get(site, find(query))
    assert answer.status == 400
    assert says in answer.text
    assert 'name="q"' in answer.text


@pytest.mark.parametrize("page", ["0", "x", "-1", "1001", "99999999999"])
def test_a_page_that_there_is_not_is_refused(site: Site, page: str) -> None:
    assert get(site, find("x", page=page)).status == 400


def test_who_labels_blind_finds_nothing_by_attributions(serve: "type[Site]", site: Site) -> None:
    blind = serve(blind=True)  # type: ignore[call-arg]
    assert get(blind, find("mechanism:budget")).status == 400
    assert "mechanism:" not in get(blind, "/find").text
    assert get(site, find("mechanism:budget")).status == 200


def test_keys_lead_there_and_into_the_field(site: Site, browse: Browse) -> None:
    page = browse(site, "/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url("**/find")  # and until it heeds keys
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()


def test_axe_finds_nothing_at_all(site: Site, browse: Browse, look_at: LookAt) -> None:
    page = browse(site, find("condition:* the OR a"))
    page.evaluate("for (const each of document.querySelectorAll('main details')) each.open = true")
    for width, scheme in product((375, 768, 1280), SCHEMES):
        seen_as(page, width, scheme)
        found = Axe().run(page).response["violations"]
        assert [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found] == [], (width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, scheme)
        look_at(page, f"find-{width}-{scheme}")


@pytest.fixture(scope="module")
def dangerous(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hostile")
    store = folder / "hostile.sqlite"
    done(hostile(store))
    with serving(viewing(store, indexed(store, folder / "index.sqlite"))) as served:
        yield served


@pytest.mark.parametrize(
    "query", ["script OR window", "zero OR valueerror OR end", "<script>window.ran=1</script>", "/./"]
)
def test_hostile_texts_are_only_text(dangerous: Site, browse: Browse, query: str) -> None:
    page = browse(dangerous, find(query))
    assert page.evaluate("window.ran") is None
    assert page.evaluate(RUNS) == []
    assert page.locator(".found-hits > li").count() >= 1
    assert not re.search(UNSEEN, page.locator(".found-hits").inner_text().replace("\n", ""))
