"""`toolablate contamination`, by the real command line and over real HTTP."""

import fcntl
import json
import random
import re
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.contamination.contamination_plans import (
    KEY,
    few,
    flat,
    kept,
    prompt,
    ran,
    remembering,
    text,
    write_plan,
    write_questions,
)
from tests.experiments.plan_files import wait_for
from tests.servers.chat_server import ChatServer, Status, Until, closed_port

from toolablate.experiments.contamination.prompts import cut, load_contamination_plan, room_for
from toolablate.traces.errors import InputError

ROOT = Path(__file__).parents[3]


@pytest.mark.deep
def test_what_was_memorised_is_found_and_benchmarks_are_ordered_by_it(chat_server: ChatServer, tmp_path: Path) -> None:
    drawn = random.Random(1)
    shares = {"fresh": 0, "leaked": 30, "common": 60}
    benchmarks = {name: {f"{name}-{n}": prompt(drawn) for n in range(80)} for name in shares}
    known = {each: benchmarks[name][each] for name, count in shares.items() for each in list(benchmarks[name])[:count]}
    chat_server.answers(remembering(known))
    plan = write_plan(tmp_path, chat_server.url, benchmarks)
    done = ran(plan, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    figures = {each["benchmark"]: each for each in found["results"]}
    for name, count in shares.items():
        figure = figures[name]
        assert (figure["questions"], figure["missing"], figure["too_short"]) == (80, 0, 0)
        chance = figure["by_chance"]["value"]
        assert 5 < chance < 25, "unrelated text is far from 0"
        expected = (count * 100 + (80 - count) * chance) / 80
        assert figure["rouge_l"]["value"] == pytest.approx(expected, abs=2)
        assert figure["above_chance"]["value"] == pytest.approx(figure["rouge_l"]["value"] - chance)
        assert figure["rouge_l"]["ci95"][0] < expected < figure["rouge_l"]["ci95"][1]
        assert (figure["long_runs"], figure["able"], figure["chance_runs"]) == (count, 80, 0)
        assert figure["recall"] == pytest.approx(figure["precision"])
        contaminated = {each["question"] for each in figure["of_questions"] if each["own"]["rouge_l"] == 100}
        assert contaminated == {f"{name}-{n}" for n in range(count)}
    assert figures["fresh"]["longest_run"] < 13
    low, high = figures["fresh"]["above_chance"]["ci95"]
    assert low < 0 < high
    differences = {(each["benchmark"], each["other"]): each for each in found["differences"]}
    assert set(differences) == {("fresh", "leaked"), ("fresh", "common"), ("leaked", "common")}
    assert all(each["rouge_l"]["ci95"][1] < 0 > each["above_chance"]["ci95"][1] for each in differences.values())
    page = ran(plan, "--questions", "3").stdout
    assert page.count("24 of 24") == 3
    assert len(chat_server.requests) == 240, "what came is not asked for again"


def test_each_prompt_is_cut_and_its_beginning_alone_is_sent(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(lambda request: text(""))
    chinese = "某公司在2023年的收入是多少亿元人民币？请说明。"
    plan = write_plan(tmp_path, chat_server.url, {"B": {"en": "a b c d e f g h i j.", "zh": chinese, "no": "a b c."}})
    done = ran(plan, "--json")
    sent = {request["prompt"]: request for request in chat_server.requests}
    assert set(sent) == {"a b c d", "某公司在2023年的收"}
    assert sent["a b c d"] == {"model": "base", "prompt": "a b c d", "max_tokens": 16, "temperature": 0.0}
    (figure,) = json.loads(done.stdout)["results"]
    assert (figure["questions"], figure["too_short"], figure["empty"]) == (2, 1, 2)
    assert figure["rouge_l"]["value"] == 0, "a model that ends a text has no more of it"


@pytest.mark.parametrize(
    ("asked", "share", "given"),
    [
        ("one two three four five six seven eight nine ten", 0.4, "one two three four"),
        ("one two three four five six seven eight nine ten", 0.01, "one"),
        ("one two three four five six seven eight nine ten", 0.99, "one two three four five six seven eight nine"),
        ("  Solve \\frac{1}{2} + 3.25 x = 7 for x, then y.\n", 0.4, "Solve \\frac{1}{2} + 3.25"),
        ("We can't say, don't know, won't ask and can't tell.", 0.4, "We can't say, don't"),
        ("x_1 = y_2 + z_3 - v_4 + w_5 at 1.2.3", 0.4, "x_1 = y_2 + z_3"),
        ("x_1 = y_2 + z_3 - v_4 + w_5 at 1.2.3", 0.5, "x_1 = y_2 + z_3 - v_4"),
        ("e\u0301te\u0301 " * 12, 0.4, "e\u0301te\u0301 " * 4 + "e\u0301te\u0301"),
        ("हिन्दी में यह एक लंबा वाक्य है जो काटा जाएगा", 0.35, "हिन्दी में यह एक"),
        ("か\u3099" * 12, 0.4, "か\u3099" * 5),
        ("他说“好’吗”，我说“不好’吧”，都说好", 0.25, "他说“好"),
        ("a'" * 12, 0.4, "a'" * 10 + "a"),
        ("one two three four five six seven eight nine", 0.4, None),
        ("?" * 100, 0.4, None),
    ],
)
def test_where_a_prompt_is_cut(asked: str, share: float, given: str | None) -> None:
    parts = cut(asked, share)
    assert (parts and parts[0]) == given
    assert parts is None or "".join(parts) == asked.strip()


def test_a_rest_is_as_long_as_it_is_compared_and_a_model_has_room_for_it() -> None:
    parts = cut("word " * 10_000, 0.4)
    assert parts is not None
    assert len(parts[1].split()) == 500
    assert [room_for("x" * length) for length in (1, 200, 100_000)] == [16, 100, 4096]
    assert room_for("字" * 100) == 150


def test_a_rate_limit_is_waited_out(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.plays(Status(429, headers={"retry-after-ms": "20"}), Status(503, headers={"retry-after-ms": "20"}))
    chat_server.answers(lambda request: text(" so"))
    done = ran(write_plan(tmp_path, chat_server.url, {"B": few()}))
    assert done.exit_code == 0, done.output
    assert len(chat_server.requests) == 14
    assert "refused 2 requests (429, 503)" in flat(done.stderr)


def test_what_infrastructure_failed_is_not_scored_and_asked_again(chat_server: ChatServer, tmp_path: Path) -> None:
    known = few()

    def filtered(request: dict[str, Any]) -> Any:
        spoiled = known["q3"].startswith(request["prompt"])
        return Status(400, {"message": "no", "code": "content_filter"}) if spoiled else remembering(known)(request)

    chat_server.answers(filtered)
    plan = write_plan(tmp_path, chat_server.url, {"B": known})
    done = ran(plan, "--json")
    assert done.exit_code == 1
    (figure,) = json.loads(done.stdout)["results"]
    assert (figure["questions"], figure["missing"], figure["rouge_l"]["value"]) == (11, 1, 100)
    assert "base: 1 x content_filter" in done.stderr
    assert "1 is missing; the same command asks again" in done.stderr
    chat_server.answers(remembering(known))
    assert ran(plan).exit_code == 0
    assert len(chat_server.requests) == 13


@pytest.mark.parametrize(
    ("answer", "code"), [(401, "unauthorized"), (404, "no_text_completions"), (402, "insufficient_quota")]
)
def test_an_endpoint_that_refuses_all_is_given_up_and_told(
    chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: int, code: str
) -> None:
    monkeypatch.setenv("TEST_KEY", KEY)
    chat_server.answers(lambda request: Status(answer, {"message": f"not with {KEY}"}))
    plan = write_plan(tmp_path, chat_server.url, {"B": few(40)}, "api_key_env = 'TEST_KEY'")
    done = ran(plan)
    assert done.exit_code == 1
    assert len(chat_server.requests) <= 2
    assert f"x {code}" in done.stderr
    assert "more were not asked: it would refuse them all" in flat(done.stderr)
    assert ("serves no text completions" in flat(done.stderr)) == (answer == 404)
    assert "40 are missing" in done.stderr
    assert KEY not in done.output
    assert (tmp_path / "kept/came.jsonl").read_bytes() == b""


def test_an_endpoint_that_refuses_one_request_like_the_other_is_given_up(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(lambda request: Status(400, {"message": "no"}))
    done = ran(write_plan(tmp_path, chat_server.url, {"B": few(40)}))
    assert len(chat_server.requests) < 15
    assert "x bad_request" in done.stderr
    assert "failed in a row" in flat(done.stderr)


@pytest.mark.deep
def test_an_endpoint_that_is_down_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolablate.agents.chat.RetryPolicy.delay", lambda *_: 0.0)
    done = ran(write_plan(tmp_path, f"http://127.0.0.1:{closed_port()}", {"B": few(40)}))
    assert re.search(r"more were not asked: it cannot be reached$", done.stderr, re.MULTILINE)
    assert "x unreachable" in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[benchmarks]", "share = 1.0\n[benchmarks]", "share: input should be less than 1"),
        ("[benchmarks]", "shares = 0.4\n[benchmarks]", "shares: unknown key; did you mean 'share'?"),
        ("B = 'B.jsonl'", "", "benchmarks: "),
        ("B = 'B.jsonl'", "B = 3", "benchmarks.B: "),
        ("B = 'B.jsonl'", "' ' = 'B.jsonl'", "both a name and a question file are needed"),
        ("provider = 'openai'", "provider = 'scripted'", "provider: found 'scripted', allowed is 'openai'"),
        ("concurrency", "api = 'responses'\nconcurrency", "text completions are asked for here"),
        ("concurrency", "api_key_env = 'NOT_SET'\nconcurrency", "NOT_SET is not set"),
        (
            "concurrency",
            "sampling = { logprobs = true }\nconcurrency",
            "sampling.logprobs is not for a text completion",
        ),
        ("name = 'base'", "name = 'base'\n[[models]]\nprovider = 'openai'\nname = 'base'", "'base' is used twice"),
        ("B.jsonl", "C.jsonl", "C.jsonl: cannot be read"),
        ("[benchmarks]", "[benchmarks", "is not valid TOML"),
    ],
)
def test_what_is_wrong_with_a_plan_is_told_before_anything_is_written(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    plan = write_plan(tmp_path, "http://127.0.0.1:9/v1", {"B": few()})
    plan.write_text(plan.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    done = ran(plan)
    assert isinstance(done.exception, InputError)
    assert said in str(done.exception)
    assert not (tmp_path / "kept").exists()


def test_questions_of_one_source_are_one_and_never_each_others_chance(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(remembering({}))
    plan = write_plan(tmp_path, chat_server.url, {"B": few()})
    write_questions(tmp_path / "B.jsonl", few(), cluster="one text")
    (figure,) = json.loads(ran(plan, "--json").stdout)["results"]
    assert (figure["clusters"], figure["by_chance"], figure["rouge_l"]["ci95"]) == (1, None, None)


def test_the_plan_of_the_guide_is_valid(tmp_path: Path) -> None:
    section = (
        (ROOT / "docs/lpfqa.md").read_text(encoding="utf-8").partition("## Contamination test")[2].partition("\n## ")[0]
    )
    (example,) = re.findall(r"^```toml\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    path = tmp_path / "plan.toml"
    path.write_text(example, encoding="utf-8")
    plan = load_contamination_plan(path)
    assert set(tomllib.loads(example)) == set(type(plan).model_fields), "it shows every key"
    assert plan.share == 0.4


# What `toolablate contamination` keeps: stopped, killed, damaged, written by two, asked otherwise.


def start(plan: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "toolablate", "contamination", str(plan)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.deep
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_a_test_that_is_stopped_goes_on_where_it_stopped(
    chat_server: ChatServer, tmp_path: Path, sign: signal.Signals
) -> None:
    known = few(20)
    stopped, answer = list[signal.Signals](), remembering(known)
    chat_server.answers(
        lambda request: Until(lambda: stopped, answer(request)) if len(chat_server.requests) > 5 else answer(request)
    )
    plan = write_plan(tmp_path, chat_server.url, {"B": known})
    with start(plan) as running:
        wait_for(lambda: len(chat_server.requests) >= 6)
        running.send_signal(sign)
        stopped.append(sign)
        _, errors = running.communicate(timeout=60)
    assert "Traceback" not in errors
    if sign == signal.SIGINT:
        assert running.returncode == 1
        assert "Stopped; what was finished is kept, and the same command goes on from there." in errors
    before, asked = kept(plan), len(chat_server.requests)
    assert 2 <= len(before) < 20
    done = ran(plan, "--json")
    assert done.exit_code == 0, done.output
    assert len(chat_server.requests) - asked == 20 - len(before)
    assert kept(plan)[: len(before)] == before
    assert len(kept(plan)) == 20
    assert f"{20 - len(before)} of 20 prompts to continue ({len(before)} are there already)" in done.stderr


@pytest.fixture
def complete(chat_server: ChatServer, tmp_path: Path) -> Path:
    known = few()
    chat_server.answers(remembering(known))
    plan = write_plan(tmp_path, chat_server.url, {"B": known})
    assert ran(plan).exit_code == 0
    return plan


@pytest.mark.deep
@pytest.mark.parametrize("left", [1, 15, 25, 100, -1])
def test_a_line_that_was_cut_off_is_dropped_and_asked_again(chat_server: ChatServer, complete: Path, left: int) -> None:
    """By a byte after its beginning, and so on; -1 leaves all but the line's end, which is whole."""
    file = complete.parent / "kept/came.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-1]) + lines[-1][:left])
    before = len(chat_server.requests)
    assert ran(complete).exit_code == 0
    assert len(chat_server.requests) - before == (0 if left == -1 else 1)
    assert len(kept(complete)) == 12
    assert file.read_bytes().splitlines(keepends=True)[:-1] == lines[:-1]
    assert file.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{}\n", "model: Field required"),
        (b"{broken\n", "Invalid JSON"),
        (b"notes of mine", "Invalid JSON"),
        (b'{"version":2}\n', "version: Input should be 1"),
        (b"\xff\xfe\n", ":4: no continuation"),
    ],
)
def test_other_damage_is_told_with_its_line_and_nothing_is_touched(
    chat_server: ChatServer, complete: Path, line: bytes, said: str
) -> None:
    file = complete.parent / "kept/came.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    damaged = b"".join(lines[:3]) + line if not line.endswith(b"\n") else b"".join([*lines[:3], line, *lines[3:]])
    file.write_bytes(damaged)
    before = len(chat_server.requests)
    done = ran(complete)
    assert isinstance(done.exception, InputError)
    assert f"{file}:4: no continuation of a prompt" in str(done.exception)
    assert said in str(done.exception)
    assert file.read_bytes() == damaged
    assert len(chat_server.requests) == before


def test_a_file_that_another_process_writes_is_left_alone(complete: Path) -> None:
    with (complete.parent / "kept/came.jsonl").open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = ran(complete)
    assert isinstance(done.exception, InputError)
    assert "is being written by another process" in str(done.exception)


@pytest.mark.deep
def test_another_share_limit_or_model_is_asked_and_what_came_before_is_kept(
    chat_server: ChatServer, complete: Path
) -> None:
    original = complete.read_text(encoding="utf-8")
    for change, asked in (("share = 0.5\n", 12), ("share = 0.5\nlimit = 5\n", 0), ("limit = 5\n", 0), ("", 0)):
        complete.write_text(change + original, encoding="utf-8")
        before = len(chat_server.requests)
        done = ran(complete, "--json")
        assert len(chat_server.requests) - before == asked
        (figure,) = json.loads(done.stdout)["results"]
        assert figure["questions"] == (5 if "limit" in change else 12)
    complete.write_text(original + "sampling = { temperature = 1.0 }\n", encoding="utf-8")
    ran(complete)
    assert len(kept(complete)) == 36
