"""Questions, models, conditions and answers that try to be more than names, in tables, filters and figures."""

import re
from collections.abc import Iterator

import pytest
from tests.browser.conftest import Browse, LookAt
from tests.browser.hostile import done, hostile
from tests.browser.serving import Site, indexed, serving, viewing
from tests.browser.wire import get

from toolablate.analysis.selection import Selection
from toolablate.viewer.selection import question_address, questions_address

UNSEEN = "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2028\u2029\ufeff]"
RUNS = """() => [...document.querySelectorAll("*")].filter((each) =>
    [...each.attributes].some((one) => /^on/i.test(one.name) || /^\\s*javascript:/i.test(one.value)) ||
    (/^(SCRIPT|IFRAME|OBJECT|EMBED|STYLE|BASE)$/.test(each.tagName) && document.body.contains(each))
).map((each) => each.outerHTML.slice(0, 200))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("hostile")
    store = folder / "hostile.sqlite"
    done(hostile(store))
    with serving(viewing(store, indexed(store, folder / "index.sqlite"))) as served:
        yield served


def places(site: Site) -> dict[str, str]:
    (row,) = site.view.index.questions(Selection()).rows
    return {
        "overview": "/",
        "questions": "/questions",
        "filtered": filtered(site),
        "question": question_address(row.question),
    }


def filtered(site: Site) -> str:
    facets = site.view.index.facets()
    return questions_address(
        Selection(models=tuple(facets.models), conditions=tuple(facets.conditions)[-1:], domains=tuple(facets.domains))
    )


@pytest.mark.parametrize("place", ["overview", "questions", "filtered", "question"])
def test_names_are_names(site: Site, browse: Browse, look_at: LookAt, place: str) -> None:
    page = browse(site, places(site)[place])
    page.wait_for_load_state("networkidle")
    if place == "overview":
        page.locator("svg.plot:visible").first.wait_for()
    assert page.evaluate("window.ran") is None
    assert page.evaluate(RUNS) == []
    assert (
        page.evaluate(f"new RegExp({UNSEEN!r}).test(document.querySelector('main').innerText.replaceAll('\\n', ''))")
        is False
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    page.set_viewport_size({"width": 1280, "height": 900})
    look_at(page, f"hostile-{place}")


def test_a_filter_by_such_a_name_finds_what_has_it(site: Site, browse: Browse) -> None:
    page = browse(site, places(site)["filtered"])
    assert page.locator("tbody tr").count() == 1
    assert page.locator(".chip").count() == 3
    said = [link.get_attribute("aria-label") or "" for link in page.locator(".chip a").all()]
    assert not re.search("[\x00-\x1f\u202a-\u202e]", "".join(said))
    for link in page.locator("main a[href]").all():
        assert get(site, link.get_attribute("href") or "").status == 200
