"""Two trials side by side in a real browser, beside what the store says."""

import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import SCHEMES, Browse, LookAt, seen_as
from tests.browser.serving import Site
from tests.browser.wire import get
from tests.experiments.attribution.commands import toolablate

from toolablate.traces.store import Store, TrialSummary


def _trials(site: Site) -> list[TrialSummary]:
    with Store(site.view.store) as store:
        return store.summaries()


def _flipped(site: Site) -> tuple[TrialSummary, TrialSummary]:
    """A trial without tools and one with python, of the same question, that ended otherwise."""
    trials = _trials(site)
    by = {(each.model, each.question, each.condition, each.repeat): each for each in trials}
    for each in trials:
        bare = by[each.model, each.question, "none", each.repeat]
        if each.condition == "python" and each.verdict != bare.verdict and bare.verdict == "correct":
            return bare, each
    raise AssertionError("no flip in the store of the tests")


@pytest.fixture
def flipped(site: Site) -> tuple[TrialSummary, TrialSummary]:
    return _flipped(site)


def _get(site: Site, path: str) -> httpx.Response:
    return httpx.get(site.base + path, headers={"Cookie": site.cookie})


def test_a_trial_alone_is_set_beside_its_baseline(site: Site, flipped: tuple[TrialSummary, TrialSummary]) -> None:
    bare, tool = flipped
    assert _get(site, f"/diff/{tool.trial[:12]}").headers["location"] == f"/diff/{bare.trial}/{tool.trial}"
    there = _get(site, f"/diff/{bare.trial}")
    assert there.status_code == 303
    left, right = there.headers["location"].split("/")[-2:]
    assert left == bare.trial
    other = next(each for each in _trials(site) if each.trial == right)
    assert (other.question, other.model, other.verdict) == (bare.question, bare.model, "wrong")


def test_answers_and_verdicts_are_those_of_the_store(
    site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]
) -> None:
    page = browse(site, f"/diff/{flipped[0].trial}/{flipped[1].trial}")
    with Store(site.view.store) as store:
        for which, each in zip(("left", "right"), flipped, strict=True):
            side = page.locator(f".diff-top-side.{which}")
            assert side.locator(".badge.correct, .badge.wrong").inner_text() == (
                "right" if each.verdict == "correct" else "wrong"
            )
            assert side.locator(".diff-top-answer").inner_text() == ", ".join(store.scores(each.trial)[0].extracted)
            assert each.condition in side.inner_text()
    settings = page.locator(".diff-settings tbody th").all_inner_texts()
    assert settings[0] == "condition"
    assert "tools" in settings
    assert "model" not in settings


def _row(page: Page) -> str:
    return str(page.evaluate("document.activeElement.id"))


def test_keys_jump_between_differences_and_swap(
    site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]
) -> None:
    page = browse(site, f"/diff/{flipped[0].trial}/{flipped[1].trial}")
    rows = [row.get_attribute("id") for row in page.locator("[data-difference]").all()]
    assert len(rows) >= 2
    page.keyboard.press("f")
    assert _row(page) == rows[0]
    assert page.locator(f"#{rows[0]} [data-divergence]").count() == 1
    page.keyboard.press("n")
    assert _row(page) == rows[1]
    page.keyboard.press("p")
    assert _row(page) == rows[0]
    page.keyboard.press("a")
    assert "Answers part" in page.locator(f"#{_row(page)}").inner_text()
    kept = page.url
    assert kept.endswith(f"#{_row(page)}")
    assert _row(browse(site, kept.removeprefix(site.base))) == _row(page), "the address leads back to the row"
    page.keyboard.press("s")
    page.wait_for_url(f"**/diff/{flipped[1].trial}/{flipped[0].trial}")


def test_what_is_folded_is_unfolded_and_folded_again(
    site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]
) -> None:
    page = browse(site, f"/diff/{flipped[1].trial}/{flipped[1].trial}")
    equal = page.locator(".diff-equal")
    page.keyboard.press("x")
    expect(equal).to_have_attribute("open", "")
    page.get_by_role("button", name="Unfold all").click()
    expect(equal).not_to_have_attribute("open", "")
    kept = browse(site, f"/diff/{flipped[1].trial}/{flipped[1].trial}#row-2")
    expect(kept.locator("#row-2")).to_be_focused()


def test_what_was_chosen_is_handed_on(site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]) -> None:
    tool = flipped[1]
    chosen = "?condition=python&difficulty=hard&text=%26%22"
    page = browse(site, f"/trial/{tool.trial}{chosen}")
    expect(page.get_by_role("link", name="Question", exact=True)).to_have_attribute(
        "href", re.compile("^/question/.*" + re.escape(chosen) + "$")
    )
    page.keyboard.press("d")
    page.wait_for_url(f"**/diff/*/*{chosen}")
    page.keyboard.press("s")
    page.wait_for_url(f"**/diff/{tool.trial}/*{chosen}")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(f"**/diff/{tool.trial}/*{chosen}")
    for link in page.locator(".diff-top-name a, .diff-question a, .diff-head a").all():
        assert (link.get_attribute("href") or "").partition("#")[0].endswith(chosen)
    page.locator(".diff-top-name a").first.click()
    page.wait_for_url(f"**/trial/{tool.trial}{chosen}")
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url(f"**/questions{chosen}")
    alone = get(site, f"/diff/{tool.trial}{chosen}&nonsense=1")
    assert alone.headers["location"].endswith(chosen)


def test_another_trial_is_chosen(site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]) -> None:
    bare, tool = flipped
    page = browse(site, f"/diff/{bare.trial}/{tool.trial}")
    other = next(
        each for each in _trials(site) if (each.question, each.model, each.condition) == (*_of(tool), "search")
    )
    page.select_option("select[name=right]", other.trial)
    page.wait_for_url(f"**/diff/{bare.trial}/{other.trial}")
    offered = page.locator("select[name=right] option").count()
    assert offered == sum(each.question == bare.question for each in _trials(site))


def _of(each: TrialSummary) -> tuple[str, str]:
    return each.question, each.model


def test_a_trial_beside_itself_is_folded_and_without_divergence(
    site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]
) -> None:
    page = browse(site, f"/diff/{flipped[1].trial}/{flipped[1].trial}")
    assert page.locator("[data-difference]").count() == 0
    assert "says and does the same on both sides" in page.locator("main").inner_text()
    assert page.locator(".diff-equal:not([open]) summary").all_inner_texts()


def test_it_is_read_without_scripts(site: Site, browse: Browse, flipped: tuple[TrialSummary, TrialSummary]) -> None:
    page = browse(site, f"/diff/{flipped[0].trial}/{flipped[1].trial}", scripts=False)
    page.locator("[data-first]").click()
    page.wait_for_url("**#row-1")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url(f"**/diff/{flipped[0].trial}/{flipped[1].trial}")


def test_it_fits_and_looks_as_it_should(
    site: Site, browse: Browse, look_at: LookAt, flipped: tuple[TrialSummary, TrialSummary]
) -> None:
    page = browse(site, f"/diff/{flipped[0].trial}/{flipped[1].trial}")
    for width, scheme in product((1280, 400), SCHEMES):
        seen_as(page, width, scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        look_at(page, f"diff-{width}-{scheme}")


def test_different_questions_and_no_trial_are_refused(site: Site, flipped: tuple[TrialSummary, TrialSummary]) -> None:
    bare = flipped[0]
    other = next(each for each in _trials(site) if each.question != bare.question)
    refused = _get(site, f"/diff/{bare.trial}/{other.trial}")
    assert refused.status_code == 400
    assert "different questions" in refused.text
    assert _get(site, f"/diff/{bare.trial}/zz").status_code == 404
    assert _get(site, "/diff?left=&right=").status_code == 400
    assert _get(site, "/diff?left=//evil.example&right=a").headers["location"] == "/diff/%2F%2Fevil.example/a"


def test_where_attributions_are_hidden_none_is_shown(serve: Callable[..., Site], tmp_path: Path) -> None:
    own = serve(blind=True)
    for tool in [each for each in _trials(own) if each.condition == "python"]:
        assert (
            "belief falls here"
            not in httpx.get(
                f"{own.base}/diff/{tool.trial}", headers={"Cookie": own.cookie}, follow_redirects=True
            ).text
        )


def test_a_replay_is_equal_up_to_its_change(serve: Callable[..., Site], browse: Browse) -> None:
    site = serve()
    store = site.view.store
    _, tool = _flipped(site)
    with Store(store) as opened:
        called = next(at for at, event in enumerate(opened.conversation(tool.trial)) if event.kind == "tool_call")
    told = toolablate(store.parent, "replay", store, tool.trial, "--from", str(called), "--swap", "null", "--json")
    assert told.returncode == 0, told.stdout + told.stderr
    with Store(store) as opened:
        (replay,) = opened.resumptions(tool.trial)
    assert _get(site, f"/diff/{replay}").headers["location"] == f"/diff/{tool.trial}/{replay}"
    page = browse(site, f"/diff/{replay[:12]}")
    shown = page.locator("main").inner_text()
    assert "is a replay of the other: identical up to the change" in shown
    assert f"swap from event {called}" in page.locator(".diff-settings").inner_text()
    first = page.locator("[data-difference]").first
    assert "other results" in (first.get_attribute("aria-label") or "")
    assert first.locator(".diff-mark").inner_text().startswith("The same words, and other results")
