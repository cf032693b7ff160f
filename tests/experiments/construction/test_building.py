"""A pipeline from pairs to published questions: each item has one fate, and nothing is paid for twice."""

import io
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console
from tests.experiments.construction.writing import ALONE, PAIRS, Writer, funnel, pipeline_of, run
from tests.servers.chat_server import ChatServer, Status, Until, reply

from toolablate.benchmarks.lpfqa.published import load_lpfqa
from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.experiments.construction import kinds
from toolablate.experiments.construction.question_items import load_question_items
from toolablate.experiments.construction.workbench import Workbench
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.errors import InputError


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
    (canary,) = {each.metadata["canary"] for each in questions}
    assert f"- Canary: `{canary}`" in card
    assert "| Batteries | CC BY-SA 4.0 | 5 |" in card
    assert "- Review: none, published without people" in card
    assert "| stage | in | out | LPFQA | dropped | waiting |" in card
    assert r"| review | 5 | 5 | \~ 1,000 → 430 |  |  |" in card
    assert [each["paper"] for each in found.values()] == ["> 2,000", "", "", "", "", "~ 1,000 → 430", ""]
    # Everything is there already.
    assert funnel(path) == found
    assert len(chat_server.requests) == asked
    assert json.loads(run("status", path, "--json").stdout)["stages"] == list(found.values())


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


def test_a_forum_has_one_name_in_all_its_rows(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    forums = ["Bench of bob_carter", "Bench of bob_carter", "Bench of bob_carter", "Bob Carter's seals"]
    names = [[], ["Bob Carter"], ["Anne Gray"], ["Anne Gray"]]
    pairs = [{**pair, "forum": forums[n], "names": names[n]} for n, pair in enumerate(PAIRS)]
    run(pipeline_of(tmp_path, chat_server, pairs, ALONE))
    found = [each.metadata["forum"] for each in load_questions(tmp_path / "published" / "questions.jsonl")]
    assert found == [*["Bench of [name]"] * 3, "Bob Carter's seals"]


def test_the_explanation_of_an_answer_stands_apart_from_it(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    run(pipeline_of(tmp_path, chat_server, [PAIRS[0], {**PAIRS[1], "explanation": ""}], ALONE))
    asked = [each["messages"][1]["content"] for each in chat_server.requests]
    found = {repr(re.findall(r"<(answer|explanation) \w+>\n(.*)\n</\1 ", text)) for text in asked}
    assert found == {
        repr([("answer", "The lithium salt number 3"), ("explanation", "The others decompose.")]),
        repr([("answer", "The sodium salt number 4")]),
    }


def test_what_fails_a_stage_is_dropped_with_its_reason(chat_server: ChatServer, tmp_path: Path) -> None:
    marks = ("NOQUESTION", "NOANSWER", "DISPUTED", "POOR", "EASY")
    pairs = [
        {**PAIRS[n % 4], "question": f"{mark}: what does {mark.lower() * 3} mean there?"}
        for n, mark in enumerate(marks)
    ]
    pairs += [PAIRS[0], {**PAIRS[0], "question": PAIRS[0]["question"].upper()}]
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


def test_items_are_read_once(chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read = list[object]()

    def counting(path: object) -> Any:
        read.append(path)
        return load_question_items(path)  # type: ignore[arg-type]

    monkeypatch.setattr(kinds, "load_question_items", counting)
    Writer(chat_server)
    run(pipeline_of(tmp_path, chat_server, PAIRS[:1], ALONE))
    assert len(read) == 1


def test_an_endpoint_that_fails_loses_nothing(chat_server: ChatServer, tmp_path: Path) -> None:
    writer = Writer(chat_server, {"zinc": [Status(302)]})
    empty = [reply("")]
    chat_server.answers(lambda request: empty.pop() if empty else writer.decide(request))
    path = pipeline_of(tmp_path, chat_server, PAIRS, ALONE)
    ran = run(path, "--json", code=1)
    told = " ".join(ran.stderr.split())
    assert "assess, writer w: 4 items done (5 requests, of which 1 had no reply in words, $0.0001)" in told
    assert "filter, checker w: 3 items done (3 requests, $0.00006)" in told
    assert "filter, checker w: 1 item could not be asked for: redirected: " in told
    assert "Not done: 1 item not asked for; what was published before stays as it is." in told
    assert "Judge" not in told
    assert "to be done" not in told
    found = {each["stage"]: each for each in json.loads(ran.stdout)["stages"]}
    assert found["filter"]["missing"] == 1
    status = run("status", path).stderr
    assert "1 item not asked for yet: what is said of the set is of what passed so far" in status
    (line,) = run("status", path, "--list").stdout.splitlines()
    assert " filter waits: not asked for: redirected: " in line
    assert line.endswith(f"| {PAIRS[2]['question'][:20]}{line[-40:]}")
    (left,) = json.loads(run("status", path, "--list", "--json").stdout)
    assert left["waiting"] == "not asked for"
    assert left["note"].startswith("redirected: ")
    assert found["review"]["kept"] == 3
    assert not (tmp_path / "published").exists(), "a part would take the place of the whole"
    assert funnel(path)["review"]["kept"] == 4
    assert len(load_questions(tmp_path / "published" / "questions.jsonl")) == 4


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
        ('items = "questions.jsonl"\noutput = "."', "lies in `output`"),
        ('items = "pairs.jsonl"\noutput = "pairs.jsonl/in"', "cannot write"),
        ('items = "pairs.jsonl"\noutput = "runs"', "workbench: "),
        ('items = "published/pairs.jsonl"', " items: "),
        ('items = "pairs.jsonl"\nreplies = { mode = "record", file = "published/replies.sqlite" }', "replies.file: "),
        ('items = "pairs.jsonl"\ncard = { audit = "published/audit.jsonl" }', "card.audit: "),
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


@pytest.mark.parametrize("same", [True, False])
def test_of_sources_that_contradict_each_other_the_checker_decides(
    same: bool, chat_server: ChatServer, tmp_path: Path
) -> None:
    question = "What colour has permanganate in alkaline water after a day of light?" + " SAME" * same
    pairs = [{**PAIRS[0], "question": question, "answer": answer} for answer in ("It is colourless", "Brown, MnO2")]
    Writer(chat_server)
    path = pipeline_of(tmp_path, chat_server, pairs, ALONE)
    found = funnel(path)["deduplicate"]
    assert (found["requests"], found["dropped"]) == (1, {"duplicate": 1} if same else {})
    rows = json.loads(run("status", path, "--list", "--json").output)
    notes = [each["note"] for each in rows if each["stage"] == "deduplicate"]
    assert [note.endswith("; answers differ: 'It is colourless'") and ": ;" not in note for note in notes] == [
        True
    ] * same


def test_an_item_that_no_request_holds_waits_under_its_own_name(chat_server: ChatServer, tmp_path: Path) -> None:
    Writer(chat_server)
    long = {**PAIRS[1], "replies": ["Sand in the pump. " * 2_000]}
    path = pipeline_of(tmp_path, chat_server, [PAIRS[0], long], f"request_chars = 20000\n{ALONE}")
    found = funnel(path)
    assert found["assess"]["waiting"] == {"longer than request_chars": 1}
    assert found["review"]["kept"] == 1
    path.write_text(path.read_text(encoding="utf-8").replace("20000", "60000"), encoding="utf-8")
    assert funnel(path)["review"]["kept"] == 2


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
