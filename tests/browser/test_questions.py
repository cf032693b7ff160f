"""The table of questions in a real browser: what it shows is what the store says."""

from collections import defaultdict
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Browse, LookAt
from tests.browser.serving import Site
from tests.browser.wire import get

from toolablate.analysis.selection import Selection
from toolablate.traces.store import Store, TrialSummary


@pytest.fixture
def observed(site: Site) -> list[TrialSummary]:
    with Store(site.view.store) as store:
        return store.summaries()


def names(page: Page) -> list[str]:
    return page.locator("table.questions tbody th a").all_inner_texts()


def marks(page: Page) -> dict[str, str]:
    """Of each trial that the table shows, by the id in its link, how it ended."""
    return {
        (each.get_attribute("href") or "").partition("?")[0].removeprefix("/trial/"): (
            each.get_attribute("class") or ""
        ).split()[-1]
        for each in page.locator("table.questions a.mark").all()
    }


def test_every_trial_is_one_sign_that_says_how_it_ended(
    site: Site, browse: Browse, observed: list[TrialSummary]
) -> None:
    shown = marks(browse(site, "/questions"))
    assert shown == {seen.trial: site.view.index.trial(seen.trial).ending for seen in observed}
    assert {seen.trial for seen in observed if seen.value == 1} == {
        trial for trial, how in shown.items() if how == "correct"
    }


def test_a_sign_says_what_it_stands_for_without_its_colour(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    wrong = page.locator("a.mark.wrong").first
    name = wrong.get_attribute("title") or ""
    assert "wrong" in name
    assert "repeat" in name
    expect(page.get_by_role("link", name=name, exact=True)).to_have_count(1)
    signs = {
        how: page.locator(f".legend .mark.{how}:not(.beside)").evaluate(
            "each => getComputedStyle(each, '::before').content"
        )
        for how in ("correct", "partial", "wrong", "unparsed", "unscored", "budget", "failed")
    }
    assert len(set(signs.values())) == 7


def test_flips_are_marked_and_lead_to_both_sides(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    found = site.view.index.questions(Selection(), size=100)
    flips = sum(g.flip in ("right_to_wrong", "wrong_to_right") for row in found.rows for g in row.glances)
    assert page.locator("td.glance.flipped").count() == page.locator("a.turn").count() == flips > 0
    link = page.locator("a.turn.right_to_wrong").first.get_attribute("href") or ""
    _, _, left, right = link.split("/")
    index = site.view.index
    assert index.trial(left).ending == "correct"
    assert index.trial(right).ending != "correct"
    assert index.trial(left).question == index.trial(right).question


def test_it_is_filtered_by_hand(site: Site, browse: Browse, observed: list[TrialSummary]) -> None:
    page = browse(site, "/questions")
    page.locator("summary", has_text="Model").click()
    page.get_by_role("checkbox", name="simulated-credulous").check()
    page.locator("summary", has_text="Condition").click()
    expect(page.locator("details.facet[open]")).to_have_count(1)
    page.get_by_role("checkbox", name="python").check()
    page.locator("summary", has_text="Outcome").click()
    page.locator("input[value=wrong]").check()
    page.locator("details.facet[open] button").click()
    page.wait_for_url("**/questions?**")
    expected = {
        seen.question
        for seen in observed
        if seen.model == "simulated-credulous" and seen.condition == "python" and seen.value == 0
    }
    assert set(names(page)) == expected
    assert page.locator("thead .condition").all_inner_texts() == ["none", "python"]
    assert page.locator(".chip").count() == 3
    page.get_by_label("Remove Outcome wrong").click()
    page.wait_for_url(lambda address: "ending" not in address)
    assert len(names(page)) == 8
    page.get_by_role("link", name="Reset").click()
    expect(page.locator(".chip")).to_have_count(0)


def test_it_is_filtered_without_scripts(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions", scripts=False)
    page.locator("summary", has_text="Flip").click()
    page.get_by_role("checkbox", name="right → wrong").check()
    page.locator("details.facet[open] button").click()
    page.wait_for_url("**flip=right_to_wrong**")
    expected = site.view.index.questions(Selection(flips=("right_to_wrong",)))
    assert names(page) == [row.name for row in expected.rows]


def test_texts_are_found_in_questions_and_answers(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    page.get_by_role("searchbox").fill("gcd(")
    page.keyboard.press("Enter")
    page.wait_for_url("**text=gcd%28**")
    assert names(page) == ["math-gcd-powers"]


def test_heads_sort_and_say_so(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    assert page.locator("[aria-sort]").count() == 0
    head = page.get_by_role("columnheader", name="Question")
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    assert names(page) == sorted(names(page))
    head.get_by_role("link").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    assert names(page) == sorted(names(page), reverse=True)
    page.get_by_role("columnheader", name="Score").get_by_role("link").click()
    page.wait_for_url("**sort=score")
    scores = [float(each) for each in page.locator("tbody tr td:nth-last-child(2)").all_inner_texts()]
    assert scores == sorted(scores)
    assert page.get_by_role("combobox", name="Sort").input_value() == "score"


def test_scores_of_rows_are_means_of_their_trials(site: Site, browse: Browse, observed: list[TrialSummary]) -> None:
    page = browse(site, "/questions")
    values = defaultdict(list)
    for seen in observed:
        if seen.value is not None:
            values[seen.question].append(seen.value)
    for row in page.locator("table.questions tbody tr").all():
        found = values[row.locator("th a").inner_text()]
        assert row.locator("td").nth(-2).inner_text() == f"{100 * sum(found) / len(found):.0f}"


def test_scores_and_losses_are_of_the_columns_shown_and_sort_by_them(
    site: Site, browse: Browse, observed: list[TrialSummary]
) -> None:
    values = defaultdict(list)
    for seen in observed:
        if seen.model == "simulated-credulous" and seen.value is not None:
            values[seen.question, seen.condition].append(seen.value)
    mean = {place: sum(found) / len(found) for place, found in values.items()}
    page = browse(site, "/questions?model=simulated-credulous&condition=python&sort=delta")
    rows = page.locator("table.questions tbody tr").all()
    losses = []
    for row in rows:
        name = row.locator("th a").inner_text()
        found = values[name, "none"] + values[name, "python"]
        assert row.locator("td").nth(-2).inner_text() == f"{100 * sum(found) / len(found):.0f}"
        losses.append(float(row.locator("td").last.inner_text().replace("−", "-")))
        assert losses[-1] == round(100 * (mean[name, "python"] - mean[name, "none"]))
    assert len(losses) == 8
    assert losses == sorted(losses)


def test_where_nothing_fits_it_says_what_to_loosen(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions?ending=failed&condition=none")
    assert "No question matches all filters." in page.locator(".empty").inner_text()
    page.get_by_role("link", name="without Outcome “failed”").click()
    expect(page.locator(".chips .chip")).to_have_count(1)
    assert len(names(page)) == 8


def test_causes_that_are_being_worked_out_may_still_fit(serve: Callable[..., Site], browse: Browse) -> None:
    site = serve(why=False)
    site.view.index.put_progress("attributing 1 of 7 trials")
    page = browse(site, "/questions?mechanism=sampling_noise")
    expect(page.locator(".empty")).to_contain_text("causes are being computed (attributing 1 of 7 trials)")
    site.view.index.put_progress("")
    expect(page.locator(".empty")).to_contain_text("No question matches all filters. Remove one")


def test_the_row_that_one_came_to_is_coloured_from_its_beginning(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions")
    page.keyboard.press("j")
    colours = page.locator("tr.here > *").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).backgroundColor)"
    )
    other = page.locator("tr[data-step]:not(.here) > .first").first
    assert colours[0] == colours[1] != other.evaluate("each => getComputedStyle(each).backgroundColor")


def test_one_question_is_shown_whole(site: Site, browse: Browse, look_at: LookAt) -> None:
    page = browse(site, "/questions")
    page.get_by_role("link", name="math-borwein").click()
    page.wait_for_url("**/question/*")
    row = site.view.index.question(page.url.rpartition("/")[2])
    with Store(site.view.store) as store:
        question = store.question(row.question)
    assert page.get_by_role("heading", level=1).inner_text() == "math-borwein"
    assert page.locator(".md").first.inner_text().split() == question.prompt.split()
    assert page.locator("ol.choices li").count() == len(question.choices)
    expect(page.locator("details.right p")).to_be_hidden()
    page.locator("summary", has_text="Right answer").click()
    expect(page.locator("details.right p")).to_be_visible()
    assert page.locator("details.right p").inner_text() == ", ".join(getattr(question.target, "letters", ()))
    assert page.locator("table.trials tbody tr").count() == 12
    for link in page.locator("main a[href]").all():
        assert get(site, link.get_attribute("href") or "").status == 200
    look_at(page, "question-1280")
    page.set_viewport_size({"width": 400, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_by_keyboard_one_comes_to_the_trials_that_were_chosen(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions?ending=wrong")
    for where in ("**/question/*ending=wrong", "**/trial/*ending=wrong"):
        page.keyboard.press("j")
        page.keyboard.press("Enter")
        page.wait_for_url(where)
    page.keyboard.press("]")
    page.locator(".verdict .badge.wrong").wait_for()
    assert page.url.endswith("?ending=wrong")


def test_the_trials_that_were_chosen_are_told_from_others(site: Site, browse: Browse, look_at: LookAt) -> None:
    chosen = "?model=simulated-credulous&condition=python&ending=wrong"
    page = browse(site, f"/questions{chosen}")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/question/*{chosen}")
    expect(page.locator(".chosen .chip")).to_have_count(3)
    steps = page.locator("tr[data-step]")
    expect(page.locator(".chosen")).to_contain_text(f"{steps.count()} of 12 trials fit")
    for each in steps.locator("[data-open]").all():
        trial = site.view.index.trial(str(each.get_attribute("href")).removeprefix("/trial/").partition("?")[0])
        assert (trial.model, trial.condition, trial.ending) == ("simulated-credulous", "python", "wrong")
    look_at(page, "question-chosen")
    page.get_by_role("link", name="browse all").click()
    page.wait_for_url(lambda address: "?" not in address)
    expect(page.locator("tr[data-step]")).to_have_count(12)


def test_the_menu_leads_back_to_what_was_chosen(site: Site, browse: Browse) -> None:
    chosen = "?condition=python&ending=wrong&text=%26&sort=-delta"
    page = browse(site, "/questions?condition=python&ending=wrong&sort=-delta")
    links = {"**/question/*": "tbody th a", "**/trial/*": "tr[data-step] [data-open]"}
    for where, link in links.items():
        page.locator(link).first.click()
        page.wait_for_url(where)
        expect(page.locator("[data-go=q]")).to_have_attribute(
            "href", "/questions?condition=python&ending=wrong&sort=-delta"
        )
    page.keyboard.press("g")
    page.keyboard.press("q")
    page.wait_for_url("**/questions?condition=python&ending=wrong&sort=-delta")
    expect(page.locator("[data-go=q]")).to_have_attribute("href", "/questions")
    turn = browse(site, "/questions?flip=right_to_wrong").locator("a.turn").first.get_attribute("href") or ""
    assert turn.endswith("?flip=right_to_wrong")
    for link in (turn, turn.replace("?", f"{chosen}&")):
        assert get(site, link).status == 200
    assert (
        'href="/questions?condition=python&amp;ending=wrong&amp;text=%26&amp;sort=-delta"'
        in get(site, turn.partition("?")[0] + chosen + "&from=1&nonsense=%22").text
    )


def test_a_filter_says_how_many_questions_each_value_shows(site: Site, browse: Browse) -> None:
    page = browse(site, "/questions?model=simulated-credulous&condition=python")
    page.locator("summary", has_text="Outcome").click()
    expect(page.locator("details.facet[open] .counted")).to_have_text("questions")
    choice = page.locator("details.facet[open] label", has_text="wrong")
    number = choice.locator(".number").inner_text()
    choice.locator("input").check()
    page.locator("details.facet[open] button").click()
    page.wait_for_url("**ending=wrong**")
    expect(page.locator("h1")).to_contain_text(f"{number} selected")


def test_who_is_blind_is_not_told_what_trials_are_attributed_to(serve: Callable[..., Site]) -> None:
    open_eyed, blind = serve(), serve(blind=True)
    row = open_eyed.view.index.questions(Selection(mechanisms=("sampling_noise",))).rows[0]
    for path in ("/questions", f"/question/{row.question}"):
        assert "sampling noise" in get(open_eyed, path).text
        assert "sampling noise" not in get(blind, path).text
    trial = row.glances[0].trials[0].trial
    for path in ("/questions", f"/trial/{trial}"):
        for chosen in ("mechanism=sampling_noise", "label=sampling_noise"):
            assert get(open_eyed, f"{path}?{chosen}").status == 200
            assert get(blind, f"{path}?{chosen}").status == 400


def test_who_is_blind_sees_no_mechanisms_on_the_first_page(serve: Callable[..., Site]) -> None:
    open_eyed, blind = get(serve(), "/").text, get(serve(blind=True), "/").text
    assert 'class="attributed"' in open_eyed
    assert 'class="attributed"' not in blind
    assert "Attributions are hidden while you label" in blind


def test_it_looks_as_it_should(site: Site, browse: Browse, look_at: LookAt) -> None:
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            look_at(browse(site, "/questions", width=width, scheme=scheme), f"questions-{width}-{scheme}")
    page = browse(site, "/questions?ending=wrong")
    page.locator("summary", has_text="Flip").click()
    look_at(page, "questions-filter")
