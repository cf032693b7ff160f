"""A pipeline from pairs to published questions: each item has one fate, and nothing is paid for twice."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console
from tests.experiments.construction import killed_publishing
from tests.experiments.construction.writing import PAIRS, Writer, converted, filtered, pipeline_of
from tests.servers.chat_server import ChatServer, Status, Until, reply

from toolablate.benchmarks.lpfqa.published import load_lpfqa
from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.experiments.construction.pipeline import load_pipeline
from toolablate.experiments.construction.publishing import canary_of, licences_told
from toolablate.experiments.construction.workbench import Workbench
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.errors import InputError

ALONE = "[review]\nreviewers = 0\n"


def run(*args: object, code: int = 0) -> Result:
    found = CliRunner().invoke(group, ["build", *map(str, args)])
    assert found.exit_code == code, (found.output, found.exception)
    return found


def funnel(path: Path, code: int = 0) -> dict[str, dict[str, Any]]:
    return {each["stage"]: each for each in json.loads(run(path, "--json", code=code).stdout)["stages"]}


def test_pairs_become_questions_that_an_ablation_and_lpfqa_read_back(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    pairs = [*PAIRS, {**PAIRS[0], "question": "COMPUTE how many cells of 2 volts make 24 volts, at most?"}]
    path = pipeline_of(tmp_path, chat_server, pairs, ALONE)
    found = funnel(path)
    assert [(each["came"], each["kept"]) for each in found.values()] == [(5, 5)] * 7
    asked = len(chat_server.requests)
    assert asked == 5 * 3
    assert [each["requests"] for each in found.values()] == [5, 5, 0, 5, 0, 0, 0]
    assert found["assess"]["cost_usd"] == pytest.approx(5 * (10 * 1 + 5 * 2) / 1e6)
    questions = load_questions(tmp_path / "published" / "questions.jsonl")
    rows = load_lpfqa(tmp_path / "published" / "lpfqa.jsonl")
    assert [each.id for each in questions] == [each.id for each in rows]
    for one, other in zip(questions, rows, strict=True):
        assert one.target == other.target
        assert one.choices == other.choices
        if one.choices:
            assert one.choices["ABCDEFG".index(one.target.letters[0])].startswith("An oxide")
    places = {one.target.letters for one in questions if one.choices}
    assert len(places) > 1, "the order of options is drawn"
    (computed,) = [each for each in questions if not each.choices]
    assert computed.rubric is not None
    assert "says 12" in computed.rubric.points
    assert computed.metadata["adversarial"] == PAIRS[0]["replies"][0]
    assert computed.metadata["source_urls"] == ["https://forum.example/t/3"]
    assert computed.blocked_hosts == ("forum.example",)
    card = (tmp_path / "published" / "card.md").read_text(encoding="utf-8")
    canary = canary_of(load_pipeline(path))
    assert canary in card
    assert {each.metadata["canary"] for each in questions} == {canary}
    assert canary_of(load_pipeline(path).model_copy(update={"output": "another"})) != canary
    assert "| Batteries | CC BY-SA 4.0 | 5 |" in card
    assert "- Review: none, published without people" in card
    assert "| stage | in | out | LPFQA | dropped | waiting |" in card
    assert r"| review | 5 | 5 | \~ 1,000 → 430 |  |  |" in card
    assert [each["paper"] for each in found.values()] == ["> 2,000", "", "", "", "", "~ 1,000 → 430", ""]
    # Everything is there already.
    assert funnel(path) == found
    assert len(chat_server.requests) == asked
    assert json.loads(run("status", path, "--json").stdout)["stages"] == list(found.values())


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


@pytest.mark.parametrize(
    ("kind", "row", "meant"),
    [
        ("questions", {"question": "Why?", "answer": "So.", "reply": ["No."]}, "replies"),
        ("questions", {"question": "Why?", "answer": "So.", "name": ["Bob Carter"]}, "names"),
        ("statements", {"text": "Coal:\nIt burns.", "discipline": "Mining", "pages": "3"}, "page"),
    ],
)
def test_a_key_that_no_item_has_is_refused_before_anything_is_asked(
    kind: str, row: dict[str, Any], meant: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server, [row], f'kind = "{kind}"\n')
    found = CliRunner().invoke(group, ["build", str(path)])
    assert isinstance(found.exception, InputError)
    assert f'pairs.jsonl:1: unknown key "{list(row)[-1]}"' in str(found.exception)
    assert f"Did you mean '{meant}'?" in found.exception.hint
    assert not chat_server.requests


def test_who_is_to_be_named_nowhere_is_not_named_by_forum_and_address(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    pair = {**PAIRS[0], "names": ["Bob Carter"], "forum": "Bob Carter's cells"}
    pairs = [
        {**pair, "url": "https://forum.example/t/lithium-by-bob-carter/7"},
        {**PAIRS[1], **{key: pair[key] for key in ("names", "forum")}, "url": "https://bobcarter.example/t/8"},
    ]
    run(pipeline_of(tmp_path, chat_server, pairs, ALONE))
    first, second = load_questions(tmp_path / "published" / "questions.jsonl")
    assert first.metadata["forum"] == second.metadata["forum"] == "[name]'s cells"
    assert first.metadata["source_urls"] == ["https://forum.example/t/lithium-by--/7"]
    assert (
        '"language": "en"' in (tmp_path / "published" / "questions.jsonl").read_text(encoding="utf-8").splitlines()[0]
    )
    assert second.metadata["source_urls"] == ["https://-.example/t/8"]
    written = [each.read_text(encoding="utf-8").casefold() for each in (tmp_path / "published").iterdir()]
    assert not any("carter" in text for text in written)


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


def test_what_fails_a_stage_is_dropped_with_its_reason(chat_server: ChatServer, tmp_path: Path) -> None:
    marks = ("NOQUESTION", "NOANSWER", "DISPUTED", "POOR", "EASY")
    pairs = [
        {**PAIRS[n % 4], "question": f"{mark}: what does {mark.lower() * 3} mean there?"}
        for n, mark in enumerate(marks)
    ]
    pairs += [PAIRS[0], {**PAIRS[0], "question": PAIRS[0]["question"] + "!"}]
    near = {
        **PAIRS[0],
        "question": PAIRS[0]["question"].replace("summer in a parked van", "SAME hot season in the car"),
    }
    Writer(chat_server)
    found = funnel(pipeline_of(tmp_path, chat_server, [*pairs, near], ALONE))
    assert found["assess"]["dropped"] == {"no defined question": 1, "no valid answer": 1, "disputed answer": 1}
    assert found["deduplicate"]["dropped"] == {"duplicate": 2}
    assert found["deduplicate"]["requests"] == 1
    assert found["filter"]["dropped"] == {"not accurate": 1, "too easy": 1}
    assert found["review"]["kept"] == 1
    listed = run("status", tmp_path / "questions.toml", "--list").output
    assert listed.count(" dropped: ") == 7
    assert "deduplicate dropped: duplicate: repeats" in listed
    assert "assess dropped: no defined question | NOQUESTION: what does " in listed
    assert all(len(line.rpartition(" | ")[2]) <= 60 for line in listed.splitlines())
    rows = json.loads(run("status", tmp_path / "questions.toml", "--list", "--json").output)
    assert len(rows) == 7
    assert (rows[0]["stage"], rows[0]["dropped"]) == ("assess", "no defined question")
    assert rows[0]["content"]["question"] == pairs[0]["question"]
    assert all(
        each["came"] == each["kept"] + sum(each["dropped"].values()) + sum(each["waiting"].values()) + each["missing"]
        for each in found.values()
    )


def test_a_changed_setting_redoes_its_stage_and_what_depends_on_it(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    funnel(path)
    asked = len(chat_server.requests)
    text = path.read_text(encoding="utf-8")
    path.write_text(
        text.replace("[review]", "[filter]\ndomains = ['Physics', 'Chemistry']\n[review]"), encoding="utf-8"
    )
    found = funnel(path)
    # What the filter says is as before, so that nothing after it changes.
    assert len(chat_server.requests) == asked + 4
    assert found["review"]["kept"] == 4
    # What was asked in other words was paid before, and is told so.
    assert found["filter"]["requests"] == 4
    paid = json.loads(run("status", path, "--json").stdout)["paid_before"]
    assert (paid["requests"], paid["cost_usd"]) == (4, pytest.approx(4 * (10 * 1 + 5 * 2) / 1e6))
    assert paid["seconds"] > 0
    assert "Paid before, for steps that changed since: 4 requests, $0.00008" in run("status", path).stdout
    # What only weighs replies, or comes after them, asks for nothing.
    asked = len(chat_server.requests)
    for changed in ("seed = 5\n", "[filter]\nclarity = 4\n"):
        path.write_text(
            changed + text if changed.startswith("seed") else text.replace("[review]", changed + "[review]")
        )
        assert funnel(path)["review"]["kept"] == 4
    assert len(chat_server.requests) == asked
    path.write_text(text.replace("[review]", "[filter]\ndomains = ['Physics']\n[review]"), encoding="utf-8")
    assert funnel(path)["filter"]["waiting"] == {"reply unread": 4}


@pytest.mark.parametrize("domain", [" ", "Chemistry\n| of salts |"])
def test_a_domain_that_is_no_line_of_words_is_asked_for_again(
    domain: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server, {"lithium": [json.dumps({**filtered(""), "domain": domain})]})
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)
    assert funnel(path)["filter"]["requests"] == 2
    (question,) = load_questions(tmp_path / "published" / "questions.jsonl")
    assert question.domain == "Chemistry"


def test_an_endpoint_that_fails_loses_nothing(chat_server: ChatServer, tmp_path: Path) -> None:
    writer = Writer(chat_server, {"zinc": [Status(400)]})
    empty = [reply("")]
    chat_server.answers(lambda request: empty.pop() if empty else writer.decide(request))
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    ran = run(path, "--json", code=1)
    told = " ".join(ran.stderr.split())
    assert "assess, writer w: 4 items done (5 requests, of which 1 had no reply in words, $0.0001)" in told
    assert "filter, checker w: 3 items done (3 requests, $0.00006)" in told
    assert "filter, checker w: 1 item could not be asked for: bad_request: " in told
    assert "Not done: 1 item not asked for; what was published before stays as it is." in told
    assert "Judge" not in told
    assert "to be done" not in told
    found = {each["stage"]: each for each in json.loads(ran.stdout)["stages"]}
    assert found["filter"]["missing"] == 1
    (line,) = run("status", path, "--list").stdout.splitlines()
    assert " filter waits: not asked for: bad_request: " in line
    assert line.endswith(f"| {PAIRS[2]['question'][:20]}{line[-40:]}")
    (left,) = json.loads(run("status", path, "--list", "--json").stdout)
    assert left["waiting"] == "not asked for"
    assert left["note"].startswith("bad_request: ")
    assert found["review"]["kept"] == 3
    assert not (tmp_path / "published").exists(), "a part would take the place of the whole"
    assert funnel(path)["review"]["kept"] == 4
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 4


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
    path.write_text(f'workbench = "another.sqlite"\n{text}', encoding="utf-8")
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
    run(path, "--again")
    assert len(chat_server.requests) == asked + 1
    assert funnel(path)["filter"]["waiting"] == {"request refused": 1}
    run(path, "--again")
    assert funnel(path)["review"]["kept"] == 2
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 2


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


def test_items_that_were_left_when_an_endpoint_was_given_up_are_listed_with_why(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server, [{**PAIRS[0], "title": str(n)} for n in range(30)], "")
    path.write_text(f"{path.read_text(encoding='utf-8')}concurrency = 1\n", encoding="utf-8")
    chat_server.answers(lambda _: Status(401))
    run(path, code=1)
    assert len(chat_server.requests) < 30
    left = json.loads(run("status", path, "--list", "--json").stdout)
    assert len(left) == 30
    assert all(each["note"].startswith("unauthorized: ") for each in left), {each["note"] for each in left}
    # The last error is that of the last build, also of items that it did not begin.
    chat_server.answers(lambda _: Status(402))
    run(path, code=1)
    notes = {each["note"].partition(":")[0] for each in json.loads(run("status", path, "--list", "--json").stdout)}
    assert len(notes) == 1
    assert notes != {"unauthorized"}


def test_what_is_read_is_not_overwritten_and_what_is_needed_later_is_looked_for_first(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)
    (tmp_path / "questions.jsonl").write_text((tmp_path / "pairs.jsonl").read_text(encoding="utf-8"), encoding="utf-8")
    text = path.read_text(encoding="utf-8")
    for changed, told in (
        ('items = "questions.jsonl"\noutput = "."', "would be overwritten"),
        ('items = "pairs.jsonl"\noutput = "pairs.jsonl/in"', "cannot write"),
        ('items = "pairs.jsonl"\nduplicates = { against = ["none.jsonl"] }', "none.jsonl"),
        ('items = "pears.jsonl"', "pears.jsonl"),
        ('items = "pairs.jsonl"\nprompts = { assess = "none.txt" }', "none.txt"),
    ):
        path.write_text(text.replace('items = "pairs.jsonl"', changed), encoding="utf-8")
        refused = run(path, code=1).exception
        assert isinstance(refused, InputError), refused
        assert told in str(refused)
    assert chat_server.requests == []
    assert not (tmp_path / "runs").exists()
    assert len((tmp_path / "questions.jsonl").read_text(encoding="utf-8").splitlines()) == 1


def test_what_is_allowed_is_not_overspent_and_the_same_command_goes_on(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    refused = run(path, "--max-cost", "1e-6", code=1)
    assert isinstance(refused.exception, InputError)
    assert refused.exception.code == "too_dear"
    assert refused.exception.message.startswith("--max-cost: assess: 4 items by w would cost about $")
    assert chat_server.requests == []
    # Enough for what the first stage is likely to cost, and not for all.
    (likely,) = re.findall(r"about \$([\d.]+)", str(refused.exception))
    stopped = run(path, "--max-cost", str(float(likely) * 1.001), code=1)
    assert "--max-cost is spent; the same command goes on." in stopped.stderr
    assert "what was published before stays as it is" in stopped.stderr
    assert not (tmp_path / "published").exists()
    asked = len(chat_server.requests)
    assert 0 < asked < 12
    assert funnel(path)["review"]["kept"] == 4
    assert len(chat_server.requests) == 12


@pytest.mark.deep
def test_a_killed_build_goes_on_and_pays_nothing_twice(chat_server: ChatServer, tmp_path: Path) -> None:
    """Killed at each stage that asks, while a reply is on its way."""
    writer = Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    command = [sys.executable, "-m", "toolablate", "build", str(path), "--json"]
    for stage in ("- defined_question:", "- accurate:", "- correct_answer:"):
        held: list[str] = []

        def decide(request: dict[str, Any], stage: str = stage, held: list[str] = held) -> Any:
            step = writer.decide(request)
            if stage in request["messages"][0]["content"] and "zinc" in request["messages"][1]["content"]:
                held.append("")
                return Until(lambda: False, step)
            return step

        chat_server.answers(decide)
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            while not held:
                assert running.poll() is None
                time.sleep(0.02)
            while len(_calls(path)) % 4 != 3:
                time.sleep(0.02)
        finally:
            running.send_signal(signal.SIGKILL)
            running.wait()
    chat_server.answers(writer.decide)
    assert funnel(path)["review"]["kept"] == 4
    # Twelve are needed; the three that were on their way were asked for again.
    assert len(chat_server.requests) == 12 + 3
    assert len(_calls(path)) == 12


def _calls(path: Path) -> list[object]:
    with Workbench(path.parent / "runs" / "questions.sqlite", write=False) as bench:
        return [each for each in bench.paid().values() for _ in range(each.requests)]


def test_of_two_alike_the_bad_one_does_not_take_the_good_one_with_it(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    bad = {**PAIRS[0], "question": f"{PAIRS[0]['question']} POOR"}
    found = funnel(pipeline_of(tmp_path, chat_server, [bad, PAIRS[0]], ALONE))
    assert found["filter"]["dropped"] == {"not accurate": 1}
    assert found["review"]["kept"] == 1


def test_an_item_that_no_request_holds_waits_under_its_own_name(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    long = {**PAIRS[1], "replies": ["Sand in the pump. " * 2_000]}
    path = pipeline_of(tmp_path, chat_server, [PAIRS[0], long], f"request_chars = 20000\n{ALONE}")
    found = funnel(path)
    assert found["assess"]["waiting"] == {"longer than request_chars": 1}
    assert found["review"]["kept"] == 1
    path.write_text(path.read_text(encoding="utf-8").replace("20000", "60000"), encoding="utf-8")
    assert funnel(path)["review"]["kept"] == 2


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_what_has_a_published_name_and_is_no_file_of_its_own_is_refused(
    kind: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    mine = tmp_path / "published/questions.jsonl"
    mine.parent.mkdir()
    if kind == "folder":
        mine.mkdir()
    else:
        mine.symlink_to(path)
    refused = run(path, code=1).exception
    assert isinstance(refused, InputError)
    assert "has other files, such as 'questions.jsonl'" in refused.message
    assert chat_server.requests == []


def test_a_folder_with_other_files_is_refused_before_anything_is_asked(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE)
    (tmp_path / "published").mkdir()
    (tmp_path / "published/notes.txt").write_text("mine", encoding="utf-8")
    refused = run(path, code=1).exception
    assert isinstance(refused, InputError)
    assert "output: " in refused.message
    assert "has other files, such as 'notes.txt'" in refused.message
    assert chat_server.requests == []
    assert [each.name for each in (tmp_path / "published").iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(
    ("kind", "world", "told"),
    [
        ("questions", 'pages = "book.jsonl"', "worlds.pages: a book's, of statements; questions have worlds.threads"),
        ("statements", "threads = true", "worlds.threads: those of questions; statements have worlds.pages"),
        ("statements", 'pages = "none.jsonl"', "none.jsonl"),
    ],
)
def test_corpora_that_cannot_be_published_are_refused_first(
    kind: str, world: str, told: str, chat_server: ChatServer, tmp_path: Path
) -> None:
    rows = PAIRS[:1] if kind == "questions" else [{"text": "Coal:\nIt burns.", "discipline": "Mining"}]
    path = pipeline_of(tmp_path, chat_server, rows, f'kind = "{kind}"\n[worlds]\n{world}\n')
    refused = CliRunner().invoke(group, ["build", str(path)]).exception
    assert isinstance(refused, InputError)
    assert told in refused.message
    assert chat_server.requests == []


def test_files_that_a_build_no_longer_makes_are_gone(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    run(pipeline_of(tmp_path, chat_server, PAIRS[:2], f"{ALONE}[worlds]\nthreads = true\n"))
    assert (tmp_path / "published/threads.jsonl").exists()
    run(pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE))
    assert {each.name for each in (tmp_path / "published").iterdir()} == {"questions.jsonl", "lpfqa.jsonl", "card.md"}


@pytest.mark.deep
def test_a_build_that_is_killed_while_it_publishes_leaves_the_old_or_the_new_set(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    pipeline = load_pipeline(pipeline_of(tmp_path, chat_server, PAIRS[:2], ALONE))
    run(pipeline.file)
    old = killed_publishing.files_in(tmp_path / "published")
    run(pipeline_of(tmp_path, chat_server, PAIRS[:3], ALONE))
    new = killed_publishing.files_in(tmp_path / "published")
    (tmp_path / "old.json").write_text(json.dumps(old), encoding="utf-8")
    # A process of its own: this one has the server's threads, and what has threads cannot fork.
    child = [sys.executable, killed_publishing.__file__, str(pipeline.file), str(tmp_path / "old.json")]
    told = subprocess.run(child, check=True, capture_output=True, text=True).stdout
    found = [json.loads(line) for line in told.splitlines()]
    assert all(each in (old, new) for each in found)
    seen = [each == new for each in found]
    assert seen == sorted(seen)
    assert seen.count(False) > 3
    assert seen.count(True) > 3
    left = {each.name for each in tmp_path.iterdir() if "published" in each.name}
    assert all(re.fullmatch(r"published|\.published\.\w+\.part", name) for name in left), left


def test_items_without_a_licence_are_told(chat_server: ChatServer, tmp_path: Path) -> None:
    pipeline = load_pipeline(pipeline_of(tmp_path, chat_server, PAIRS, ALONE))
    contents = {"a": {"licence": "CC BY 4.0"}, "b": {}}
    assert licences_told(pipeline, contents) == [
        "1 of 2 questions have no `licence` of their source; the card says unknown"
    ]
    assert licences_told(pipeline, {"a": contents["a"]}) == []


@pytest.mark.parametrize(
    ("url", "blocked"),
    [
        ("https://forum.example/viewtopic.php?t=3", ("forum.example",)),
        ("http://forum.example:8080/", ("forum.example",)),
        ("https://-.example/t/3", ()),
        ("", ()),
        ("thread 3", ()),
        ("file:///threads/3", ()),
        ("http://[bad", ()),
    ],
)
def test_the_thread_of_a_question_is_kept_from_models(
    url: str, blocked: tuple[str, ...], chat_server: ChatServer, tmp_path: Path
) -> None:
    Writer(chat_server)
    for more in ("", "[worlds]\nthreads = true\n"):
        run(pipeline_of(tmp_path, chat_server, [{**PAIRS[0], "url": url}], f"{ALONE}{more}"))
        (question,) = load_questions(tmp_path / "published" / "questions.jsonl")
        # As a corpus of its own it is to be searched.
        assert question.blocked_hosts == (() if more else blocked)


def test_equal_rows_are_counted(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    again = {**PAIRS[0], "url": "https://other.example/t/1"}
    path = pipeline_of(tmp_path, chat_server, [*PAIRS[:2], PAIRS[0], again], ALONE)
    found = json.loads(run(path, "--json").stdout)
    assert (found["rows"], found["repeated"], found["stages"][0]["came"]) == (4, 2, 2)
    assert "Rows of `items`: 4, less 2 rows the same as an earlier one" in run("status", path).output
    assert "4, less 2 rows the same" in (tmp_path / "published" / "card.md").read_text(encoding="utf-8")


FORUMS = {
    "threads": '[[forums]]\nkind = "discourse"\nname = "a"\nurl = "https://a.example"\n',
    "capture": '[[forums]]\nname = "a"\nthreads = ["https://a.example/t/1"]\n',
}


@pytest.mark.parametrize("command", ["", "threads", "capture"])
def test_a_file_of_another_command_is_named_so(command: str, chat_server: ChatServer, tmp_path: Path) -> None:
    files = {"": pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)}
    for name, text in FORUMS.items():
        files[name] = tmp_path / f"{name}.toml"
        files[name].write_text(f'output = "{name}.jsonl"\n{text}', encoding="utf-8")
    plan = tmp_path / "plan.toml"
    plan.write_text('conditions = ["none"]\n[questions]\nfile = "q.jsonl"\n', encoding="utf-8")
    for name, path in [*files.items(), ("run", plan)]:
        if name == command:
            continue
        refused = run(*filter(None, [command, path]), code=1).exception
        assert isinstance(refused, InputError)
        of = "run" if name == "run" else f"build {name}".strip()
        assert (
            refused.message
            == f"{path} is a file of `toolablate {of}`, not of `{f'toolablate build {command}'.strip()}`"
        )


@pytest.mark.parametrize("name", ["", "threads", "capture"])
def test_a_plan_is_no_file_of_a_build(name: str, chat_server: ChatServer, tmp_path: Path) -> None:
    path = pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)
    if name:
        path.write_text(f'output = "{name}.jsonl"\n{FORUMS[name]}', encoding="utf-8")
    refused = CliRunner().invoke(group, ["run", str(path)]).exception
    assert isinstance(refused, InputError)
    of = f"build {name}".strip()
    assert refused.message == f"{path} is a file of `toolablate {of}`, not of `toolablate run`"
    assert refused.hint == f"toolablate {of} {path}"


def test_a_pipeline_that_is_not_there_is_named_so(tmp_path: Path) -> None:
    assert str(run(tmp_path / "none.toml", code=1).exception).startswith("there is no pipeline at ")


def test_what_is_waited_for_is_told_meanwhile(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("toolablate.experiments.running.progress.SECONDS_BETWEEN_LINES", 0.0)
    busy = Status(429, headers={"retry-after": "1"})
    writer = Writer(chat_server)
    refusals = [busy]
    chat_server.answers(lambda request: refusals.pop() if refusals else writer.decide(request))
    told = run(pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE)).stderr
    told = " ".join(told.split())
    assert f"waiting for w at {chat_server.url} until" in told
    assert "(it asked for 1 s)" in told
    assert f"w at {chat_server.url} refused 1 request" in told
    assert "judges" not in told


def test_a_build_that_is_stopped_speaks_of_requests() -> None:
    out = io.StringIO()
    progress = RunProgress(Console(file=out, width=120))
    progress.grading(3, "build")
    progress.stopping()
    assert out.getvalue() == "Stopping: running requests finish first; Ctrl-C again cancels them\n"
