"""The page of one trial in a real browser, against what the store says."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.conftest import Browse, LookAt
from tests.browser.hostile import done
from tests.browser.serving import Site
from tests.traces.samples import begun, conversation, plan, score

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.experiments.attribution.store_report import read_explanation
from toolablate.traces.records import Answer, Message, Usage
from toolablate.traces.store import Recorder, Store


def _wrong(store: Path) -> tuple[str, Explanation]:
    """A trial that replays say something of, with evidence."""
    with Store(store) as opened:
        trials = [each.trial for each in opened.summaries() if each.verdict == "wrong" and each.condition != "none"]
    for trial in trials:
        found = read_explanation(store, trial)
        if isinstance(found, Explanation) and found.explained.attribution and found.explained.attribution.evidence:
            return trial, found
    pytest.fail("no wrong trial of the store has evidence")


def _here(page: Page) -> str:
    return page.evaluate("document.querySelector('.event.is-here')?.id ?? ''")  # type: ignore[no-any-return]


def test_a_page_says_what_the_store_says(replays: Site, browse: Browse) -> None:
    trial, told = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}?raw=1")
    with Store(replays.view.store) as store:
        trace, (scored,) = store.trace(trial), store.scores(trial)
        question = store.question(trace.trial.question)
    assert page.locator("h1").inner_text() == question.id
    verdict = page.locator(".verdict").inner_text()
    assert scored.verdict in verdict
    assert f"answered {', '.join(scored.extracted)} (correct: {', '.join(question.target.letters)})" in verdict  # type: ignore[union-attr]
    assert page.locator(".event").count() == len(trace.events)
    for number, event in enumerate(trace.events):
        card = page.locator(f"#event-{number}")
        said = card.locator("pre").all_text_contents()
        if event.kind == "tool_call":
            assert event.output in said
        if event.kind == "model_call":
            assert not event.reply.message.content or event.reply.message.content in said
            for call in event.reply.message.tool_calls:
                given = json.loads(call.arguments)
                assert (
                    given["code"] in said
                    if "code" in given
                    else any(str(next(iter(given.values()))) in each for each in said)
                )
    assert told.explained.attribution is not None
    marked = [int(each.get_attribute("data-event") or -1) for each in page.locator(".event.is-evidence").all()]
    assert set(told.explained.attribution.evidence) <= set(marked)
    assert "Probability ." in page.locator(".why-first").inner_text()


def test_beliefs_stand_in_a_figure_and_beside_their_events(replays: Site, browse: Browse) -> None:
    trial, told = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}")
    trajectory, steps = told.explained.evidence.trajectory, told.explained.evidence.steps
    assert trajectory is not None
    points = page.locator(".belief svg a")
    assert points.count() == len(trajectory.beliefs)
    for place, belief in enumerate(trajectory.beliefs):
        event = steps[belief.step]
        assert points.nth(place).get_attribute("href") == f"#event-{event}"
        share = f"{belief.right.mean:.2f}".removeprefix("0")
        assert share[:3] in page.locator(f"#event-{event} .mark-belief").inner_text()
    points.nth(1).focus()
    page.keyboard.press("Enter")
    expect(page.locator(".event.is-here")).to_have_id(f"event-{steps[trajectory.beliefs[1].step]}")


def test_keys_walk_through_events_evidence_and_trials(replays: Site, browse: Browse) -> None:
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}#event-0")
    page.keyboard.press("j")
    assert _here(page) == "event-1"
    page.keyboard.press("k")
    assert _here(page) == "event-0"
    page.keyboard.press("e")
    anchors = (page.locator("[data-trial]").get_attribute("data-evidence") or "").split()
    anchor = next((each for each in anchors if int(each.split("-")[1]) > 0), anchors[0])
    assert _here(page) == anchor.removesuffix("-quote")
    following = page.locator("[rel=next]")
    key = "]" if following.count() else "["
    address = page.locator(f"[data-way='{key}']").get_attribute("href") or ""
    page.keyboard.press(key)
    page.wait_for_url(f"**{address}")
    assert trial not in page.url


def test_the_selection_is_leafed_through(replays: Site, browse: Browse) -> None:
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}?ending=wrong&condition=python&condition=search")
    for address in [
        each.get_attribute("href") or ""
        for each in page.locator(".trial-ways [data-way='['], .trial-ways [data-way=']']").all()
    ]:
        assert "ending=wrong&condition=python&condition=search" in address
        identity = address.split("/")[2].partition("?")[0]
        assert replays.view.index.trial(identity).ending == "wrong"


def test_a_replay_leads_to_its_parent_and_is_listed_there(replays: Site, browse: Browse) -> None:
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}")
    page.locator(".replays summary").click()
    marks = page.locator(".replays .mark")
    with Store(replays.view.store) as store:
        assert marks.count() == len(store.resumptions(trial))
    marks.last.click()
    page.wait_for_selector("text=A replay of")
    assert page.locator(".note a").first.inner_text() == f"trial {trial[:10]}"
    assert page.locator(".own-from").count() == 1
    page.locator(".note a").first.click()
    page.wait_for_url(re.compile(trial))


def _long(path: Path) -> str:
    """Writes a store with a trial whose output and replies have two hundred lines; its id."""
    lines = "\n\n".join(f"Step {number}: {number} is not the answer." for number in range(200))
    first, call, second, _ = conversation(1)
    called = call.model_copy(update={"output": f"{lines}\nlast line of the output"})
    reply = second.reply.model_copy(update={"message": Message(role="assistant", content=f"{lines}\n\n\\boxed{{A}}")})
    events = [first, called, second.model_copy(update={"reply": reply}), Answer(at=9.0, text=reply.message.content)]

    async def write() -> str:
        with Recorder(path) as recorder:
            trial = plan(recorder)[1]
            session = await begun(recorder, trial)
            for event in events:
                session.record(event)
            await session.finish("answered", 9.0, Usage())
            await recorder.score([score(trial)])
        return trial.id

    return done(write())


def test_a_reply_is_shown_to_its_last_line_and_an_output_says_that_there_is_more(
    tmp_path: Path, serve: Callable[..., Site], browse: Browse
) -> None:
    trial = _long(tmp_path / "long.sqlite")
    page = browse(serve(tmp_path / "long.sqlite", why=False), f"/trial/{trial}")
    clipped = "pre => pre.scrollHeight > pre.clientHeight + 24"
    for text in page.locator(".panel-assistant .said, .panel-answer .said").all():
        assert not text.evaluate(clipped)
    output = page.locator("#event-1 .panel-tool pre.said")
    assert output.evaluate(clipped)
    assert output.get_attribute("tabindex") == "0"
    page.locator("#event-1").get_by_role("button", name="Show all").click()
    assert not output.evaluate(clipped)
    page.locator("#event-1").get_by_role("button", name="Show less").click()
    assert output.evaluate(clipped)
    page.keyboard.press("x")
    assert not output.evaluate(clipped)
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)


@pytest.mark.parametrize("width", [320, 375, 900])
def test_what_one_is_led_to_begins_below_the_bars(replays: Site, browse: Browse, width: int) -> None:
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}", width=width)
    page.keyboard.press("e")
    expect(page.locator(".event.is-here")).to_be_visible()
    top = "each => each.getBoundingClientRect().top"
    bars = page.locator(".outline").evaluate("each => each.getBoundingClientRect().bottom")
    quote = page.evaluate("location.hash.slice(1)")
    assert page.locator(f"#{quote}").evaluate(top) >= bars


def test_what_is_blind_shows_no_attribution(replayed: Path, serve: Callable[..., Site], browse: Browse) -> None:
    trial, _ = _wrong(replayed)
    page = browse(serve(replayed, blind=True), f"/trial/{trial}")
    assert page.locator(".event").count() > 0
    assert page.locator(".why, .is-evidence, .is-fall, .mark-belief, .replays").count() == 0
    assert 'data-evidence=""' in page.content()


@pytest.mark.first
def test_events_come_when_they_are_wanted(
    long_trial: tuple[Path, str], serve: Callable[..., Site], browse: Browse
) -> None:
    store, trial = long_trial
    site = serve(store, why=False)
    page = browse(site, f"/trial/{trial}")
    assert page.locator(".event").count() < 302
    page.locator("[data-outline] a[data-to='250']").click()
    page.wait_for_selector("#event-250.is-here")
    assert page.url.endswith("#event-250")
    assert page.locator(".event").count() >= 251
    while page.locator("[data-more]").count():
        # It may have gone meanwhile, and a locator would wait for it.
        page.evaluate("document.querySelector('[data-more]')?.scrollIntoView()")
        page.wait_for_timeout(50)
    numbers = [int(each.get_attribute("data-event") or -1) for each in page.locator(".event").all()]
    assert numbers == list(range(302))
    jumped = browse(site, f"/trial/{trial}#event-301")
    jumped.wait_for_selector("#event-301.is-here")


def test_the_outline_stands_still_under_the_pointer(
    long_trial: tuple[Path, str], serve: Callable[..., Site], browse: Browse
) -> None:
    store, trial = long_trial
    page = browse(serve(store, why=False), f"/trial/{trial}")
    outline = page.locator("nav:has([data-outline])")
    outline.hover()
    below = outline.evaluate("each => (each.scrollTop = each.scrollHeight, each.scrollTop)")
    assert below > 0
    page.evaluate("scrollBy(0, 1500)")
    expect(page.locator("[data-outline] [aria-current]")).to_have_count(1)
    assert outline.evaluate("each => each.scrollTop") == below


def test_a_page_without_scripts_leads_on(
    long_trial: tuple[Path, str], serve: Callable[..., Site], browse: Browse
) -> None:
    store, trial = long_trial
    page = browse(serve(store, why=False), f"/trial/{trial}", scripts=False)
    seen = []
    while True:
        seen += [int(each.get_attribute("data-event") or -1) for each in page.locator(".event").all()]
        if not page.locator(".more-events a").count():
            break
        following = page.locator(".more-events a")
        address = following.get_attribute("href") or ""
        following.click()
        page.wait_for_url(f"**{address}")
    assert seen == list(range(302))
    page.locator("[data-outline] a[data-to='5']").click()
    expect(page.locator("#event-5")).to_be_visible()


def test_what_is_not_there_is_told(site: Site, browse: Browse, complaints: list[str]) -> None:
    trial = _some_trial(site.view.store)
    for path, status in (
        ("/trial/ffffffff", 404),
        (f"/trial/{trial}?from=x", 400),
        (f"/trial/{trial}/event/9999/raw?part=output", 404),
        (f"/trial/{trial}?attempt=7", 404),
    ):
        page = browse(site)
        reply = page.goto(site.base + path)
        assert reply is not None
        assert reply.status == status, path
    complaints.clear()


def test_the_beginning_of_an_id_is_enough(site: Site, browse: Browse) -> None:
    trial = _some_trial(site.view.store)
    page = browse(site, f"/trial/{trial[:12]}?ending=wrong")
    assert page.url == f"{site.base}/trial/{trial}?ending=wrong"


def _some_trial(store: Path) -> str:
    with Store(store) as opened:
        return opened.summaries()[0].trial


@pytest.mark.parametrize(("width", "height", "scripts"), [(1440, 900, True), (390, 844, True), (390, 844, False)])
def test_the_trace_is_on_the_first_screen_and_what_is_asked_stays(
    replays: Site, browse: Browse, width: int, height: int, scripts: bool
) -> None:
    """Question, both answers and the verdict in a sentence are above the first event, and stay while events scroll."""
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}", width=width, scripts=scripts)
    page.set_viewport_size({"width": width, "height": height})
    wide = width > 1200
    box = page.locator("#event-0 .said").first.bounding_box()
    assert box is not None
    assert box["y"] + (box["height"] if wide else 0) < height
    said = page.locator(".pinned").inner_text()
    assert ": probability ." in said
    assert page.locator(".why").is_visible() == wide, "beside the events, or folded above them"
    foot = page.locator("main").bounding_box()
    assert foot is not None
    ends = page.evaluate("document.documentElement.scrollHeight")
    assert ends <= max(height, foot["y"] + foot["height"] + 200), "nothing hidden lengthens the page"
    options = page.locator(".pinned-options li")
    assert options.count() > page.locator(".pinned-options li:visible").count() > 0
    page.locator(".event").last.scroll_into_view_if_needed()
    assert page.locator(".pinned").bounding_box()["y"] >= 0  # type: ignore[index]
    page.locator(".pinned-whole > summary").click()
    assert options.count() == page.locator(".pinned-options li:visible").count()
    if not wide:
        page.locator(".side > summary").click()
        expect(page.locator(".why")).to_be_visible()


def test_it_looks_as_it_should(replays: Site, browse: Browse, look_at: LookAt) -> None:
    trial, _ = _wrong(replays.view.store)
    for width in (1280, 400):
        for scheme in ("light", "dark"):
            page = browse(replays, f"/trial/{trial}", width=width, scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
            look_at(page, f"trial-{width}-{scheme}")


def test_replays_are_called_what_they_are_called_above(replays: Site, browse: Browse) -> None:
    trial, _ = _wrong(replays.view.store)
    page = browse(replays, f"/trial/{trial}")
    page.get_by_text("Replays (").click()
    rows = [
        each.all_inner_texts()[1:3] for each in (row.locator("td") for row in page.locator(".replays tbody tr").all())
    ]
    cells = [row.locator("td").all_text_contents() for row in page.locator(".run-otherwise").all()]
    above = {name: f"{came} right" for name, came, *_ in cells}
    again = "with all replies after its first result drawn again"
    for words in ("with no result there", "again, the result as it was", again):
        counts = {came for change, came in rows if change == words}
        assert {came for name, came in above.items() if words.split(", ")[-1] in name} <= counts, words
    assert any(change == again for change, _ in rows)
    assert not any("null" in change or "drawn anew" in change for change, _ in rows)


def test_a_telephone_shows_beliefs_beside_the_steps(replays: Site, browse: Browse) -> None:
    page = browse(replays, f"/trial/{_wrong(replays.view.store)[0]}", width=400)
    page.locator(".side > summary").click()
    assert page.get_by_role("columnheader", name="Right when asked at once after it", exact=True).count() == 1
    assert page.locator(".scroll:has(> .steps)").evaluate("box => box.scrollWidth <= box.clientWidth")


def test_a_telephone_folds_many_other_trials(site: Site, browse: Browse) -> None:
    with Store(site.view.store) as store:
        last = store.summaries()[-1].trial
    page = browse(site, f"/trial/{last}", width=400)
    page.locator(".side > summary").click()
    every, shown = page.locator(".other"), page.locator(".other:visible")
    assert every.count() > 4
    assert shown.count() in (4, 5), "and the one that is here"
    assert page.locator(".other.here").is_visible()
    page.get_by_label(f"all {every.count()}").check()
    assert shown.count() == every.count()
    wide = browse(site, f"/trial/{last}")
    assert wide.locator(".other:visible").count() == every.count()
    assert not wide.locator(".others-all").is_visible()
