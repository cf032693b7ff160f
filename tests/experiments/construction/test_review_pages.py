"""Pages of a review over HTTP: who sees what, what is kept, what is inert."""

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.browser.serving import Site
from tests.experiments.construction.reviewing import Person, reviewing
from tests.experiments.construction.test_reading import KEPT, Reader, captured, good
from tests.experiments.construction.test_statements import pipeline_of as statements_of
from tests.experiments.construction.writing import ALONE, PAIRS, Writer, assessed, filtered, funnel, pipeline_of, run
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.construction import review_desk
from toolablate.experiments.construction.kinds import load_items
from toolablate.experiments.construction.review import NO_SIDES
from toolablate.experiments.construction.review_desk import Desk
from toolablate.experiments.construction.workbench import Decision, Workbench
from toolablate.viewer.reviewing import pages

HOSTILE = "<script>alert(1)</script></textarea><img src=x onerror=alert(2)> \u202eevil\u202c " + "long " * 30_000


@pytest.fixture
def path(chat_server: ChatServer, tmp_path: Path) -> Path:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server)
    assert funnel(path)["review"]["waiting"] == {"review": 4}
    return path


@pytest.fixture
def site(path: Path) -> Iterator[Site]:
    with reviewing(path) as served:
        yield served


def decisions(path: Path) -> list[Decision]:
    with Workbench(path.parent / "runs" / "questions.sqlite", write=False) as bench:
        return bench.decisions()


def verdicts(person: Person, alias: str) -> list[str]:
    """Items, accepted, mended and rejected of the reviewer, as this person sees them."""
    page = person.client.get("/").text
    (row,) = [each for each in page.split("<tr>") if f'<th scope="row"><bdi>{alias}<' in each]
    return re.findall(r'class="number">([^<]*)<', row)[:4]


def test_two_review_blind_and_a_third_decides_without_their_names(site: Site, path: Path) -> None:
    mabel, bob = Person(site, "mabel", "Mabel of Delft"), Person(site, name="Bob")
    first, second = mabel.next(), ""
    assert mabel.says(first, "accept").status_code == 200
    assert bob.next() == first
    assert "mabel" not in bob.client.get(first).text
    assert verdicts(mabel, "mabel") == ["1", "1", "0", "0"]
    assert verdicts(bob, "mabel") == ["1", "–", "–", "–"], "what others said would tell the second what the first did"
    answer = bob.says(first, "reject", **{"for": "too easy", "reason": "known to all"})
    assert "Kept: rejected." in answer.text
    second = mabel.next()
    assert second != first
    mended = "Which additive keeps a cell stable,\r\nwhatever the volts?"
    for person in (mabel, bob):
        assert "Kept: mended." in person.says(second, "accept", text_question=mended, seconds="12.5").text
    said = decisions(path)
    assert [(each.reviewer, each.verdict) for each in said] == [
        ("mabel", "accept"),
        ("R1", "reject"),
        ("mabel", "mend"),
        ("R1", "mend"),
    ]
    assert said[1].reason == "too easy: known to all"
    assert said[2].content == {"question": mended.replace("\r\n", "\n")}
    assert said[2].seconds == 12.5
    assert said[0].seconds is not None
    assert "Decide the next one" not in mabel.client.get("/").text
    cleo = Person(site, "cleo")
    assert cleo.next("Decide") == first
    page = cleo.client.get(first).text
    assert "too easy: known to all" in page
    assert "mabel" not in page.partition("<main")[2]
    assert "R1" not in page.partition("<main")[2]
    rejecting = "a" if page.index("rejected it") < page.index("accepted it") else "b"
    assert cleo.says(first, f"side-{rejecting}").status_code == 200
    assert decisions(path)[-1].verdict == "reject"
    overview = cleo.client.get("/").text
    assert "Mabel of Delft" not in overview
    assert "Mabel of Delft" not in run("decide", path).output
    found = funnel(path)["review"]
    assert (found["kept"], found["dropped"], found["waiting"]) == (1, {"rejected": 1}, {"review": 2})


def test_a_side_that_has_changed_since_it_was_shown_is_not_taken_but_shown_anew(site: Site, path: Path) -> None:
    ann, bob, cleo = (Person(site, alias) for alias in ("ann", "bob", "cleo"))
    item = ann.next()
    ann.says(item, "accept")
    bob.says(item, "reject", reason="two are right")
    shown = cleo.client.get(item).text
    accepting = "a" if shown.index("accepted it") < shown.index("rejected it") else "b"
    form = {**cleo.form(item), "text-domain": "Physics", "action": f"side-{accepting}"}
    ann.says(item, "accept", text_question="Which additive, quite another one, keeps it?")
    answer = cleo.post(item, **form)
    assert answer.status_code == 409
    assert "have decided otherwise" in answer.text
    assert "quite another one" in re.sub("</?(ins|del)>", "", answer.text)
    assert "Physics</textarea>" in answer.text, "what she wrote is on the page"
    assert [each.reviewer for each in decisions(path)] == ["ann", "bob", "ann"]
    bob.says(item, "accept", text_question="Which additive, quite another one, keeps it?")
    agreed = cleo.post(item, **form)
    assert (agreed.status_code, "have come to agree" in agreed.text) == (409, True)
    assert "cleo" not in [each.reviewer for each in decisions(path)]


def test_what_a_third_decided_applies_while_the_two_say_what_it_was_decided_on(site: Site, path: Path) -> None:
    ann, ben, cleo, dan = (Person(site, alias) for alias in ("ann", "ben", "cleo", "dan"))
    item = ann.next()
    ann.says(item, "reject", reason="two are right")
    ben.says(item, "accept")
    assert "no longer applies" not in cleo.says(item, "accept").text
    assert funnel(path)["review"]["kept"] == 1
    mended = "Which additive, quite another one, keeps it?"
    late = ben.says(item, "accept", text_question=mended)
    assert "Kept: mended." in late.text
    assert "What a third had decided on it no longer applies: it waits for a third again" in late.text
    found = funnel(path)["review"]
    assert (found["kept"], found["waiting"]) == (0, {"review": 3, "adjudication": 1})
    (told,) = [each for each in map(json.loads, run("decide", path).output.splitlines()) if each["item"] in item]
    assert told["decided_by"] == ["ann", "ben"]
    assert "no longer applies" not in ben.says(item, "accept", text_question=mended).text
    assert cleo.next("Decide") == item
    assert dan.next("Decide") == item
    shown = dan.client.get(item).text
    dan.says(item, "side-a" if shown.index("mended it") < shown.index("rejected it") else "side-b")
    assert funnel(path)["review"]["kept"] == 1
    assert "no longer applies" in ben.says(item, "reject", reason="unclear").text
    found = funnel(path)["review"]
    assert (found["dropped"], found["waiting"]) == ({"rejected": 1}, {"review": 3})


def test_a_third_from_a_file_decides_whatever_the_two_say_later(site: Site, path: Path) -> None:
    ann, ben = Person(site, "ann"), Person(site, "ben")
    item = ann.next()
    ann.says(item, "reject", reason="two are right")
    ben.says(item, "accept")
    (told,) = [each for each in map(json.loads, run("decide", path).output.splitlines()) if each["item"] in item]
    row = {"item": told["item"], "seen": told["seen"], "reviewer": "file", "verdict": "accept"}
    (path.parent / "d.jsonl").write_text(json.dumps(row), encoding="utf-8")
    run("decide", path, path.parent / "d.jsonl")
    assert "no longer applies" not in ben.says(item, "accept", text_question="Which additive keeps it?").text
    assert funnel(path)["review"]["kept"] == 1


def test_who_came_to_decide_what_is_agreed_by_now_goes_on_with_the_next(site: Site, path: Path) -> None:
    ann, ben, cleo = (Person(site, alias) for alias in ("ann", "ben", "cleo"))
    for _ in range(2):
        item = ann.next()
        ann.says(item, "accept")
        ben.says(item, "reject", reason="unclear")
    form = cleo.form(item)
    ben.says(item, "accept")
    answer = cleo.post(item, **{**form, "action": "reject", "reason": "What I had written"})
    assert (answer.status_code, "have come to agree" in answer.text) == (409, True)
    assert "0 decided, 1 left" in answer.text
    assert 'href="/next?task=adjudication' in answer.text
    assert "What I had written" in answer.text


@pytest.mark.parametrize("where", ["another request", "another process"])
def test_who_decides_blind_while_another_does_is_shown_what_they_differ_on(
    where: str, site: Site, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other's decision was kept between the look and the lock; in another process, between lock and transaction."""
    ann, ben, cleo = (Person(site, alias) for alias in ("ann", "ben", "cleo"))
    item = ann.next()
    ann.says(item, "accept")
    (first,) = decisions(path)
    forms = {person: person.form(item) for person in (ben, cleo)}
    others = [
        {
            "another request": lambda: ben.post(item, **{**forms[ben], "action": "reject", "reason": "two are right"}),
            "another process": lambda: decide_beside(path, first),
        }[where]
    ]
    module, name = (pages, "_seconds") if where == "another request" else (review_desk, "decision_of")
    own = getattr(module, name)

    def meanwhile(*given: Any) -> Any:
        while others:
            others.pop()()
        return own(*given)

    monkeypatch.setattr(module, name, meanwhile)
    answer = cleo.post(item, **{**forms[cleo], "action": "reject", "reason": "too easy"})
    assert (answer.status_code, "Meanwhile others have decided, and differ" in answer.text) == (409, True)
    assert "too easy" in answer.text, "what she wrote is on the page"
    assert [(each.reviewer, each.verdict) for each in decisions(path)] == [("ann", "accept"), ("ben", "reject")]
    assert funnel(path)["review"]["waiting"] == {"review": 3, "adjudication": 1}


def decide_beside(path: Path, first: Decision) -> None:
    """Ben rejects."""
    with Workbench(path.parent / "runs" / "questions.sqlite", beside=True) as bench:
        bench.decide([first.model_copy(update={"reviewer": "ben", "verdict": "reject", "reason": "two are right"})])


def test_who_decided_blind_on_what_two_agreed_on_has_not_decided_between_them(site: Site, path: Path) -> None:
    ann, ben, cleo = (Person(site, alias) for alias in ("ann", "ben", "cleo"))
    item = ann.next()
    form = cleo.form(item)
    for person in (ann, ben):
        person.says(item, "accept")
    assert cleo.post(item, **{**form, "action": "reject", "reason": "too easy"}).status_code == 200
    ben.says(item, "accept", text_question="Which additive, quite another one, keeps it?")
    assert funnel(path)["review"]["waiting"] == {"review": 3, "adjudication": 1}
    assert cleo.next("Decide") == item


def test_where_a_mend_falls_who_decided_between_two_is_no_reviewer(site: Site, path: Path) -> None:
    ann, ben, cleo, dan = (Person(site, alias) for alias in ("ann", "ben", "cleo", "dan"))
    item = ann.next()
    ann.says(item, "accept", text_question="Which additive that Zebulon Krux names keeps a cell stable?")
    ben.says(item, "reject", reason="unclear")
    form = cleo.form(item)
    cleo.says(item, "accept")
    pairs = path.parent / "pairs.jsonl"
    rows = [{**json.loads(line), "names": ["Zebulon Krux"]} for line in pairs.read_text(encoding="utf-8").splitlines()]
    pairs.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert funnel(path)["review"]["waiting"] == {"review": 4}
    (told,) = [each for each in map(json.loads, run("decide", path).output.splitlines()) if each["item"] in item]
    assert (told["waits_for"], told["decided_by"]) == ("review", ["ben"])
    # A page may be of before for nine times as long as the last look took.
    site.view.desk.look()
    # She has read what both said.
    assert "by others: you have read what was said of it" in cleo.client.get(item).text
    assert "others have to review it" in cleo.post(item, **{**form, "sides": NO_SIDES, "action": "accept"}).text
    for _ in range(3):
        cleo.says(cleo.next(), "accept")
    assert "Review the next one" not in cleo.client.get("/").text
    dan.says(item, "accept")
    assert funnel(path)["review"]["waiting"] == {"review": 3, "adjudication": 1}
    # The card counts as the pages do.
    found = json.loads(run("status", path, "--json").output)
    with Workbench(path.parent / "runs" / "questions.sqlite", beside=True) as bench:
        shown = Desk(path, bench).look()
    assert found["agreement"] == json.loads(json.dumps(asdict(shown.agreement)))
    assert (found["agreement"]["items"], found["agreement"]["people"]) == (1, 2)
    assert {each["alias"]: each["items"] for each in found["reviewers"]} == {"ben": 1, "cleo": 4, "dan": 1}


def test_a_decision_is_kept_without_a_look_at_those_on_other_items(
    site: Site, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 21,000 statements each click read, and checked, 21,000 decisions, for seconds."""
    ann, ben = Person(site, "ann"), Person(site, "ben")
    for _ in range(3):
        item = ann.next()
        ann.says(item, "accept", text_question=f"Which additive keeps it, {item[-8:]}?")
    item, read, checked = ann.next(), list[str](), list[str]()
    ann.says(item, "accept", text_question="Which additive keeps the fourth?")
    form = ben.form(item)
    desk, own, faults = site.view.desk, Decision.from_json, site.view.desk.look().reviewed.faults
    monkeypatch.setattr(Decision, "from_json", lambda text: read.append(text) or own(text))

    def counted(content: Any) -> Any:
        checked.append(content["url"])
        return faults(content)

    desk._kept = replace(
        kept := desk.look(), review=replace(kept.review, reviewed=replace(kept.reviewed, faults=counted))
    )
    assert "Kept: accepted." in ben.post(item, **{**form, "action": "accept"}).text
    # The one that was just made, once, whatever is shown of it.
    assert len(read) == 1
    assert len(set(checked)) == 1
    assert funnel(path)["review"]["waiting"] == {"review": 3, "adjudication": 1}


def test_where_no_item_waits_at_the_last_review_a_changed_mind_goes_through_no_stage(
    site: Site, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, read = site.view.desk, list[object]()
    now = desk.look()
    said = [
        {"item": item, "seen": now.seen[item], "reviewer": who, "verdict": "accept", "sides": NO_SIDES}
        for item in now.contents
        for who in ("ann", "ben")
    ]
    for row in said:
        desk.decide(row)
    monkeypatch.setattr(review_desk, "load_items", lambda pipeline: read.append(pipeline) or load_items(pipeline))
    desk.decide({**said[0], "seconds": 7})
    assert (desk.look().waiting, read) == ({}, [])
    # What others say meanwhile is seen still.
    with Workbench(path.parent / "runs" / "questions.sqlite", beside=True) as bench:
        bench.decide([Decision.model_validate({**said[1], "verdict": "reject", "reason": "unclear"})])
    assert list(desk.look().waiting.values()) == ["adjudication"]
    assert len(read) == 1


def test_of_institutions_the_card_has_counts_alone(site: Site, path: Path) -> None:
    mabel = Person(site, "mabel", institution="company")
    assert "<option selected>" not in mabel.page.text
    people = [mabel, Person(site, "bob", institution="company"), Person(site, "cleo", institution="Acme Ltd")]
    assert people.pop().page.status_code == 400, "a group, and no name"
    for person in people:
        person.says(person.next(), "accept")
    found = json.loads(run("status", path, "--json").stdout)
    assert found["institutions"] == {"company": 2}
    assert "company" not in json.dumps(found["reviewers"])
    run(path)
    card = (path.parent / "published" / "card.md").read_text(encoding="utf-8")
    assert "Institutions: company 2." in card
    assert "company |" not in card
    assert "company" not in (path.parent / "published" / "questions.jsonl").read_text(encoding="utf-8")


def test_one_person_in_two_browsers_is_no_second_reviewer(site: Site, path: Path) -> None:
    first = Person(site, name="Eva Long")
    again = Person(site, name="eva  long", field="Chemistry")
    assert again.page.status_code == 400
    assert "Eva Long is R1: choose R1 if this is you, or add something that tells you apart." in again.page.text
    assert 'value="eva  long"' in again.page.text
    assert 'value="Chemistry"' in again.page.text, "nothing of what was written is lost"
    again.post("/reviewer", known="R1")
    item = first.next()
    for person in (first, again):
        person.says(item, "accept")
    assert {each.reviewer for each in decisions(path)} == {"R1"}
    assert funnel(path)["review"]["waiting"] == {"review": 4}


def test_the_card_lists_reviewers_by_alias_with_field_and_degree(site: Site, path: Path) -> None:
    mabel = Person(site, "mabel", "Mabel of Delft", field="Electro|chemistry", degree="PhD")
    bob = Person(site, name="Bob of Leiden")
    for seconds in ("10", "20", "60"):
        mabel.says(mabel.next(), "accept", seconds=seconds)
    bob.says(bob.next(), "accept", seconds="31")
    assert "<bdi>PhD</bdi>" in bob.client.get("/").text
    row = json.loads(run("decide", path).output.splitlines()[0])
    decision = {"item": row["item"], "seen": row["seen"], "reviewer": "file", "verdict": "accept"}
    (path.parent / "d.jsonl").write_text(json.dumps(decision), encoding="utf-8")
    run("decide", path, path.parent / "d.jsonl")
    run(path)
    card = (path.parent / "published" / "card.md").read_text(encoding="utf-8")
    table = card.partition("## Reviewers")[2].partition("##")[0]
    assert [line for line in table.splitlines() if line][2:] == [
        "| file |  |  | 1 |  |",
        "| mabel | Electro\\|chemistry | PhD | 3 | 20 |",
        "| R1 |  |  | 1 | 31 |",
    ]
    said = run("status", path, "--json").output
    assert json.loads(said)["reviewers"][1]["degree"] == "PhD"
    assert "Delft" not in card + said
    assert "Leiden" not in card + said


def test_while_any_item_waits_nobody_sees_how_far_people_agree(site: Site, path: Path) -> None:
    """Not who has decided on all either: they can go back, and change a word until the figures say what others said."""
    mabel, bob = Person(site, "mabel"), Person(site, "bob")
    hidden = ("Same verdict", "Cohen", "<dt>Decided", "Wait for one more")

    def shown(person: Person) -> list[str]:
        page = person.client.get("/").text
        assert ("How far people agree stands here when no item waits." in page) == (hidden[0] not in page)
        return [each for each in hidden if each in page]

    for _ in range(4):
        mabel.says(mabel.next(), "accept")
    for verdict in ("accept", "reject", "accept", "accept"):
        bob.says(bob.next(), verdict, reason="why not")
        assert shown(mabel) == shown(bob) == []
    assert "Nothing waits for you, but some items wait for other people." in bob.client.get("/").text
    (differing,) = (each.item for each in decisions(path) if each.verdict == "reject")
    bob.says(f"/item/{differing}", "accept")
    assert shown(mabel) == shown(bob) == [*hidden]
    assert "<dt>Same verdict</dt><dd>75%" in bob.client.get("/").text, "a later word counts for the outcome alone"


def test_who_decided_what_on_an_item_is_shown_when_no_item_waits(site: Site, path: Path) -> None:
    ann, bob = Person(site, "ann"), Person(site, "bob")
    item = ann.next()

    def history(person: Person) -> list[tuple[str, str]]:
        section = person.client.get(item).text.partition('id="history"')[2]
        return re.findall(r"<td>\d{4}-\d\d-\d\d \d\d:\d\d</td>.*?<bdi>(\w+)<.*?<td>([^<]+)<", section)

    ann.says(item, "reject", reason="two are right")
    ann.says(item, "accept")
    assert history(ann) == [("ann", "rejected"), ("ann", "accepted")]
    assert history(bob) == [], "the second person sees nothing of the first"
    bob.says(item, "accept")
    assert history(bob) == [("bob", "accepted")], "others have items to decide yet"
    for person in (ann, bob):
        for _ in range(3):
            person.says(person.next(), "accept")
    assert history(bob) == [("ann", "rejected"), ("ann", "accepted"), ("bob", "accepted")]


def test_a_new_person_has_no_alias_of_decisions_from_a_file(site: Site, path: Path, tmp_path: Path) -> None:
    row = json.loads(run("decide", path).output.splitlines()[0])
    decision = {"item": row["item"], "seen": row["seen"], "reviewer": "R1", "verdict": "accept"}
    (tmp_path / "d.jsonl").write_text(json.dumps(decision), encoding="utf-8")
    run("decide", path, tmp_path / "d.jsonl")
    dora = Person(site, name="Dora")
    assert "R2" in dora.page.text
    assert dora.says(dora.next(), "accept").status_code == 200
    assert [each.reviewer for each in decisions(path)] == ["R1", "R2"]


def test_who_reviewed_for_another_workbench_is_nobody_here(
    site: Site, path: Path, chat_server: ChatServer, tmp_path: Path
) -> None:
    ann = Person(site, "R1", "Ann")
    (cookie,) = [each for each in ann.client.cookies.jar if "reviewer" in each.name]
    (tmp_path / "other").mkdir()
    other = pipeline_of(tmp_path / "other", chat_server)
    assert funnel(other)["review"]["waiting"] == {"review": 4}
    with reviewing(other) as elsewhere:
        Person(elsewhere, "R1", "Another one")
        # Served at the port that the first had: ports are no part of what browsers keep cookies by.
        ann.client.cookies.set(cookie.name.replace(str(site.port), str(elsewhere.port)), "R1")
        ann.client.cookies.set(*elsewhere.cookie.split("="))
        ann.client.base_url, ann.client.headers["Origin"] = httpx.URL(elsewhere.base), elsewhere.base
        assert "Who reviews?" in ann.client.get("/").text
    forged = Person(site, "bob")
    item = forged.next()
    form = forged.form(item)
    forged.client.cookies.set(cookie.name, "nobody")
    assert forged.post(item, **form, action="accept").status_code in (400, 409)
    assert decisions(path) == []


def test_what_cannot_be_kept_is_on_the_page_again(site: Site, path: Path) -> None:
    mabel = Person(site, "mabel")
    item = mabel.next()
    faulty = mabel.says(item, "accept", text_question="Which salt?", text_options_1="", seconds="7.0")
    assert faulty.status_code == 422
    assert "5 to 7, found 4" in faulty.text
    assert ">\nWhich salt?</textarea>" in faulty.text
    assert 'name="seconds" value="7.0"' in faulty.text
    refused = mabel.says(item, "reject")
    assert (refused.status_code, "A rejection needs a reason" in refused.text) == (422, True)
    assert "<details data-reasons open>" in refused.text
    assert mabel.says(item, "praise").status_code == 400
    options = {f"text-options-{n}": "Twice" for n in (1, 3)}
    assert mabel.post(item, **{**mabel.form(item), **options, "action": "accept"}).text.count('<li class="twice">') == 2
    page = mabel.client.get(item).text
    assert "An empty text of a list is left out." in page
    keys = re.findall(r"<dt>(.*?)</dt>", page.partition('<dl class="keys">')[2].partition("</dl>")[0])
    assert len(keys) == len(set(keys)), keys
    assert mabel.says(item, "accept", seen="another").status_code == 409
    assert "Which salt?" in mabel.says(item, "accept", seen="another", text_question="Which salt?").text
    assert mabel.post("/item/none", action="accept").status_code == 409
    assert mabel.client.get("/item/none").status_code == 404
    assert "Somebody has the alias" in Person(site, "MABEL", "another").page.text
    assert "Say an alias" in Person(site).page.text
    assert decisions(path) == []
    # The right option mended, and another marked.
    form = mabel.form(item)
    right = form["right"]
    assert "Kept: mended." in mabel.says(item, "accept", **{f"text-options-{right}": "Another text of the salt"}).text
    assert decisions(path)[-1].content["right"] == "Another text of the salt"
    other = str((int(right) + 1) % 5)
    mabel.says(item, "accept", right=other, **{f"text-options-{right}": form[f"text-options-{right}"]})
    assert decisions(path)[-1].content == {"right": form[f"text-options-{other}"]}


def test_labels_and_wrong_replies_are_fields_and_the_licence_is_seen(site: Site, path: Path) -> None:
    mabel = Person(site, "mabel")
    item = mabel.next()
    page = mabel.client.get(item).text
    source = page.partition('aria-label="Source"')[2].partition("</details>")[0]
    assert "CC BY-SA 4.0" in source
    assert "Batteries" in source
    form = mabel.form(item)
    assert (form["text-domain"], form["text-kind"], form["text-clarity"]) == ("Chemistry", "knowledge", "5")
    assert form["text-wrong_replies-0"].startswith("Plain water")
    assert "one line of words" in mabel.says(item, "accept", text_domain="").text
    mended = {"text-domain": "Physics", "text-kind": "reasoning", "text-clarity": "3", "action": "accept"}
    replies = {"text-wrong_replies-0": "", "text-wrong_replies-2": "Salt"}
    assert "Kept: mended." in mabel.post(item, **{**form, **mended, **replies}).text
    assert decisions(path)[-1].content == {
        "domain": "Physics",
        "kind": "reasoning",
        "clarity": 3,
        "wrong_replies": ["Salt"],
    }
    again = mabel.form(item)
    assert (again["text-domain"], again["text-clarity"], again["text-wrong_replies-0"]) == ("Physics", "3", "Salt")


def test_a_thread_of_many_wrong_replies_is_reviewed(chat_server: ChatServer, tmp_path: Path) -> None:
    many = [f"Wrong for reason {n}" for n in range(80)]
    judged = {**assessed(""), "wrong_replies": [*range(1, 81)]}
    server = Writer(chat_server)
    chat_server.answers(
        lambda asked: (
            reply(json.dumps(judged)) if "- disputed:" in asked["messages"][0]["content"] else server.decide(asked)
        )
    )
    path = pipeline_of(tmp_path, chat_server, [{**PAIRS[0], "replies": many}])
    run(path)
    with reviewing(path) as site:
        mabel = Person(site, "mabel")
        assert "Kept: accepted." in mabel.says(mabel.next(), "accept").text


def test_an_item_that_changed_is_shown_as_it_is_now(site: Site, path: Path) -> None:
    mabel = Person(site, "mabel")
    item = mabel.next()
    form = mabel.form(item)
    path.write_text(f"seed = 7\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    run(path)
    answer = mabel.post(item, **{**form, "action": "accept", "text-question": "What I had written?"})
    assert answer.status_code == 409
    assert "What I had written?" in answer.text
    assert decisions(path) == []
    assert "Kept: accepted." in mabel.says(item, "accept").text


def test_two_browsers_at_once_and_a_build_lose_nothing(site: Site, path: Path) -> None:
    kept: dict[str, int] = {}

    def review(alias: str) -> None:
        person = Person(site, alias)
        for _ in range(4):
            kept[alias] = kept.get(alias, 0) + ("Kept: accepted." in person.says(person.next(), "accept").text)

    people = [threading.Thread(target=review, args=(alias,)) for alias in ("mabel", "bob")]
    for each in people:
        each.start()
    run(path)
    for each in people:
        each.join()
    assert kept == {"mabel": 4, "bob": 4}
    assert len(decisions(path)) == 8
    assert funnel(path)["review"]["kept"] == 4


def test_people_who_begin_at_once_have_items_of_their_own(site: Site) -> None:
    people = [Person(site, alias) for alias in ("mabel", "bob", "cleo")]
    first = [person.client.get("/").text for person in people]
    assert all("Review the next one" in page for page in first)
    (one, two, three) = [person.next() for person in people]
    assert len({one, two, three}) == 3
    mabel, bob, cleo = people
    four = mabel.says(one, "accept").url.path
    assert four not in (one, two, three), "nobody is at the fourth"
    assert bob.says(two, "accept").url.path == one, "one person has decided, and nobody is at it"
    assert cleo.next() == two
    # To each item there is a second person by now, but for what cleo was at before, and the fourth.
    assert mabel.says(four, "accept").url.path == three
    dora = Person(site, "dora")
    assert dora.next() == four


def test_hostile_and_chinese_material_is_inert(chat_server: ChatServer, tmp_path: Path) -> None:
    chinese = {
        "question": "COMPUTE \u202e电池需要多少节才能达到二十四伏?",
        "answer": "十二节",
        "url": "javascript:alert(3)",
    }
    pairs: list[dict[str, Any]] = [{**PAIRS[0], "replies": [HOSTILE], "title": HOSTILE[:90]}, {**PAIRS[1], **chinese}]
    made = '{"question": "需要多少节电池?", "answer": "十二节", "points": ["说十二节"], "explanation": "\\u202e见上</textarea><b>"}'
    Writer(chat_server, {"二十四伏": [json.dumps(filtered("COMPUTE")), made]})
    path = pipeline_of(tmp_path, chat_server, pairs)
    run(path, code=0)
    with reviewing(path) as site:
        mabel = Person(site, '<b>&"')
        while "data-open>Review the next one" in (page := mabel.client.get("/").text):
            item = mabel.next()
            page = mabel.client.get(item).text
            assert "<script>alert" not in page
            assert "<img" not in page
            assert "<b>&" not in page
            assert 'href="javascript' not in page
            assert "U+202E" in page
            assert mabel.says(item, "accept").status_code == 200
        assert "<b>&" not in page
    said = decisions(path)
    assert [each.verdict for each in said] == ["accept"] * 2
    assert {each.reviewer for each in said} == {'<b>&"'}


def test_a_statement_is_reviewed_beside_what_was_changed_in_it(chat_server: ChatServer, tmp_path: Path) -> None:
    path = statements_of(tmp_path, chat_server, "")
    items = tmp_path / "statements.jsonl"
    rows = [json.loads(line) for line in items.read_text(encoding="utf-8").splitlines()]
    items.write_text("\n".join(json.dumps(row | {"boxes": [{"page": 7, "box": [1, 2, 3, 4]}]}) for row in rows))
    assert funnel(path)["review"]["waiting"] == {"review": 3}
    with reviewing(path) as site:
        mabel = Person(site, "mabel")
        item = mabel.next()
        page = mabel.client.get(item).text
        assert "<ins>" in page.partition("From correct to incorrect")[2].partition("</pre>")[0]
        assert "&#34;box&#34;" not in page, "numbers say nothing to people"
        assert "An empty text of a list" not in page, "it has no list"
        form = mabel.form(item)
        assert form["text-strategy"] == "concept"
        assert "is blank" in mabel.says(item, "accept", text_reason=" ").text
        assert "strategy: one of" not in mabel.says(item, "accept", text_strategy="whim").text
        assert "one of concept" in mabel.says(item, "accept", text_strategy="whim").text
        assert "Kept: mended." in mabel.says(item, "accept", text_strategy="logic").text
        assert "You mended it" in mabel.client.get(item).text
        assert mabel.form(item)["text-strategy"] == "logic"
    with Workbench(tmp_path / "runs" / "book.sqlite", write=False) as bench:
        assert bench.decisions()[0].content == {"strategy": "logic"}


def test_a_page_that_was_captured_is_shown(chat_server: ChatServer, tmp_path: Path) -> None:
    Reader(chat_server, ["bare"], {"bare": [KEPT["bare"](good("bare"))]})
    path = captured(tmp_path, chat_server, ["bare"])
    path.write_text(path.read_text(encoding="utf-8").replace(ALONE, ""), encoding="utf-8")
    run(path)
    with reviewing(path) as site:
        mabel = Person(site, "mabel")
        shown = re.findall(r'src="(/tile/\w+\.png)"', mabel.client.get(mabel.next()).text)
        assert len(shown) == 2
        tile = mabel.client.get(shown[0])
        assert tile.headers["content-type"] == "image/png"
        assert tile.content == (tmp_path / "tiles" / shown[0].removeprefix("/tile/")).read_bytes()
        assert mabel.client.get("/tile/other.png").status_code == 404


def test_a_changed_prompt_file_is_noticed_while_pages_are_served(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    prompt = tmp_path / "assess.txt"
    prompt.write_text(run("prompts", "assess").output, encoding="utf-8")
    more = '[review]\nreviewers = 1\n[prompts]\nassess = "assess.txt"\n'
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], more)
    run(path)
    with Workbench(path.parent / "runs" / "questions.sqlite", beside=True) as bench:
        desk = Desk(path, bench)
        assert len(desk.look().contents) == 2
        prompt.write_text(prompt.read_text(encoding="utf-8") + "\nBe strict.\n", encoding="utf-8")
        assert not desk.look().contents, "all is to be assessed anew"
