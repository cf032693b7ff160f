"""What people decide of items: agreement, mends that are checked, adjudication."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.construction.writing import PAIRS, Writer, filtered, funnel, pipeline_of, run
from tests.servers.chat_server import ChatServer

from toolablate.benchmarks.questions import load_questions
from toolablate.experiments.construction.review import (
    Agreement,
    Reviewed,
    agreement,
    seen_of,
    sides_digest,
    sides_of,
    still_kept,
)
from toolablate.experiments.construction.reviewers import Reviewers
from toolablate.experiments.construction.workbench import Decision, Workbench, content_digest
from toolablate.traces.errors import InputError


def decided(path: Path, *rows: dict[str, Any], code: int = 0) -> str:
    """With what was seen, where a row does not say."""
    file = path.parent / "decisions.jsonl"
    printed = [json.loads(line) for line in run("decide", path).output.splitlines()]
    seen = {each["item"]: each["seen"] for each in printed}
    full = [
        {"seen": next((seen[i] for i in seen if row.get("item") and i.startswith(row["item"])), "x"), **row}
        for row in rows
    ]
    file.write_text("\n".join(map(json.dumps, full)), encoding="utf-8")
    found = run("decide", path, file, code=code)
    assert not code or isinstance(found.exception, InputError), found.exception
    return f"{found.output}{found.exception or ''}"


@pytest.fixture
def waiting(chat_server: ChatServer, tmp_path: Path) -> tuple[Path, list[dict[str, Any]]]:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server)
    assert funnel(path)["review"]["waiting"] == {"review": 4}
    return path, [json.loads(line) for line in run("decide", path).output.splitlines()]


def test_two_people_decide_and_a_third_where_they_differ(waiting: tuple[Path, list[dict[str, Any]]]) -> None:
    path, items = waiting
    ids = [each["item"] for each in items]
    mended = "Which additive, added in small amounts, keeps the cell stable?"
    rows = [
        *({"item": ids[0][:12], "reviewer": who, "verdict": "accept", "seconds": 30} for who in ("ann", "bob")),
        *(
            {"item": ids[1], "reviewer": who, "verdict": "mend", "content": {"question": mended}}
            for who in ("ann", "bob")
        ),
        *({"item": ids[2], "reviewer": who, "verdict": "reject", "reason": "wrong"} for who in ("ann", "bob")),
        {"item": ids[3], "reviewer": "ann", "verdict": "accept"},
        {"item": ids[3], "reviewer": "bob", "verdict": "reject", "reason": "unclear"},
    ]
    rows[0]["seen"] = items[0]["seen"][:6]
    # A row may have fields as they were, too: it is the same mend.
    rows[3]["content"] = {**items[1]["content"], "question": mended}
    assert "8 decisions kept" in decided(path, *rows)
    again = [{**row, "reviewer": f" {row['reviewer'].upper()} "} for row in rows[-2:]]
    assert "2 decisions kept" in decided(path, *again)
    assert "0 decisions kept" in decided(path, *again)
    found = funnel(path)["review"]
    assert (found["kept"], found["dropped"], found["waiting"]) == (2, {"rejected": 1}, {"adjudication": 1})
    decided(path, {"item": ids[3], "reviewer": "cleo", "verdict": "accept"})
    assert funnel(path)["review"]["kept"] == 3
    prompts = [each.prompt for each in load_questions(path.parent / "published" / "questions.jsonl")]
    assert mended in prompts
    assert "Review: 2 people on 4 items, the same verdict on 75%, Cohen's kappa" in run("status", path).output
    assert run("decide", path).output == "", "nothing waits"


def test_what_people_took_out_of_an_item_is_in_no_published_file(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    told = "said Orla Kemp of Delft"
    pairs: list[dict[str, Any]] = [
        {
            **pair,
            "title": f"Swelling, {told}",
            "question": f"{pair['question']} {told}",
            "answer": f"{pair['answer']} {told}",
            "replies": [f"{pair['replies'][0]} {told}", f"{pair['replies'][1]} {told}"],
        }
        for pair in PAIRS[:3]
    ]
    path = pipeline_of(tmp_path, chat_server, pairs, "[review]\nreviewers = 1\n[worlds]\nthreads = true\n")
    run(path)
    rows = [json.loads(line) for line in run("decide", path).output.splitlines()]
    clean, hidden, labelled = rows
    mends = [
        {"question": "Which additive keeps a cell stable?", "wrong_replies": ["Plain water does it"]},
        {"wrong_replies": []},
        {"domain": "Physics"},
    ]
    decided(
        path,
        *(
            {"item": row["item"], "reviewer": "ann", "verdict": "mend", "content": mend}
            for row, mend in zip(rows, mends, strict=True)
        ),
    )
    assert "2 of 3 threads are published in the words of their mended items" in run(path).output
    for name in ("threads.jsonl", "falsified_threads.jsonl", "questions.jsonl", "lpfqa.jsonl"):
        for line in (tmp_path / "published" / name).read_text(encoding="utf-8").splitlines():
            assert told not in line or (labelled["item"][:16] in line and "threads" in name), line
    true, false = (
        {row["id"]: row for row in map(json.loads, (tmp_path / "published" / name).read_text().splitlines())}
        for name in ("threads.jsonl", "falsified_threads.jsonl")
    )
    right = f"Accepted answer: {clean['content']['right']}\n\n{clean['content']['explanation']}"
    assert true[clean["item"]]["text"] == f"Which additive keeps a cell stable?\n\n{right}"
    wrong = "Which additive keeps a cell stable?\n\nAccepted answer: Plain water does it"
    assert (false[clean["item"]]["text"], false[clean["item"]]["falsified"]) == (wrong, True)
    assert true[hidden["item"]] == false[hidden["item"]]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"item": "", "verdict": "accept"}, "is no item"),
        ({"verdict": "praise"}, "verdict"),
        ({"verdict": "reject"}, "a rejection needs one"),
        ({"verdict": "mend", "content": {"stem": "x"}}, "'stem' is no field"),
        ({"verdict": "mend", "content": {}}, "changes nothing"),
        ({"verdict": "mend", "content": {"options": "x"}}, "has to be a list"),
        ({"verdict": "mend", "content": {"options": [1, 2, 3, 4, 5]}}, "has to be a list of texts"),
        ({"verdict": "mend", "content": {"right": "x"}}, "exactly one of the options"),
        ({"verdict": "mend", "content": {"clarity": "4"}}, "has to be a whole number"),
        ({"verdict": "mend", "content": {"clarity": True}}, "has to be a whole number"),
        ({"verdict": "mend", "content": {"clarity": 6}}, "clarity: 1 to 5"),
        ({"verdict": "mend", "content": {"kind": "trivia"}}, "kind: one of knowledge, reasoning, computation"),
        ({"verdict": "mend", "content": {"domain": " "}}, "domain: one line of words"),
        ({"verdict": "mend", "content": {"domain": "of bob@corp.example"}}, "domain: leave out 'bob@corp.example'"),
        ({"verdict": "mend", "content": {"wrong_replies": ["ask z@corp.example"]}}, "wrong_replies: leave out 'z@corp"),
        ({"verdict": "mend", "content": {"wrong_replies": [""]}}, "wrong_replies: one is blank"),
        ({"verdict": "mend", "content": {"wrong_replies": [PAIRS[0]["answer"]]}}, "wrong_replies: one is the answer"),
        (
            {"verdict": "mend", "content": {"question": "x" * 32_001}},
            "question: has 32,001 characters, and may have 32,000",
        ),
        (
            {"verdict": "mend", "content": {"wrong_replies": ["x", "y" * 40_000]}},
            "wrong_replies: has 40,000 characters",
        ),
        ({"verdict": "reject", "reason": "x" * 300_000}, "reason: has 300,000 characters"),
        ({"verdict": "mend", "content": {"question": "\0x"}}, "question: holds the control character U+0000: leave it"),
        ({"verdict": "mend", "content": {"wrong_replies": ["a\x0bb"]}}, "wrong_replies: holds the control character"),
        ({"verdict": "reject", "reason": "no\x07"}, "reason: holds the control character U+0007"),
        ({"verdict": "reject", "reason": " \u200b"}, "a rejection needs one"),
        ({"verdict": "accept", "seconds": True}, "seconds: "),
        ({"verdict": "accept", "seconds": "5"}, "seconds: "),
        ({"verdict": "accept", "content": {"question": "x"}}, "accept changes nothing"),
        ({"verdict": "accept", "seen": "9c1f"}, "is too short"),
        ({}, "the key 'verdict' is missing"),
        ({"verdict": "accept", "reviewer": " "}, "reviewer"),
        ({"verdict": "accept", "reviewer": ""}, "reviewer"),
    ],
)
def test_a_decision_that_cannot_be_kept_is_named(
    row: dict[str, Any], told: str, waiting: tuple[Path, list[dict[str, Any]]]
) -> None:
    path, items = waiting
    assert told in decided(path, {"item": items[0]["item"], "reviewer": "ann", **row}, code=1)
    assert funnel(path)["review"]["waiting"] == {"review": 4}


@pytest.mark.parametrize(
    ("reviewer", "told"),
    [
        ("Bob Carter", "reviewer: Bob Carter is R1: write R1"),
        ("bob.carter", "reviewer: bob.carter is R1: write R1"),
        ("ann@corp.example", "reviewer: leave out 'ann@corp.example': the alias is published"),
    ],
)
def test_a_decision_is_by_an_alias_and_not_by_the_name_of_a_person_who_has_one(
    reviewer: str, told: str, waiting: tuple[Path, list[dict[str, Any]]]
) -> None:
    path, items = waiting
    Reviewers(path.parent / "runs" / "questions.sqlite").enter("", "Bob Carter", "")
    row = {"item": items[0]["item"], "verdict": "accept"}
    assert told in decided(path, {**row, "reviewer": reviewer}, code=1)
    assert "2 decisions kept" in decided(path, *({**row, "reviewer": who} for who in ("r1", "bob")))


def test_rows_that_are_out_of_date_cost_no_other_decision(waiting: tuple[Path, list[dict[str, Any]]]) -> None:
    path, items = waiting
    rows = [{"item": each["item"], "seen": each["seen"], "reviewer": "ann", "verdict": "accept"} for each in items[:2]]
    rows += [{**rows[0], "seen": "another"}, {**rows[0], "item": "zz"}, {**rows[1], "seen": "another"}]
    file = path.parent / "decisions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    told = run("decide", path, file, code=1).output
    assert "2 decisions kept" in told
    assert "2 rows not kept, seen: the item is another by now, so that this is no decision on it: rows 3, 5" in told
    assert "1 row not kept, item: is none, or no longer one, to be reviewed: row 4" in told
    # A malformed row refuses them all.
    file.write_text("\n".join(map(json.dumps, [{**rows[0], "reviewer": "bob"}, {"item": items[0]["item"]}])))
    assert isinstance(run("decide", path, file, code=1).exception, InputError)
    assert all("bob" not in json.loads(line)["decided_by"] for line in run("decide", path).output.splitlines())


def test_labels_and_the_wrong_reply_are_mended_as_the_question_is(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server, {"twelve cells": [json.dumps(filtered("COMPUTE"))]})
    pairs = [{**PAIRS[0], "question": "COMPUTE how many volts twelve cells give.", "answer": "24 volts"}]
    path = pipeline_of(tmp_path, chat_server, pairs, '[filter]\ndomains = ["Chemistry", "Physics"]')
    run(path)
    (row,) = [json.loads(line) for line in run("decide", path).output.splitlines()]
    labels = {key: row["content"][key] for key in ("domain", "kind", "clarity", "wrong_replies")}
    wrong = ["Plain water does it, say lithium people"]
    assert labels == {"domain": "Chemistry", "kind": "computation", "clarity": 5, "wrong_replies": wrong}
    assert (row["source"]["forum"], row["source"]["licence"]) == ("Batteries", "CC BY-SA 4.0")
    said = {"item": row["item"], "verdict": "mend"}
    assert "domain: 'Alchemy' is none of Chemistry, Physics" in decided(
        path, {**said, "reviewer": "ann", "content": {"domain": "Alchemy"}}, code=1
    )
    mended = {"domain": "Physics", "clarity": 4, "kind": "reasoning", "wrong_replies": ["Twelve volts"]}
    decided(path, *({**said, "reviewer": who, "content": mended} for who in ("ann", "bob")))
    run(path)
    (question,) = load_questions(path.parent / "published" / "questions.jsonl")
    assert question.domain == "Physics"
    assert {key: question.metadata[key] for key in ("kind", "clarity", "adversarial")} == {
        "kind": "reasoning",
        "clarity": 4,
        "adversarial": "Twelve volts",
    }
    assert question.prompt == "How many?"


def test_two_options_that_are_the_same_are_one_fault_in_their_own_words(
    waiting: tuple[Path, list[dict[str, Any]]],
) -> None:
    path, items = waiting
    options, right = items[0]["content"]["options"], items[0]["content"]["right"]
    other = next(each for each in options if each != right)
    doubled = [right if each == other else each for each in options]
    told = decided(
        path, {"item": items[0]["item"], "reviewer": "ann", "verdict": "mend", "content": {"options": doubled}}, code=1
    )
    assert f"two are the same: {right!r}" in told
    assert "exactly one" not in told


def test_a_decision_on_what_an_item_was_before_does_not_count(
    chat_server: ChatServer, waiting: tuple[Path, list[dict[str, Any]]]
) -> None:
    path, items = waiting
    decided(path, *({"item": items[0]["item"], "reviewer": who, "verdict": "accept"} for who in ("ann", "bob")))
    assert funnel(path)["review"]["kept"] == 1
    assert "no longer" not in run(path).output
    path.write_text(f"seed = 7\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    told = (
        "2 decisions of people on 1 of 1 published questions no longer count, so that this build publishes without these: "
        "what is made of them is another text (1)"
    )
    assert told in run(path).output
    assert funnel(path)["review"]["kept"] == 0
    again = run(path).output
    assert "no longer" not in again, "they are not published any more"
    assert "2 decisions of people on 1 item not published yet: on another text than what waits for review now" in again


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            lambda path: (path.parent / "pairs.jsonl").write_text(json.dumps(PAIRS[3])),
            "no longer count, so that this build publishes without these: no row of `items` has their texts",
        ),
        (
            lambda path: path.write_text(path.read_text() + "[filter]\ndomains = ['Chemistry']\n"),
            "count on where it comes out as before, and no longer where it does not: `filter` is done anew",
        ),
    ],
)
def test_decisions_that_a_build_would_lose_are_told_before_it_asks(
    change: Any, why: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:3], "[review]\nreviewers = 1")
    run(path)
    items = [json.loads(line) for line in run("decide", path).output.splitlines()]
    decided(path, *({"item": each["item"], "reviewer": "ann", "verdict": "accept"} for each in items))
    run(path)
    change(path)
    found = run(path, "--max-cost", 0, code=1).output
    assert f"3 decisions of people on 3 of 3 published questions {why} (3)" in found


def test_who_corrects_where_an_item_is_from_pays_nothing_and_loses_no_decision(
    waiting: tuple[Path, list[dict[str, Any]]], chat_server: ChatServer
) -> None:
    path, items = waiting
    decided(path, *({"item": each["item"], "reviewer": who, "verdict": "accept"} for each in items for who in "ab"))
    assert funnel(path)["review"]["kept"] == 4
    published = path.parent / "published" / "questions.jsonl"
    before, asked = load_questions(published), len(chat_server.requests)
    audit = [json.loads(line) for line in run("audit", path).output.splitlines()]
    about = {"licence": "CC BY 4.0", "forum": "Cells", "url": "https://cells.example/t/1", "names": ["Orla Kemp"]}
    pairs = [{**each, **about} for each in PAIRS]
    (path.parent / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    assert funnel(path)["review"]["kept"] == 4
    assert len(chat_server.requests) == asked
    after = load_questions(published)
    assert [(each.id, each.choices) for each in after] == [(each.id, each.choices) for each in before]
    assert {(each.metadata["forum"], *each.metadata["source_urls"]) for each in after} == {
        ("Cells", "https://cells.example/t/1")
    }
    assert "| Cells | CC BY 4.0 | 4 |" in (path.parent / "published" / "card.md").read_text(encoding="utf-8")
    again = [json.loads(line) for line in run("audit", path).output.splitlines()]
    assert [(each["item"], each["seen"]) for each in again] == [(each["item"], each["seen"]) for each in audit]


def test_a_mend_that_is_against_a_younger_rule_or_name_waits_again(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:3], "[review]\nreviewers = 1\n")
    run(path)
    first, second, third = (json.loads(line)["item"] for line in run("decide", path).output.splitlines())
    named = {"question": "Which additive that Zebulon Krux names keeps a cell stable?"}
    mends = ((first, named), (second, {"domain": "Alchemy"}), (third, {"clarity": 4}))
    decided(path, *({"item": item, "reviewer": "ann", "verdict": "mend", "content": mend} for item, mend in mends))
    assert funnel(path)["review"]["kept"] == 3
    rows = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[0]["names"] = ["Zebulon Krux"]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    path.write_text(path.read_text(encoding="utf-8") + '[filter]\ndomains = ["Chemistry"]\n', encoding="utf-8")
    assert funnel(path)["review"]["waiting"] == {"review": 2}
    assert {json.loads(line)["item"] for line in run("decide", path).output.splitlines()} == {first, second}
    published = (tmp_path / "published" / "questions.jsonl").read_text(encoding="utf-8")
    assert "Krux" not in published
    assert "Alchemy" not in published


def test_rules_are_asked_once_of_a_mend_and_anew_where_a_name_is_younger() -> None:
    looked = list[Any]()

    def faults(content: Any) -> list[str]:
        looked.append(content)
        return [f"question: names {name}" for name in content.get("names", ()) if name in content["asked"]["question"]]

    content = {"question": "q", "asked": {"question": "q"}}
    item: dict[str, Any] = {"item": "i", "seen": content_digest(content), "verdict": "mend"}
    mends = [
        Decision.model_validate({**item, "reviewer": who, "content": {"question": text}})
        for who, text in (("ann", "Who is Krux?"), ("ben", "Who is Krux?"), ("cleo", "Who is it?"))
    ]
    reviewed = Reviewed("asked", (), faults)

    def kept(content: dict[str, Any]) -> list[str]:
        return [each.reviewer for each in still_kept(mends, {"i": content}, seen_of({"i": content}), reviewed)]

    assert kept(content) == kept(content) == ["ann", "ben", "cleo"]
    assert len(looked) == 2
    assert kept({**content, "names": ["Krux"]}) == ["cleo"]
    assert kept(content) == ["ann", "ben", "cleo"]
    assert len(looked) == 4


def test_a_mend_that_repeats_another_question_is_not_published(waiting: tuple[Path, list[dict[str, Any]]]) -> None:
    path, items = waiting
    (first, second), rest = items[:2], items[2:]
    mend = {"verdict": "mend", "content": {**first["content"], "question": first["content"]["question"].upper()}}
    decided(
        path,
        *({"item": second["item"], "reviewer": who, **mend} for who in ("ann", "bob")),
        *({"item": each["item"], "reviewer": who, "verdict": "accept"} for each in (first, *rest) for who in "ab"),
    )
    found = funnel(path)
    assert found["review"]["kept"] == 4
    assert found["distinct"]["dropped"] == {"duplicate": 1}
    assert len(load_questions(path.parent / "published" / "questions.jsonl")) == 3
    told = run("status", path, "--list").output
    assert f"duplicate: repeats {first['item']}" in told


@pytest.mark.parametrize("same", [False, True])
def test_of_questions_that_are_near_by_now_the_checker_decides(
    same: bool, waiting: tuple[Path, list[dict[str, Any]]], chat_server: ChatServer
) -> None:
    path, items = waiting
    (first, second), rest = items[:2], items[2:]
    said = "Which additive keeps a cell of {} stable that is charged above the volts of its separator?"
    made = {"right": "An additive", "options": ["An additive", *first["content"]["options"][:4]]}
    mends = [
        {**made, "question": said.format("lithium")},
        {**made, "question": said.format("sodium") + " SAME" * same},
    ]
    decided(
        path,
        *(
            {"item": each["item"], "reviewer": who, "verdict": "mend", "content": mend}
            for each, mend in zip((first, second), mends, strict=True)
            for who in "ab"
        ),
        *({"item": each["item"], "reviewer": who, "verdict": "accept"} for each in rest for who in "ab"),
    )
    before = len(chat_server.requests)
    found = funnel(path)["distinct"]
    assert (found["kept"], found["requests"]) == (4 - same, 1)
    assert len(chat_server.requests) == before + 1
    assert len(load_questions(path.parent / "published" / "questions.jsonl")) == 4 - same


def test_what_repeats_an_item_that_people_reject_is_told(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    twin = {**PAIRS[0], "question": f"{PAIRS[0]['question']} SAME thing, please.", "url": "https://forum.example/t/99"}
    again = {**twin, "question": f"{twin['question']} Please!", "url": "https://forum.example/t/100"}
    path = pipeline_of(tmp_path, chat_server, [PAIRS[0], twin, again, PAIRS[1]], "[review]\nreviewers = 1\n")
    assert funnel(path)["deduplicate"]["dropped"] == {"duplicate": 2}
    first = next(
        each
        for each in map(json.loads, run("decide", path).output.splitlines())
        if "lithium" in each["content"]["question"]
    )["item"]
    assert not lost(path), "what waits for people has not failed"
    decided(path, {"item": first, "reviewer": "ann", "verdict": "reject", "reason": "the answer is wrong"})
    run(path)
    found = lost(path)
    assert [(each["repeats"], each["stage"], each["reason"], each["waits"]) for each in found] == [
        (first, "review", "rejected", False)
    ] * 2
    told = run("status", path).output
    assert "Duplicates of what did not pass: 2 items: " in told
    assert f"{found[0]['item'][:16]} repeats {first[:16]} (review dropped: rejected)" in told
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, [twin, again, PAIRS[1]])), encoding="utf-8")
    assert funnel(path)["deduplicate"]["dropped"] == {"duplicate": 1}
    assert not lost(path)


def lost(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(run("status", path, "--json").stdout)["lost_repeats"]
    return found


def test_what_is_rejected_while_a_build_asks_is_not_published(chat_server: ChatServer, tmp_path: Path) -> None:
    writer = Writer(chat_server)
    more = "[review]\nreviewers = 1\n"
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], more)
    funnel(path)
    items = [json.loads(line) for line in run("decide", path).output.splitlines()]
    decided(path, *({"item": each["item"], "reviewer": "ann", "verdict": "accept"} for each in items))
    pipeline_of(tmp_path, chat_server, PAIRS[:3], more)

    def decide(request: dict[str, Any]) -> Any:
        with Workbench(path.parent / "runs" / "questions.sqlite", beside=True) as bench:
            bench.decide(
                [Decision(item=items[0]["item"], seen=items[0]["seen"], reviewer="ann", verdict="reject", reason="no")]
            )
        return writer.decide(request)

    chat_server.answers(decide)
    assert funnel(path)["review"]["dropped"] == {"rejected": 1}
    published = (tmp_path / "published" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["id"] for line in published] == [items[1]["item"][:16]]


def said_by(item: str, **verdicts: str) -> list[Decision]:
    return [Decision(item=item, seen="s", reviewer=who, verdict=verdict) for who, verdict in verdicts.items()]  # type: ignore[arg-type]


def agreed(decisions: list[Decision], reviewers: int = 2) -> Agreement:
    return agreement(decisions, {each.item: "s" for each in decisions}, reviewers)


def test_agreement_is_cohens_kappa_of_two_people_whoever_spoke_first() -> None:
    rows = [("accept", "accept")] * 6 + [("reject", "reject")] * 2 + [("accept", "reject")] * 2
    for turned in (lambda n: False, lambda n: n % 2 == 1, lambda n: n >= 9):
        pairs = [said_by(f"i{n}", ann=ann, bob=bob) for n, (ann, bob) in enumerate(rows)]
        found = agreed([each for n, pair in enumerate(pairs) for each in (pair[::-1] if turned(n) else pair)])
        # Observed .8, expected .8 * .6 + .2 * .4 = .56.
        assert (found.items, found.people, found.same_verdict, found.statistic) == (10, 2, 0.8, "kappa")
        assert found.beyond_chance == pytest.approx((0.8 - 0.56) / (1 - 0.56))
    # Kappa knows verdicts alone, and so does the share beside it: two mends of other words are the same verdict.
    mends = [Decision(item="i", seen="s", reviewer=n, verdict="mend", content={"question": n}) for n in "ab"]
    assert agreed(mends).same_verdict == 1
    assert agreed([]) == Agreement(0, 0, None, "alpha", None, None, None)


def test_agreement_of_more_than_two_people_is_krippendorffs_alpha() -> None:
    three = [
        *(each for n in range(6) for each in said_by(f"i{n}", ann="accept", bob="accept", cleo="accept")),
        *said_by("i6", ann="reject", bob="reject", cleo="accept"),
        *said_by("i7", ann="reject", bob="reject", cleo="reject"),
    ]
    found = agreed(three, 3)
    # One trial differs, in 4 of its 6 ordered pairs; 19 of 24 values accept: 1 - 23 * 2 / (24**2 - 19**2 - 5**2).
    assert (found.items, found.people, found.same_verdict, found.statistic) == (8, 3, 7 / 8, "alpha")
    assert found.beyond_chance == pytest.approx(1 - 23 * 2 / (24**2 - 19**2 - 5**2))
    # Two a thing, of three people: there is no pair of raters.
    pairs = [
        *(each for n in range(4) for each in said_by(f"i{n}", ann="accept", bob="accept")),
        *(each for n in range(4, 8) for each in said_by(f"i{n}", cleo="reject", ann="reject")),
    ]
    assert (agreed(pairs).statistic, agreed(pairs).beyond_chance, agreed(pairs).ci95) == ("alpha", 1, None)
    # Who decides between two is no third rater.
    assert agreed([*said_by("i", ann="accept", bob="reject"), *said_by("i", cleo="accept")]).people == 2


def test_agreement_is_of_what_people_said_before_they_could_see_the_others_words() -> None:
    """Once all have spoken, the page says what waits, and so whether somebody who changes sides differs still."""
    differing = [each for n in range(9) for each in said_by(f"i{n}", ann="accept", bob="reject")]
    changed = [each for n in range(9) for each in said_by(f"i{n}", bob="accept")]
    third = [each for n in range(9) for each in said_by(f"i{n}", cleo="accept")]
    assert agreed([*differing, *changed, *third]).same_verdict == 0
    assert agreed([*differing, *third, *changed]).same_verdict == 0
    # Who changes sides before the other spoke has seen nothing.
    assert agreed([*said_by("i", ann="reject"), *said_by("i", ann="accept"), *said_by("i", bob="accept")]).same_verdict
    alike = said_by("i", ann="accept", bob="accept")
    assert agreed([*alike, *said_by("i", bob="reject")]).same_verdict == 1


def test_who_decided_between_two_stays_on_the_card_when_one_of_these_changes_sides(
    waiting: tuple[Path, list[dict[str, Any]]],
) -> None:
    path, items = waiting
    seen = items[0]["seen"]
    rows = [("ann", "accept"), ("bob", "reject")]
    first = [
        Decision(item=items[0]["item"], seen=seen, reviewer=who, verdict=verdict, reason="no")  # type: ignore[arg-type]
        for who, verdict in rows
    ]
    third = first[0].model_copy(update={"reviewer": "cleo", "sides": sides_digest(sides_of(first, 2))})
    after = first[1].model_copy(update={"verdict": "accept", "reason": ""})
    with Workbench(path.parent / "runs" / "questions.sqlite", beside=True) as bench:
        bench.decide([*first, third, after])
    found = json.loads(run("status", path, "--json").output)
    assert [each["alias"] for each in found["reviewers"]] == ["ann", "bob", "cleo"]
    assert (found["agreement"]["same_verdict"], found["agreement"]["statistic"]) == (0, "kappa")
    assert next(each["kept"] for each in found["stages"] if each["stage"] == "review") == 1
    run(path)
    card = (path.parent / "published" / "card.md").read_text(encoding="utf-8")
    assert "| cleo |" in card
    assert "2 people on 1 item, the same verdict on 0%, Cohen's kappa" in card
