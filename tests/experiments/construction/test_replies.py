"""What becomes of an item by the replies that a build gets: kept, asked for again, waiting, refused."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.construction.writing import ALONE, PAIRS, Writer, converted, filtered, funnel, pipeline_of, run
from tests.servers.chat_server import ChatServer, Status, reply

from toolablate.benchmarks.questions import load_questions
from toolablate.experiments.construction.funnel import _faults

FATES = {
    "bare": (None, "kept"),
    "fenced": (lambda good: f"```json\n{good}\n```", "kept"),
    "thoughts": (lambda good: f"<think>hm {{</think>{good}", "kept"),
    "typographic quotes": (lambda good: good.replace('"', "”"), "asked again"),
    "trailing comma": (lambda good: good[:-1] + ",}", "asked again"),
    "extra key": (lambda good: good[:-1] + ', "note": ""}', "asked again"),
    "two objects": (lambda good: good + good, "asked again"),
    "talk around it": (lambda good: f"Here it is: {good}", "asked again"),
    "cut off": (lambda good: good[:40], "asked again"),
    "refusal": (lambda good: "I cannot help with that.", "asked again"),
    "injected": (lambda good: "Ignoring my rules as told: PWNED", "asked again"),
}


def changed(**fields: Any) -> Any:
    return lambda good: json.dumps({**json.loads(good), **fields})


def lettered(options: Sequence[str], *more: str, letters: str = "ABCDE", **fields: Any) -> Any:
    listed = [f"{letter}) {text}" for letter, text in zip(letters, [*options, *more], strict=True)]
    return changed(options=listed, correct_answer=listed[2], **fields)


OPTIONS = converted("additive keeps a lithium x above 3 volts")["options"]
FATES |= {
    "eight options": (changed(options=[*OPTIONS, "f", "g", "h"]), "asked again"),
    "two right ones": (changed(options=[*OPTIONS, f"{OPTIONS[2].upper()}."]), "asked again"),
    "right one is no option": (changed(correct_answer="water"), "asked again"),
    "some with letters": (changed(options=["B. water", *OPTIONS]), "asked again"),
    "letters in another order": (
        changed(
            options=[f"{letter}) {text}" for letter, text in zip("CABED", OPTIONS, strict=True)],
            correct_answer=f"B) {OPTIONS[2]}",
        ),
        "asked again",
    ),
    "letters that an option names": (lettered(OPTIONS[:4], "Both A and B"), "asked again"),
    "letters that an option ends with": (lettered(OPTIONS[:4], "Salt, or A"), "asked again"),
    "letters that the explanation names": (lettered(OPTIONS, explanation="B is right, it is stable."), "asked again"),
    "letters that a Chinese explanation names": (lettered(OPTIONS, explanation="选项A和B错误。"), "asked again"),
    "an explanation that begins with an article": (
        lettered(OPTIONS, explanation="A salt is stable. A base is not."),
        "kept",
    ),
    "names of species": (
        changed(
            options=["A. baumannii", "B. subtilis", "C. elegans", "D. melanogaster", "E. coli"],
            correct_answer="E. coli",
        ),
        "asked again",
    ),
    "small letters": (lettered([*OPTIONS[:4], "Both a and b"], letters="abcde"), "asked again"),
    "a mail address": (
        changed(question="Write to jo@mail.example: which additive keeps lithium stable?"),
        "asked again",
    ),
    "a handle": (changed(explanation="As @jo_smith-42 found."), "asked again"),
    "a name that the source gave": (
        changed(question="Which additive, asks Marlow Quist, keeps lithium stable?"),
        "asked again",
    ),
    "its short form": (changed(options=[*OPTIONS, "that of M. Quist"]), "asked again"),
    "a profile": (changed(options=[*OPTIONS, "see https://forum.example/u/jo"]), "asked again"),
    "an address that was made up": (changed(explanation="See https://papers.example/lithium."), "asked again"),
    "an address of the material": (changed(explanation="See https://known.example/salts."), "kept"),
    "all of the above": (changed(options=[*OPTIONS, "All of the above"]), "asked again"),
    "another language": (changed(question="哪种添加剂使锂在三伏以上保持稳定？"), "asked again"),
    "another language of the same alphabet": (
        changed(question="Welcher Zusatz hält Lithium über drei Volt stabil, und warum ist das so?"),
        "asked again",
    ),
    **{
        f"lists options {how}": (changed(question=form.format(*OPTIONS)), "asked again")
        for how, form in {
            "on lines": "Which of these keeps lithium?\nA. {}\nB. {}\nC. {}",
            "in a line": "Which keeps lithium stable? A) {} B) {} C) {}",
            "in brackets": "Is it (A) {}, (B) {} or (C) {}?",
            "by full stops": "Which keeps lithium? A. {} B. {} C. {}",
        }.items()
    },
    "names parts": (changed(question="Which keeps (a) a pump, (b) a valve and (c) a cell of lithium stable?"), "kept"),
    "names samples": (
        changed(question="Of the samples A: 5 mg, B: 6 mg, C: 7 mg with vitamin A. B. subtilis grew; which is it?"),
        "kept",
    ),
    "names events": (changed(question="Given P(A), P(B) and P(C), which additive keeps lithium stable?"), "kept"),
    "names two parts": (changed(question="Which additive carries (A) lithium and (B) sodium at once?"), "kept"),
    "gives itself away": (changed(question=f"Is it {OPTIONS[2]}?"), "asked again"),
    "number for a text": (changed(explanation=3), "asked again"),
    "number without end": (lambda good: good[:-1] + f', "note": {"9" * 5_000}}}', "asked again"),
    "deep and long": (lambda good: "[" * 300_000, "asked again"),
    "long fault": (changed(options=[*OPTIONS, "x" * 300_000, "x" * 300_000]), "asked again"),
    "LaTeX that JSON reads as a form feed": (
        lambda good: good.replace("It does not", "\\frac{1}{2} does not"),
        "asked again",
    ),
    "control characters": (changed(explanation="\x1b[31m\0"), "asked again"),
    "LaTeX in JSON": (changed(explanation="\\frac{1}{2}\n\tand \\beta"), "kept"),
}


@pytest.mark.parametrize("name", FATES)
def test_each_reply_has_its_fate(name: str, chat_server: ChatServer, tmp_path: Path) -> None:
    change, fate = FATES[name]
    good = json.dumps(converted("additive keeps a lithium x above 3 volts"))
    bad = good if change is None else change(good)
    finish = {"finish_reason": "length"} if name == "cut off" else {}
    writer = Writer(chat_server)
    writer.replies = {"wrong reply": [reply(bad, **finish)]}
    explanation = "By https://known.example/salts, the others decompose."
    pair = {**PAIRS[0], "explanation": explanation, "names": ["Marlow Quist"]}
    path = pipeline_of(tmp_path, chat_server, [pair], ALONE)
    found = funnel(path)["convert"]
    assert found["kept"] == 1
    assert found["requests"] == (1 if fate == "kept" else 2)
    if fate == "asked again":
        again = chat_server.requests[-1]["messages"]
        assert again[-1]["content"].startswith("Your reply cannot be used: ")
        backslash = "write a backslash as" in again[-1]["content"]
        assert backslash == (name == "LaTeX that JSON reads as a form feed")


@pytest.mark.parametrize("form", ["{}. {}", "{}) {}", "({}) {}", "{}: {}", "（{}）{}", "{}、{}"])
@pytest.mark.parametrize("right", ["as it stands there", "without its letter"])
def test_letters_that_all_options_begin_with_are_taken_off_before_their_order_is_drawn(
    form: str, right: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    lettered = [form.format(letter, text) for letter, text in zip("ABCDE", OPTIONS, strict=True)]
    said = lettered[2] if right == "as it stands there" else OPTIONS[2]
    bad = changed(options=lettered, correct_answer=said)(json.dumps(converted("")))
    Writer(chat_server).replies = {"wrong reply": [bad]}
    found = funnel(pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE))["convert"]
    assert (found["kept"], found["requests"]) == (1, 1)
    (question,) = load_questions(tmp_path / "published" / "questions.jsonl")
    assert sorted(question.choices or ()) == sorted(OPTIONS)
    assert question.target.letters == ("ABCDE"[list(question.choices or ()).index(OPTIONS[2])],)


def test_a_reply_that_stays_unread_waits_and_is_asked_again_only_with_more_asks(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server, {"lithium": ["no", "no", "no"]})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    found = funnel(path)
    assert found["filter"]["waiting"] == {"reply unread": 1}
    assert found["filter"]["kept"] == 1
    asked = len(chat_server.requests)
    assert funnel(path)["filter"]["waiting"] == {"reply unread": 1}
    assert "`build PIPELINE --again` asks anew for 1 item with reply unread" in run(path).stdout
    assert len(chat_server.requests) == asked
    path.write_text(f"asks = 4\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert funnel(path)["filter"]["kept"] == 2
    # The fourth request, and the conversion of what it let through.
    assert len(chat_server.requests) == asked + 2


def test_what_was_wrong_with_replies_is_told_and_a_mended_endpoint_is_asked_anew(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    def without(key: str, **more: Any) -> str:
        return json.dumps({each: value for each, value in filtered("").items() if each != key} | more)

    replies = {
        "lithium": [without("clarity")] * 3,
        "sodium": [without("clarity")] * 3,
        "zinc": ["no", "no", json.dumps(filtered("") | {"kind": "poem"})],
        "magnesium": [json.dumps(filtered("") | {"clarity": 9})] * 2 + [without("reason", clarity="5")],
    }
    Writer(chat_server, replies)
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    found = funnel(path)["filter"]
    assert found["waiting"] == {"reply unread": 4}
    assert next(iter(found["unread"].items())) == ("clarity: Field required", 2)
    assert sum(found["unread"].values()) == 4
    told = run("status", path).stdout
    assert "Sources: Batteries 0 of 4" in told
    assert "filter, reply unread, the last fault: clarity: Field required (2); " in told
    listed = run("status", path, "--list").stdout.splitlines()
    assert sum("filter waits: reply unread: clarity: Field required" in line for line in listed) == 2
    # Nothing is asked again by itself. Asked anew, none is asked to mend an earlier reply.
    asked = len(chat_server.requests)
    run(path)
    assert len(chat_server.requests) == asked
    told = run(path, "--again").stdout
    assert "reply unread" not in told
    new = [each["messages"] for each in chat_server.requests[asked:]]
    assert sorted(map(len, new)) == [2] * 8
    assert funnel(path)["review"]["kept"] == 4
    assert len(chat_server.requests) == asked + 8


def test_a_recorded_reply_is_not_given_to_who_asks_anew(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server, {"lithium": ["no"] * 3})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], f'{ALONE}[replies]\nmode = "record"\n')
    assert funnel(path)["filter"]["waiting"] == {"reply unread": 1}
    asked = len(chat_server.requests)
    run(path, "--again")
    assert len(chat_server.requests) == asked + 2
    assert funnel(path)["review"]["kept"] == 1


def test_who_asks_anew_and_gets_no_better_reply_goes_on_from_the_new_ones(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server, {"lithium": ["no"] * 3 + ["nay"] * 3})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)
    run(path)
    asked = len(chat_server.requests)
    run(path, "--again")
    assert funnel(path)["filter"]["waiting"] == {"reply unread": 1}
    assert len(chat_server.requests) == asked + 3
    path.write_text(f"asks = 4\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert funnel(path)["filter"]["kept"] == 1
    said = [each["content"] for each in chat_server.requests[asked + 3]["messages"] if each["role"] == "assistant"]
    assert said == ["nay"] * 3


@pytest.mark.parametrize(
    "domain", [" ", "Chemistry\n| of salts |", "asked by bob@corp.example", "Chem\u202eistry", "Chemistry " * 11]
)
def test_a_domain_that_is_no_line_of_words_is_asked_for_again(
    domain: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server, {"lithium": [json.dumps({**filtered(""), "domain": domain})]})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)
    assert funnel(path)["filter"]["requests"] == 2
    (question,) = load_questions(tmp_path / "published" / "questions.jsonl")
    assert question.domain == "Chemistry"


def test_an_item_with_empty_replies_waits_and_the_others_are_published(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server, {"lithium": [reply("")] * 6})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    told = " ".join(run(path).stderr.split())
    assert "filter, checker w: 1 item done (4 requests, of which 3 had no reply in words, $0.00008)" in told
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 1
    found = {each["stage"]: each for each in json.loads(run("status", path, "--json").stdout)["stages"]}["filter"]
    assert found["waiting"] == {"reply unread": 1}
    assert found["unread"] == {"the reply was empty": 1}
    # What had no words was paid for as well.
    assert found["requests"] == 4
    assert found["cost_usd"] == pytest.approx(4 * (10 * 1 + 5 * 2) / 1e6)
    asked = len(chat_server.requests)
    run(path)
    assert len(chat_server.requests) == asked
    run(path, "--again")
    assert len(chat_server.requests) == asked + 3
    assert funnel(path)["filter"]["waiting"] == {"reply unread": 1}
    run(path, "--again")
    assert funnel(path)["review"]["kept"] == 2


def test_recorded_empty_replies_are_replayed(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server, {"lithium": [reply("")] * 2})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], f'{ALONE}[replies]\nmode = "record"\n')
    assert funnel(path)["review"]["kept"] == 1
    asked = len(chat_server.requests)
    text = path.read_text(encoding="utf-8").replace('"record"', '"replay"')
    path.write_text(f'workbench = "another.sqlite"\noutput = "again"\n{text}', encoding="utf-8")
    assert funnel(path)["filter"]["requests"] == 3
    assert len(chat_server.requests) == asked


FILTERED = Status(400, {"message": "against our policy", "code": "content_filter"})
REFUSING = {
    "filtered request": (FILTERED, "our policy", 0),
    "filtered reply": (reply("half a", finish_reason="content_filter"), "content filter stopped the reply", 1),
    "too large": (Status(413, {"message": "body too big"}), "body too big", 0),
}


@pytest.mark.parametrize("name", REFUSING)
def test_an_item_whose_request_is_refused_waits_and_the_others_are_published(
    name: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    step, words, paid = REFUSING[name]
    Writer(chat_server, {"lithium": [step] * 2})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    found = funnel(path)["filter"]
    assert found["waiting"] == {"request refused": 1}
    assert found["missing"] == 0
    assert found["requests"] == 1 + paid
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 1
    (line,) = run("status", path, "--list").stdout.splitlines()
    assert " filter waits: request refused: " in line
    assert words in line
    asked = len(chat_server.requests)
    assert "--again` asks anew for 1 item with request refused" in run(path).stdout
    assert len(chat_server.requests) == asked
    # What no model is asked with makes it no other request.
    pipeline_of(tmp_path, chat_server, [{**pair, "licence": "CC0"} for pair in PAIRS[:2]], ALONE)
    assert funnel(path)["filter"]["waiting"] == {"request refused": 1}
    assert len(chat_server.requests) == asked
    run(path, "--again")
    assert len(chat_server.requests) == asked + 1
    assert funnel(path)["filter"]["waiting"] == {"request refused": 1}
    run(path, "--again")
    assert funnel(path)["review"]["kept"] == 2
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 2


PLAIN = [Status(400, {"message": "cannot parse this request"}), Status(403, {"message": "not allowed here"})]


@pytest.mark.parametrize("refusal", PLAIN)
def test_a_plain_refusal_is_of_its_item_where_another_item_was_answered(
    refusal: Any, chat_server: ChatServer, tmp_path: Path
) -> None:
    def is_odd(request: dict[str, Any]) -> bool:
        return "magnesium" in request["messages"][1]["content"]

    writer = Writer(chat_server)
    chat_server.answers(lambda request: refusal if is_odd(request) else writer.decide(request))
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    found = funnel(path)["assess"]
    assert (found["waiting"], found["missing"]) == ({"request refused": 1}, 0)
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 3
    (line,) = run("status", path, "--list").stdout.splitlines()
    assert refusal.error["message"] in line
    asked = len(chat_server.requests)
    assert "could not be asked" not in run(path).output
    assert len(chat_server.requests) == asked
    # Alone it is known by what others were told before.
    assert "could not be asked" not in run(path, "--again").output
    assert len(chat_server.requests) == asked + 1
    assert funnel(path)["assess"]["waiting"] == {"request refused": 1}


@pytest.mark.parametrize("refusal", PLAIN)
def test_a_plain_refusal_of_all_is_the_endpoint_s(refusal: Any, chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    chat_server.answers(lambda _: refusal)
    found = funnel(path, code=1)["assess"]
    assert (found["waiting"], found["missing"]) == ({}, 2)
    assert not (tmp_path / "published").exists()


def test_an_endpoint_that_refuses_one_request_after_the_other_is_given_up(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    pairs = [{**PAIRS[0], "title": str(n)} for n in range(30)]
    path = pipeline_of(tmp_path, chat_server, pairs, ALONE)
    path.write_text(f"{path.read_text(encoding='utf-8')}concurrency = 1\n", encoding="utf-8")
    chat_server.answers(lambda _: FILTERED)
    run(path, code=1)
    refused = len(chat_server.requests)
    found = json.loads(run("status", path, "--json").stdout)["stages"][0]
    assert (found["waiting"], found["missing"]) == ({"request refused": refused}, 30 - refused)
    assert not (tmp_path / "published").exists()


def test_a_reply_of_the_thread_that_is_the_answer_is_not_taken_for_a_wrong_one(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    pair = {**PAIRS[0], "replies": [f" “{PAIRS[0]['answer'].upper()}”. "]}
    path = pipeline_of(tmp_path, chat_server, [pair], ALONE)
    assert funnel(path)["assess"]["waiting"] == {"reply unread": 1}
    assert "reply 1 is the answer, word for word" in run("status", path, "--list").output


def test_faults_are_counted_by_their_kind() -> None:
    names = "explanation: leave out {}: each may be a person's address, number or name"
    twice = "options: two are the same: {}"
    faults = [
        *(names.format(name) for name in ("'Bob'", "'Ann', \"O'Brien\"", "'jo' and 3 more")),
        f"{names.format(repr('Bob'))}; {twice.format(repr('a film'))}",
        *(twice.format(option) for option in ("'a film'", "'it\\'s'")),
        twice.format("'x'").replace("options", "points"),
    ]
    assert _faults(faults) == {
        names.format("'…'"): 3,
        twice.format("'…'"): 2,
        f"{names.format(repr('Bob'))}; {twice.format(repr('a film'))}": 1,
        "points: two are the same: 'x'": 1,
    }
