"""What people say of trials, by keyboard and by form, in a real browser."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import product
from urllib.parse import urlencode

import httpx
import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import SCHEMES, Browse, LookAt, seen_as
from tests.browser.serving import Site

from toolablate.analysis.codebooks.codebook import built_in
from toolablate.analysis.selection import Selection
from toolablate.traces.records import Label
from toolablate.traces.store import Recorder, Store, verify

Serve = Callable[..., Site]
HOSTILE = '<script>window.owned = 1</script>"><img src=x onerror="window.owned=1">\u202e\x1b[31m'


def _labels(site: Site) -> tuple[Label, ...]:
    with Store(site.view.store) as store:
        return store.labels()


def _wrong(site: Site, *, blamed: bool = True) -> str:
    """A trial to which something is attributed, or one that is right."""
    with Store(site.view.store) as store:
        for each in store.summaries():
            row = site.view.index.trial(each.trial)
            if blamed and row.mechanism not in (None, "unknown"):
                return each.trial
            if not blamed and each.verdict == "correct":
                return each.trial
    raise AssertionError("no such trial")


def _send(site: Site, trial: str, *, origin: str | None = None, **fields: str) -> httpx.Response:
    return httpx.post(
        f"{site.base}/trial/{trial}/label",
        content=urlencode(fields),
        headers={"Cookie": site.cookie, "Origin": site.base if origin is None else origin}
        | {"Content-Type": "application/x-www-form-urlencoded"},
    )


def _saved(page: Page, count: int) -> None:
    expect(page.locator(".label-history li")).to_have_count(count)
    page.wait_for_load_state()  # the keys of the new page are there only then


def test_y_confirms_what_the_analysis_says(serve: Serve, browse: Browse) -> None:
    site = serve()
    trial = _wrong(site)
    page = browse(site, f"/trial/{trial}")
    page.keyboard.press("y")
    _saved(page, 1)
    (label,) = _labels(site)
    row = site.view.index.trial(trial)
    assert (label.trial, label.person, label.mechanism) == (trial, "Ada", row.mechanism)
    assert (label.attributed, label.method, label.blind) == (row.mechanism, row.method, False)
    assert abs((datetime.now(UTC) - label.at).total_seconds()) < 600
    assert "Ada" in page.locator(".label-history").inner_text()
    assert row.label == label.mechanism, "the tables know it at once"
    assert verify(site.view.store).ok


def test_a_type_of_error_is_kept_and_shown(serve: Serve, browse: Browse) -> None:
    site = serve()
    trial = _wrong(site)
    page = browse(site, f"/trial/{trial}")
    page.keyboard.press("c")
    page.keyboard.press("2")
    page.locator('input[name=error_type][value="knowledge"]').check()
    page.keyboard.press("Enter")
    _saved(page, 1)
    assert [label.error_type for label in _labels(site)] == ["knowledge"]
    assert "missing or wrong knowledge" in page.locator(".label-history").inner_text()
    assert _send(site, trial, mechanism="lock_in", error_type="nonsense").status_code == 400


def test_another_mechanism_is_chosen_with_a_note_by_keyboard(serve: Serve, browse: Browse) -> None:
    site = serve()
    trial = _wrong(site)
    page = browse(site, f"/trial/{trial}")
    assert not page.locator("[data-choice]").is_visible()
    page.keyboard.press("c")
    page.keyboard.press("2")
    assert not page.locator("[data-distractions]").is_visible(), "it is asked where something distracted"
    page.keyboard.press("1")
    page.keyboard.press("d")
    page.keyboard.press("n")
    page.keyboard.type("y c 2: keys are letters here")
    page.keyboard.press("Enter")
    _saved(page, 1)
    (label,) = _labels(site)
    assert (label.mechanism, label.distraction) == ("retrieval_distraction", "over_engineering")
    assert label.note == "y c 2: keys are letters here"


def test_escape_leaves_without_a_word(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}")
    page.keyboard.press("c")
    page.keyboard.press("l")
    page.keyboard.press("Escape")
    assert not page.locator("[data-choice]").is_visible()
    assert _labels(site) == ()


def test_corrections_and_withdrawals_keep_what_was_said_before(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}")
    page.keyboard.press("w")
    page.keyboard.press("y")
    _saved(page, 1)
    page.keyboard.press("c")
    page.keyboard.press("7")
    page.keyboard.press("Enter")
    _saved(page, 2)
    page.keyboard.press("w")
    _saved(page, 3)
    assert [each.mechanism for each in _labels(site)][1:] == ["availability", None]
    assert "withdrew what they had said" in page.locator(".label-history").inner_text()
    assert page.get_by_role("button", name="Withdraw").count() == 0


def test_a_form_does_without_scripts(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}", scripts=False)
    page.get_by_label("budget").check()
    page.locator("textarea[name=note]").fill("two\nlines")
    page.get_by_label("Went wrong at event").select_option("1")
    page.locator("[data-choice] button[value=save]").click()
    _saved(page, 1)
    (label,) = _labels(site)
    assert (label.mechanism, label.note, label.turned_at) == ("budget", "two\nlines", 1), "and no confirmation"


def test_who_labels_many_goes_on_to_the_next(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}")
    onward = page.locator("[data-onward]")
    onward.check()
    following = page.locator("input[name=following]").get_attribute("value") or ""
    page.keyboard.press("y")
    page.wait_for_url(f"**{following}")
    assert len(_labels(site)) == 1


def test_who_labels_goes_on_among_the_trials_that_were_chosen(serve: Serve, browse: Browse) -> None:
    site = serve()
    page = browse(site, f"/trial/{_wrong(site)}?ending=wrong")
    before = page.locator("[rel=next]").get_attribute("href")
    number, total = site.view.index.place(_wrong(site), Selection(endings=("wrong",))) or (0, 0)
    assert page.locator(".trial-place").inner_text() == f"{number} of {total}"
    assert 0 < number < total
    page.keyboard.press("y")
    _saved(page, 1)
    assert page.url.endswith("?ending=wrong#label")
    assert page.locator("[rel=next]").get_attribute("href") == before


def test_what_is_hidden_stays_hidden_until_something_is_said(serve: Serve, browse: Browse) -> None:
    site = serve(blind=True)
    trial = _wrong(site)
    mechanism = site.view.index.trial(trial).mechanism
    with Recorder(site.view.store) as recorder:
        given = {"trial": trial, "person": "Grace", "at": datetime.now(UTC), "mechanism": mechanism, "note": "look!"}
        recorder.label(Label.model_validate(given))
    page = browse(site, f"/trial/{trial}")
    assert "is hidden until you save" in page.locator("#label").inner_text()
    assert page.locator("[data-confirm], input[name=attributed], .label-history li").count() == 0
    assert "look!" not in page.content()
    page.keyboard.press("c")
    page.keyboard.press("u")
    page.keyboard.press("Enter")
    _saved(page, 2)
    label = _labels(site)[-1]
    assert (label.mechanism, label.attributed, label.blind) == ("unknown", mechanism, True)
    assert "Attribution:" in page.locator("#label").inner_text()


def test_who_has_labelled_one_trial_is_told_nothing_of_others_of_its_question(serve: Serve) -> None:
    site = serve(blind=True)
    trial = _wrong(site)
    others = site.view.index.question(site.view.index.trial(trial).question)
    assert sum(each.mechanism is not None for glance in others.glances for each in glance.trials) > 1
    assert _send(site, trial, action="save", mechanism="unknown").status_code == 303
    said = httpx.get(f"{site.base}/trial/{trial}", headers={"Cookie": site.cookie}).text
    beside = said[said.index('class="others"') : said.index("Versions and settings")]
    named = {code.shown for code in built_in("mechanisms").codes}
    assert "wrong" in beside
    assert not any(name in beside for name in named)


def test_a_label_given_after_the_attribution_was_seen_is_not_blind(serve: Serve) -> None:
    site = serve(blind=True)
    trial = _wrong(site)
    for mechanism in ("unknown", "sampling_noise"):  # the second from a tab that was opened before the first
        assert _send(site, trial, action="save", mechanism=mechanism, blind="yes").status_code == 303
    seen = site.view.index.trial(trial).mechanism
    assert [(each.blind, each.attributed) for each in _labels(site)] == [(True, seen), (False, seen)]


def test_a_store_that_cannot_be_written_takes_no_label(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    site = serve()
    trial = _wrong(site)
    page = f"{site.base}/trial/{trial}"
    assert "data-label-panel" in httpx.get(page, headers={"Cookie": site.cookie}).text
    can = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and can(path, mode))
    said = httpx.get(page, headers={"Cookie": site.cookie}).text
    assert "data-label-panel" not in said
    assert "The store cannot be written here" in said
    assert _send(site, trial, action="save", mechanism="sampling_noise").status_code == 400


def test_nothing_is_kept_of_what_makes_no_label(serve: Serve) -> None:
    site = serve()
    wrong, right = _wrong(site), _wrong(site, blamed=False)
    assert _send(site, wrong, action="save").status_code == 400
    assert _send(site, wrong, action="save", mechanism="magic").status_code == 400
    assert _send(site, wrong, action="save", mechanism="sampling_noise", note="x" * 20_001).status_code == 400
    assert _send(site, wrong, action="save", mechanism="sampling_noise", note="x" * 300_000).status_code == 413
    assert _send(site, right, action="save", mechanism="sampling_noise").status_code == 400
    assert _send(site, wrong, action="save", mechanism="sampling_noise", turned_at="abc").status_code == 400
    assert _send(site, wrong, action="save", mechanism="sampling_noise", turned_at="999").status_code == 400
    assert _send(site, wrong, **{f"field{number}": "" for number in range(60)}).status_code == 400
    assert _send(site, "zz", action="save", mechanism="sampling_noise").status_code == 400
    assert _send(site, wrong, origin="http://evil.example", mechanism="sampling_noise").status_code == 403
    assert _send(site, wrong, origin="null", mechanism="sampling_noise").status_code == 403
    assert _labels(site) == ()


def test_nobody_is_led_to_another_site(serve: Serve) -> None:
    site = serve()
    trial = _wrong(site)
    for elsewhere in ("//evil.example/trial/", "https://evil.example", "/\\evil.example"):
        sent = _send(site, trial, action="save", mechanism="sampling_noise", onward="yes", following=elsewhere)
        assert sent.headers["location"] == f"/trial/{trial}#label"


def test_foreign_words_do_nothing(serve: Serve, browse: Browse) -> None:
    site = serve()
    trial = _wrong(site)
    with Recorder(site.view.store) as recorder:
        given = {
            "trial": trial,
            "person": HOSTILE,
            "at": datetime.now(UTC),
            "mechanism": "sampling_noise",
            "note": HOSTILE * 50,
        }
        recorder.label(Label.model_validate(given))
    site.view.index.put_label(_labels(site)[0])
    for path in (f"/trial/{trial}", "/labels", "/labels?person=" + "%3Cscript%3E&which=none&page=-3"):
        page = browse(site, path)
        assert page.evaluate("window.owned") is None
        assert page.locator("main script, main img[src='x']").count() == 0
    assert "U+202E" in browse(site, "/labels").locator(".label-table").inner_text()


def _said(site: Site, count: int = 24) -> None:
    """Two people, one of whom often says something else than the attribution."""
    with Store(site.view.store) as store:
        rows = [site.view.index.trial(each.trial) for each in store.summaries()]
    wrong = [row for row in rows if row.mechanism is not None][:count]
    with Recorder(site.view.store) as recorder:
        for number, row in enumerate(wrong):
            for person, own in (("Ada", row.mechanism), ("Grace", "sampling_noise" if number % 3 else row.mechanism)):
                told = {"attributed": row.mechanism, "method": row.method, "mechanism": own, "note": f"note {number}"}
                label = Label.model_validate({"trial": row.trial, "person": person, "at": datetime.now(UTC), **told})
                recorder.label(label)
                site.view.index.put_label(label)


def test_by_keyboard_one_comes_to_the_next_failure_and_to_what_was_said(serve: Serve, browse: Browse) -> None:
    site = serve()
    said = _wrong(site)
    assert _send(site, said, mechanism="sampling_noise", action="save").status_code == 303
    page = browse(site, "/labels")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Label the next one")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/trial/{said}#label")


def test_the_page_of_labels_is_what_the_store_says(serve: Serve, browse: Browse) -> None:
    site = serve()
    assert "No labels yet" in browse(site, "/labels").locator("main").inner_text()
    _said(site)
    labels = _labels(site)
    page = browse(site, "/labels")
    rows = page.locator(".label-table tbody tr")
    assert rows.count() == len(labels)
    assert labels[-1].trial[:10] in rows.first.inner_text()
    apart = page.locator("summary", has_text="differ").all_inner_texts()
    assert "none differs" in apart, "Ada says what is attributed"
    assert not [each for each in apart if each.startswith(("0", "1 differ ")) or each == "1 differ"]
    page.select_option("select[name=person]", "Grace")
    page.select_option("select[name=which]", "disagree")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**which=disagree")
    differ = [each for each in labels if each.person == "Grace" and each.mechanism != each.attributed]
    assert rows.count() == len(differ)
    page.locator(".label-table tbody a").first.click()
    page.wait_for_url(f"**/trial/{differ[-1].trial}#label")


def test_it_fits_and_looks_as_it_should(serve: Serve, browse: Browse, look_at: LookAt) -> None:
    site = serve()
    _said(site)
    for address, name in (("/labels", "labels"), (f"/trial/{_wrong(site)}", "label-panel")):
        page = browse(site, address)
        if name == "label-panel":
            page.keyboard.press("c")
        for width, scheme in product((1280, 400), SCHEMES):
            seen_as(page, width, scheme)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, name
            look_at(page, f"{name}-{width}-{scheme}")
