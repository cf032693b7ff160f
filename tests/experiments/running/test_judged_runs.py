"""Runs whose answers a judge grades, by the real command line and over real HTTP."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from tests.conftest import Cli
from tests.experiments.judged import (
    GRADE,
    RIGHT,
    WRONG,
    all_scores,
    asked_about,
    grades,
    judge_at,
    judged_plan,
    let_judge,
    riddles,
    verdicts,
)
from tests.servers.chat_server import ChatServer, Status, reply

from toolablate.experiments.running import progress as module
from toolablate.experiments.running.runner import GivenUp
from toolablate.traces.store import Store

PRICE = "price = { input = 100, output = 1000 }"
CHOICE = {"id": "c", "prompt": "Which?", "choices": ["this", "that"], "answer": "A"}


def test_a_judge_grades_what_has_ended(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-0123456789")
    chat_server.answers(grades)
    judge = judge_at(chat_server.url, more=f"{PRICE}\napi_key_env = 'JUDGE_KEY'")
    plan = judged_plan(tmp_path, judge)
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert "8 answers to be graded by judges" in ran.stderr
    assert "Judge j: 8 answers graded (8 requests, $0.048)" in ran.stdout
    found = verdicts(store)
    assert found.pop(("q0", "none")) == "wrong"
    assert len(found) == 7
    assert set(found.values()) == {"correct"}
    assert {headers["authorization"] for headers in chat_server.headers} == {"Bearer sk-judge-0123456789"}
    assert b"sk-judge-0123456789" not in store.read_bytes()
    with Store(store) as opened:
        assert {trace.cost_usd for trace in opened.traces()} == {None}
    assert cli("verify", store).returncode == 0
    again = json.loads(cli("run", plan, "--json").stdout)
    assert (again["missing"], again["ungraded"], again["judges"]) == (0, 0, [])
    assert len(chat_server.requests) == 8


@pytest.mark.deep
def test_a_plan_may_have_answers_for_judges_and_for_others(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(grades)
    questions = [*riddles(2), CHOICE]
    judge = judge_at(chat_server.url)
    ran = cli("run", judged_plan(tmp_path, judge, questions=questions, answers={"c": "Answer: A"}))
    assert ran.returncode == 0, ran.stderr
    with Store(store) as opened:
        (run,) = opened.runs()
        assert [name.partition("[")[0] for name in run.scorers] == ["choice", "judge"]
    assert len(chat_server.requests) == 4
    (compared,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    assert (compared["baseline_score"], compared["score"]) == (pytest.approx(200 / 3), 100)
    by_kind = json.loads(cli("compare", store, "--by", "kind", "--json").stdout)["comparisons"]
    assert len(by_kind) == 3
    plan = tmp_path / "plan.toml"
    let_judge(plan, "")
    assert cli("run", plan).returncode == 0
    assert len(chat_server.requests) == 6
    assert verdicts(store)["c", "none"] == "wrong"
    assert cli("verify", store).returncode == 0


def test_a_broken_grade_is_asked_for_again_and_then_left_unscored(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    def unsure(request: dict[str, object]) -> object:
        asked = str(request["messages"]).count("assistant")
        mends = asked_about(request) == "Riddle 1" and asked
        return reply(GRADE % 1 if mends else "It is hard to say. \x1b]0;owned\x07")

    chat_server.answers(unsure)
    plan = judged_plan(tmp_path, judge_at(chat_server.url) + "[judging]\nasks = 2\n", count=2, conditions=["none"])
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert len(chat_server.requests) == 4
    told = " ".join(ran.stdout.split())
    goes_on = "1 answer has no score, since no reply of a judge has a grade; the same command asks again with"
    assert goes_on in told
    assert "Judge j: 1 answer graded (4 requests" in told
    assert "j: 1 answer left unscored: no grade in the last of the judge's 2 replies" in told
    assert verdicts(store) == {("q0", "none"): "unscored", ("q1", "none"): "correct"}
    broken, mended = sorted(all_scores(store), key=lambda score: score.verdict, reverse=True)
    assert (broken.value, mended.value) == (None, 1.0)
    assert broken.judgement is not None
    shown = cli("show", store, broken.trial).stdout
    assert "judged by j" in shown
    assert "asked 2 times" in " ".join(shown.split())
    assert "It is hard to say" not in shown
    whole = cli("show", store, broken.trial, "--full").stdout
    assert whole.count("It is hard to say") == 2
    assert "\x1b" not in whole
    again = cli("run", plan)
    assert (again.returncode, len(chat_server.requests)) == (1, 4)
    assert goes_on in " ".join(again.stdout.split())
    assert json.loads(cli("run", plan, "--json").stdout)["left_unscored"] == 1
    chat_server.answers(lambda _: reply(GRADE % 1))
    mended = cli("run", plan, "--set", "judging.asks=3")
    assert mended.returncode == 0, mended.stdout
    assert "no score" not in mended.stdout
    assert len(chat_server.requests) == 5


def test_an_empty_answer_needs_no_judge(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    plan = judged_plan(
        tmp_path, judge_at(chat_server.url), answers={"q0": "  "}, count=1, section="unparsed = 'exclude'"
    )
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert chat_server.requests == []
    assert {(score.verdict, score.value) for score in all_scores(store)} == {("unparsed", None)}
    assert "Judge j: 2 answers graded (without asking it)" in ran.stdout


def test_the_words_of_a_row_reach_the_judge_as_they_are(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: reply(GRADE % 1))
    prompt = {"system": "You judge.", "before": "ANSWER: <", "after": "> Well?"}
    questions = riddles(1, rubric={"prompt": prompt})
    plan = judged_plan(
        tmp_path, judge_at(chat_server.url) + "[judging]\nprompt = 'row'\n", questions=questions, conditions=["none"]
    )
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    (request,) = chat_server.requests
    assert [message["content"] for message in request["messages"]] == ["You judge.", f"ANSWER: <{WRONG}> Well?"]
    (score,) = all_scores(store)
    assert "prompt=row" in score.scorer


def test_a_scripted_judge_needs_no_endpoint(tmp_path: Path, cli: Cli, store: Path) -> None:
    lines = [
        {"question": "q0", "replies": [{"content": GRADE % 0}]},
        {"question": "q0", "repeat": 1, "replies": [{"content": GRADE % 1}]},
    ]
    (tmp_path / "grades.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    judge = "[[judges]]\nprovider = 'scripted'\nname = 'm'\nscript = 'grades.jsonl'\n[judging]\nagain = 1\n"
    ran = cli("run", judged_plan(tmp_path, judge, count=1, answers={"q0": RIGHT}))
    assert ran.returncode == 0, ran.stderr
    assert {(score.scorer.count("again"), score.verdict) for score in all_scores(store)} == {
        (0, "wrong"),
        (1, "correct"),
    }
    trial = all_scores(store)[0].trial
    assert "judged by m (scripted)" in cli("show", store, trial).stdout
    told = json.loads(cli("show", store, trial, "--json").stdout)["scores"]
    assert [score["value"] for score in told] == [0, 1], "the grade that counts comes first"
    assert told[0]["judgement"]["calls"][0]["reply"]["message"]["content"] == GRADE % 0


@pytest.mark.deep
def test_what_only_grades_starts_no_sandbox(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(lambda request: Status(401))
    plan = judged_plan(tmp_path, judge_at(chat_server.url), conditions=["python"], extra="sandbox = 'none'")
    starting = "Starting the sandbox"
    assert starting in cli("run", plan).stderr
    chat_server.answers(grades)
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert starting not in ran.stderr
    assert len(verdicts(store)) == 4


def test_what_a_judged_store_shows_of_effects_is_what_power_goes_by(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(grades)
    plan = judged_plan(tmp_path, judge_at(chat_server.url) + "[judging]\nagain = 1\n", count=8)
    assert cli("run", plan).returncode == 0
    foreseen = cli("power", plan, "--from", store, "--json")
    assert foreseen.returncode == 0, foreseen.stderr
    listed = cli("show", store, "--verdict", "wrong", "--json")
    assert [trial["question"] for trial in json.loads(listed.stdout)["trials"]] == ["q0"]


def test_gradings_have_a_bar_and_lines_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_LINES", 0.0)
    lines, screen = io.StringIO(), io.StringIO()
    for console in (Console(file=lines, width=100), Console(file=screen, force_terminal=True, width=100)):
        with module.RunProgress(console) as progress:
            progress.begin(2, [])
            # Of a later round that has nothing to run nothing is said.
            progress.begin(1, [])
            progress.grading(3)
            progress.graded(made=True)
            progress.graded(made=False)
            progress.judge_given_up("j", GivenUp(1, "it is \x1b[31mdown"))
            progress.beat()
            progress.stopping()
            progress.cancelling()
    assert lines.getvalue().splitlines() == [
        "0 of 2 trials to run (2 are in the store already)",
        "3 answers to be graded by judges",
        "1/3 answers graded, 1 could not be graded",
        "Stopping: running judgements finish first; Ctrl-C again cancels them",
        "Cancelling running judgements: the next run does them again",
        "j: 1 answer left ungraded, it is down",
    ]
    assert "answers graded" in screen.getvalue()
    assert "2/3" in screen.getvalue()
