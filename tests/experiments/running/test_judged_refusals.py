"""Judges that fail or refuse: nothing is scored that was not graded, and what helps is told."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.judged import GRADE, all_scores, asked_about, grades, judge_at, judged_plan, verdicts
from tests.servers.chat_server import ChatServer, Status, reply


@pytest.mark.deep
def test_a_judge_that_is_down_is_given_up_and_scores_nothing(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(500, {"message": "out of order"}))
    plan = judged_plan(
        tmp_path, judge_at(chat_server.url, more="concurrency = 4"), count=30, extra="runner.attempts = 1"
    )
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert len(chat_server.requests) < 20
    assert "failed in a row" in ran.stderr
    assert "j: 60 answers could not be graded: server_error; the same command tries again" in " ".join(
        ran.stdout.split()
    )
    assert all_scores(store) == []
    chat_server.answers(grades)
    assert cli("run", plan).returncode == 0
    assert Counter(verdicts(store).values()) == {"correct": 59, "wrong": 1}


def test_one_answer_that_cannot_be_graded_holds_up_no_other(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    def refuses_one(request: dict[str, Any]) -> Any:
        return Status(400, {"message": "no"}) if asked_about(request) == "Riddle 1" else grades(request)

    chat_server.answers(refuses_one)
    ran = cli("run", judged_plan(tmp_path, judge_at(chat_server.url)), "--json")
    assert ran.returncode == 1
    told = json.loads(ran.stdout)
    assert (told["missing"], told["ungraded"]) == (0, 2)
    (work,) = told["judges"]
    assert (work["graded"], [(each["code"], each["count"]) for each in work["ungraded"]]) == (6, [("bad_request", 2)])
    assert len(verdicts(store)) == 6


def test_a_refusal_for_the_rate_is_waited_out(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.plays(Status(429, headers={"Retry-After": "0"})).answers(grades)
    ran = cli("run", judged_plan(tmp_path, judge_at(chat_server.url), count=1))
    assert ran.returncode == 0, ran.stderr
    assert "refused 1 request (429)" in ran.stdout
    assert len(verdicts(store)) == 2


def test_a_judge_that_refuses_the_key_is_not_asked_for_every_answer(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(401, {"message": "\x1b]0;owned\x07 bad key"}))
    ran = cli("run", judged_plan(tmp_path, judge_at(chat_server.url, more="concurrency = 2"), count=20))
    assert ran.returncode == 1
    assert len(chat_server.requests) <= 2
    assert "j: 38 answers left ungraded, it would refuse them all" in " ".join(ran.stderr.split())
    assert "40 answers could not be graded: unauthorized" in ran.stdout
    assert "\x1b" not in ran.stderr + ran.stdout
    assert all_scores(store) == []
    assert "40 ended trials have no score yet" in cli("status", store).stdout


def test_what_a_judge_writes_ends_no_run(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(lambda request: reply("\ud800 " + "{" * 50_000 + GRADE % 1))
    ran = cli("run", judged_plan(tmp_path, judge_at(chat_server.url) + "[judging]\nasks = 1\n", count=1))
    assert ran.returncode == 0, ran.stderr
    assert len(all_scores(store)) == 2
    assert cli("verify", store).returncode == 0


@pytest.mark.deep
@pytest.mark.parametrize(
    ("said", "code", "each"),
    [(reply("Hm."), "no_grade", 1), (reply(""), "empty_reply", 2)],
    ids=["without a grade", "without words"],
)
def test_a_judge_that_gives_no_grades_is_not_paid_for_all_answers(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, said: Any, code: str, each: int
) -> None:
    chat_server.answers(lambda request: said)
    judge = judge_at(chat_server.url, more="concurrency = 1") + "[judging]\nasks = 1\n"
    plan = judged_plan(tmp_path, judge, count=15, extra="runner.attempts = 2", conditions=["none"])
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert len(chat_server.requests) == 10 * each
    assert "j: 5 answers left ungraded, 10 failed in a row" in " ".join(ran.stderr.split())
    assert f"answers could not be graded: {code}; the same command tries again" in " ".join(ran.stdout.split())
    chat_server.answers(grades)
    left = each == 1
    assert cli("run", plan).returncode == left
    assert Counter(verdicts(store).values())["unscored"] == (10 if left else 0)
    # Grades that are only taken over cost nothing, so nothing is given up for them.
    before = len(chat_server.requests)
    text = plan.read_text(encoding="utf-8").replace("[questions]\n", "[questions]\nunparsed = 'exclude'\n")
    plan.write_text(text, encoding="utf-8")
    assert cli("run", plan).returncode == left
    assert len(chat_server.requests) == before


def test_what_is_paid_for_in_vain_is_told(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    steps = [reply("It is hard to say."), reply("", finish_reason="content_filter")]
    chat_server.plays(*steps)
    judge = judge_at(chat_server.url, more="price = { input = 100, output = 1000 }")
    ran = cli("run", judged_plan(tmp_path, judge, count=1, conditions=["none"]))
    assert ran.returncode == 1, ran.stderr
    assert "Judge j: 0 answers graded (2 requests, $0.012)" in ran.stdout
    assert "j: 1 answer could not be graded: content_filter" in ran.stdout
    assert all_scores(store) == []


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (Status(400, {"code": "context_length_exceeded", "message": "8192 tokens"}), "too long for this judge"),
        (Status(400, {"code": "content_filter", "message": "flagged"}), "this judge may refuse them each time"),
        (Status(404, {"message": "no model"}), "answered 404: no model; check the endpoint's address"),
    ],
    ids=["too-long", "filtered", "not-found"],
)
def test_what_would_help_is_told(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, status: Status, told: str
) -> None:
    chat_server.answers(lambda request: status)
    ran = cli("run", judged_plan(tmp_path, judge_at(chat_server.url), count=1))
    assert ran.returncode == 1
    said = " ".join(ran.stdout.split())
    assert told in said
    assert "Judge j: 0 answers graded j:" in said
    assert all_scores(store) == []
