"""Grades that are recorded, and given again without a network."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.judged import RIGHT, all_scores, judge_at, judged_plan
from tests.servers.chat_server import ChatServer, ChatServers, reply


class Moody:
    """No two of its replies have the same reason, and every other grade is 0."""

    def __init__(self) -> None:
        self._numbers: Iterator[int] = itertools.count()

    def __call__(self, request: dict[str, Any]) -> Any:
        number = next(self._numbers)
        return reply(f'Mood {number}.\n{{"answer_score": {number % 2}}}')


@pytest.fixture
def plan(chat_server: ChatServer, tmp_path: Path) -> Path:
    chat_server.answers(Moody())
    judge = judge_at(chat_server.url, more="api_key_env = 'JUDGE_KEY'") + "[judging]\nagain = 1\n"
    return judged_plan(
        tmp_path, judge, answers={"q1": RIGHT + " Sure."}, extra='replies.mode = "record"\nrepeats = 2', count=2
    )


def test_recorded_grades_are_given_again_without_a_network(
    chat_server: ChatServer, plan: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-0123456789")
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    ran = cli("run", plan, "--store", first)
    assert ran.returncode == 0, ran.stderr
    # Three answers, which eight trials gave; one grading and one re-grading of each.
    assert len(chat_server.requests) == 6
    assert "Judge j: 16 answers graded (6 requests, cost unknown)" in ran.stdout
    monkeypatch.delenv("JUDGE_KEY")
    plan.write_text(plan.read_text(encoding="utf-8").replace('"record"', '"replay"'), encoding="utf-8")
    replayed = cli("run", plan, "--store", second)
    assert replayed.returncode == 0, replayed.stderr
    assert len(chat_server.requests) == 6
    assert "Judge j: 16 answers graded (without asking it)" in replayed.stdout
    assert cli("verify", second, "--same-as", first).returncode == 0
    by_trial = [{(score.trial, score.scorer): score.reason for score in all_scores(store)} for store in (first, second)]
    assert by_trial[0] == by_trial[1]
    assert len(by_trial[0]) == 16
    assert len(set(by_trial[0].values())) == 6
    assert b"sk-judge-0123456789" not in (tmp_path / "replies.sqlite").read_bytes()


def test_who_gave_the_same_answer_is_given_the_same_grade(
    chat_server: ChatServer, plan: Path, tmp_path: Path, cli: Cli, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "sk-judge-0123456789")
    assert cli("run", plan).returncode == 0
    (compared,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    assert compared["questions"] == 2
    same = [score for score in all_scores(store) if "again" not in score.scorer and "Sure" in str(score.judgement)]
    assert len(same) == 4
    assert len({(score.value, score.reason) for score in same}) == 1


def test_a_grade_that_was_not_recorded_is_told_and_never_asked_for(
    chat_servers: ChatServers, tmp_path: Path, cli: Cli, store: Path
) -> None:
    with chat_servers.server() as server:
        server.answers(Moody())
        plan = judged_plan(tmp_path, judge_at(server.url), extra='replies.mode = "record"', count=1)
        assert cli("run", plan, "--store", tmp_path / "recorded.sqlite").returncode == 0
        text = plan.read_text(encoding="utf-8") + "[judging]\nagain = 1\n"
        plan.write_text(text.replace('"record"', '"replay"'), encoding="utf-8")
        ran = cli("run", plan)
        assert ran.returncode == 1, ran.stderr
        assert len(server.requests) == 2
    told = " ".join(ran.stdout.split())
    assert "2 answers could not be graded: not_recorded; record the replies of judges first" in told
    assert len(all_scores(store)) == 2
