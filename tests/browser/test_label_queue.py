"""Ten labels with twelve keys, passages, one's own codes, and who decides where people differ."""

from datetime import UTC, datetime
from urllib.parse import urlencode

import httpx
from bench.viewer.tasks import LABEL_KEYS, LABELLING, stopped
from playwright.sync_api import expect
from tests.browser.conftest import Browse
from tests.browser.serving import Site
from tests.browser.test_labels import Serve, _labels, _wrong

from toolablate.analysis.codebooks.codebook import Codebook, built_in
from toolablate.analysis.labels.queue import LabelQueue, QueueItem
from toolablate.traces.records import Label
from toolablate.traces.store import Recorder, Store
from toolablate.viewer.label_session import LabelSession


def _queue(site: Site, count: int) -> LabelQueue:
    with Store(site.view.store) as store:
        wrong = [each.trial for each in store.summaries() if each.value == 0 and each.condition != "none"][:count]
        first = store.runs()[0].id
    items = tuple(QueueItem(trial=trial, inclusion_probability=0.5, people=("Ada",)) for trial in wrong)
    return LabelQueue(store=first, by=("mechanism",), seed=0, items=items)


def test_ten_labels_take_twelve_keys(serve: Serve, browse: Browse) -> None:
    queue = _queue(serve(), 11)
    site = serve(blind=True, session=LabelSession(queue=queue))
    page = browse(site, "/labels")
    assert "labelled 0 of 11 trials of the queue" in page.locator(".label-progress").inner_text()
    assert stopped(LABELLING, page, site.base).keys == 12
    labels = _labels(site)
    assert [each.trial for each in labels] == [item.trial for item in queue.items[:10]]
    names = {code.key: code.name for code in built_in("mechanisms").codes}
    assert [each.mechanism for each in labels] == [names[key] for key in LABEL_KEYS]
    assert {(each.blind, each.inclusion_probability, each.codebook_digest) for each in labels} == {
        (True, 0.5, built_in("mechanisms").digest)
    }
    # Back, which shows one's own label and nothing else; then a passage, and the last one.
    page.keyboard.press("[")
    expect(page.locator(".label-history li")).to_have_count(1)
    assert "The attribution is hidden." in page.locator("#label").inner_text()
    assert page.locator("input[name=attributed], .is-evidence, #why").count() == 0
    page.wait_for_load_state()
    page.evaluate("""() => {
        const text = [...document.querySelectorAll('[data-event="0"] p')].find((each) => each.textContent.startsWith("You are answering"));
        getSelection().selectAllChildren(text);
    }""")
    page.keyboard.press("m")
    passage = page.locator("textarea[name=quote]").input_value()
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    page.wait_for_url(f"**{queue.items[10].trial}**")
    label = _labels(site)[-1]
    assert (label.mechanism, label.turned_at, label.blind) == ("lock_in", 0, True)
    assert len(passage) > 60
    assert label.quote.split() == passage.split()
    page.wait_for_load_state()
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.wait_for_url("**/labels")
    assert len(_labels(site)) == 11, "g l is no label"
    assert "labelled 10 of 11 trials of the queue" in page.locator(".label-progress").inner_text()


def _post(site: Site, trial: str, **fields: str | list[str]) -> httpx.Response:
    return httpx.post(
        f"{site.base}/trial/{trial}/label",
        content=urlencode(fields, doseq=True),
        headers={"Cookie": site.cookie, "Origin": site.base, "Content-Type": "application/x-www-form-urlencoded"},
    )


def _get(site: Site, path: str) -> str:
    return httpx.get(f"{site.base}{path}", headers={"Cookie": site.cookie}).text


def test_where_people_differ_one_decides_without_their_names(serve: Serve) -> None:
    site = serve()
    trial = _wrong(site)
    with Recorder(site.view.store) as recorder:
        for person, mechanism in (("Grace", "budget"), ("Linus", "volume")):
            given = {"trial": trial, "person": person, "at": datetime.now(UTC), "mechanism": mechanism, "blind": True}
            label = Label.model_validate(given | {"note": f"says {mechanism}"})
            recorder.label(label)
            site.view.index.put_label(label)
    address = f"/trial/{trial}?labelling=1&adjudicate=1"
    assert "People differ on 1 trial." in _get(site, "/labels")
    assert address.replace("&", "&amp;") in _get(site, "/labels")
    panel = _get(site, address).partition('id="label"')[2].partition("</section>")[0]
    assert "says budget" in panel
    assert "says volume" in panel
    assert "Grace" not in panel
    assert "Linus" not in panel
    assert 'name="attributed"' not in panel
    assert _post(site, trial, action="save", mechanism="volume", adjudicate="yes").status_code == 303
    label = _labels(site)[-1]
    assert (label.adjudicated, label.blind, label.person) == (True, True, "Ada")
    assert "(<bdi>Grace</bdi>)" in _get(site, address), "after one has decided"
    assert "People differ" not in _get(site, "/labels")
    assert "(decided)" in _get(site, "/labels")


def test_codes_of_ones_own(serve: Serve) -> None:
    codes = [
        {"name": name, "key": key, "definition": f"what {name} is"} for name, key in (("skips", "1"), ("vague", "2"))
    ]
    book = Codebook.model_validate({"name": "mine", "question": "What is it?", "several": True, "codes": codes})
    site = serve(session=LabelSession(codebook=book))
    trial = _wrong(site)
    page = _get(site, f"/trial/{trial}?labelling=1")
    assert "what vague is" in page
    assert page.count('type="checkbox" name="code"') == 2
    assert _post(site, trial, action="save", code=["skips", "vague"], note="both").status_code == 303
    (label,) = _labels(site)
    assert (label.said, label.mechanism, label.book, label.codebook_digest) == (
        ("skips", "vague"),
        None,
        "mine",
        book.digest,
    )
    assert "skips + vague" in _get(site, "/labels")
    assert "labelled 1 of" in _get(site, "/labels")
    assert _post(site, trial, action="save", code="nonsense").status_code == 400
    assert _post(site, trial, action="save", mechanism="budget").status_code == 400
    refused = _post(site, trial, action="save", code="skips", turned_at="0", quote="No event says this.")
    assert (refused.status_code, "does not say this" in refused.text) == (400, True)
    assert _post(site, trial, action="save", code="skips", quote="x").status_code == 400
    assert _post(site, trial, action="withdraw").status_code == 303
    assert _labels(site)[-1].said == ()
