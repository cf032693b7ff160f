"""Gradings that are stopped, killed or shared: nothing is scored that was not graded, and nothing graded twice."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.judged import GRADE, all_scores, asked_about, grades, judge_at, judged_plan, let_judge, verdicts
from tests.experiments.nursery import Nursery, nursery
from tests.experiments.plan_files import endpoint_plan, wait_for
from tests.servers.chat_server import ChatServer, ChatServers, Hang, Slow, Status, Until, reply

from toolablate.traces.store import Store, verify


def finished(store: Path) -> frozenset[str]:
    """Whoever has graded them."""
    with Store(store) as opened:
        return opened.finished_trials()


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Nursery]:
    with nursery(tmp_path) as opened:
        yield opened


@pytest.mark.deep
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_gradings_that_are_stopped_go_on_where_they_stopped(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, sign: signal.Signals
) -> None:
    stopped = list[signal.Signals]()
    chat_server.answers(
        lambda request: Until(lambda: stopped, grades(request)) if len(chat_server.requests) > 4 else grades(request)
    )
    plan = judged_plan(tmp_path, judge_at(chat_server.url, more="concurrency = 2"), count=8)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 5)
        running.send_signal(sign)
        stopped.append(sign)
        output, errors = running.communicate(timeout=60)
    assert "Traceback" not in errors
    graded, asked = len(all_scores(store)), len(chat_server.requests)
    assert 3 <= graded < 16
    if sign == signal.SIGINT:
        assert running.returncode == 1, errors
        assert f"{16 - graded} answers are not graded yet (you stopped the run)" in output
        assert graded == asked
    assert cli("verify", store).returncode == 0
    chat_server.answers(grades)
    assert cli("run", plan).returncode == 0
    assert len(chat_server.requests) - asked == 16 - graded
    assert Counter(verdicts(store).values()) == {"correct": 15, "wrong": 1}
    assert cli("verify", store).returncode == 0


def test_trials_that_are_stopped_leave_the_judge_alone(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path
) -> None:
    with chat_servers.server() as judge:
        judge.answers(grades)
        stopped = list[bool]()
        answer = reply("Answer: 1")
        chat_server.answers(lambda request: Until(lambda: stopped, answer) if len(chat_server.requests) > 3 else answer)
        plan = endpoint_plan(tmp_path, chat_server.url, count=20)
        let_judge(plan, judge_at(judge.url))
        command = [sys.executable, "-m", "toolablate", "run", str(plan)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
            wait_for(lambda: len(chat_server.requests) >= 4)
            running.send_signal(signal.SIGINT)
            stopped.append(True)
            output, errors = running.communicate(timeout=60)
        assert running.returncode == 1, errors
        assert "not graded yet (you stopped the run)" in output
        assert judge.requests == []


def test_the_grades_of_another_judge_are_never_taken_for_those_of_the_first(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    with chat_servers.server() as refuses:
        refuses.answers(lambda request: Status(401))
        chat_server.answers(grades)
        judges = judge_at(refuses.url, "first") + judge_at(chat_server.url, "second") + "[judging]\nagain = 1\n"
        ran = cli("run", judged_plan(tmp_path, judges))
        assert ran.returncode == 1, ran.stderr
    assert "first: 16 answers could not be graded" in ran.stdout
    assert len(all_scores(store)) == 16
    (compared,) = json.loads(cli("compare", store, "--json").stdout)["comparisons"]
    assert (compared["baseline_score"], compared["score"]) == (None, None)


@pytest.mark.deep
def test_two_processes_grade_one_store(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(lambda request: Status(401))
    plan = judged_plan(tmp_path, judge_at(chat_server.url, more="concurrency = 2"), count=20)
    assert cli("run", plan).returncode == 1
    before = len(chat_server.requests)
    chat_server.answers(lambda request: Slow(0.1, grades(request)))
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=90)
        assert run.returncode == 0, errors
    assert Counter(verdicts(store).values()) == {"correct": 39, "wrong": 1}
    assert 40 <= len(chat_server.requests) - before < 60
    assert cli("verify", store).returncode == 0


def test_what_only_grades_needs_neither_the_models_key_nor_an_endpoint(
    chat_servers: ChatServers,
    chat_server: ChatServer,
    tmp_path: Path,
    cli: Cli,
    store: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MODEL_KEY", "sk-model-0123456789")
    chat_server.answers(lambda request: reply("Answer: ALPHA"))
    plan = endpoint_plan(tmp_path, chat_server.url, count=3, model="api_key_env = 'MODEL_KEY'")
    assert cli("run", plan).returncode == 0
    monkeypatch.delenv("MODEL_KEY")
    with chat_servers.server() as judge:
        judge.answers(grades)
        let_judge(plan, judge_at(judge.url))
        ran = cli("run", plan)
        assert ran.returncode == 0, ran.stderr
        assert len(judge.requests) == len(chat_server.requests) == 3
    assert len(verdicts(store)) == 3


@pytest.mark.deep
def test_status_tells_how_far_the_judges_are(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(lambda request: Hang() if asked_about(request) == "Riddle 1" else grades(request))
    plan = judged_plan(tmp_path, judge_at(chat_server.url))
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: store.exists() and "judge j: 6 of 8 answers graded" in cli("status", store).stdout)
        running.terminate()
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 1, errors
    with Store(store) as opened:
        assert len(opened.scorers()) == 1


@pytest.mark.deep
def test_what_another_process_ends_meanwhile_is_graded_too(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path, store: Path, runs: Nursery
) -> None:
    with chat_servers.server() as slow, chat_servers.server() as quick:
        # The first run's trial ends while the second grades its own.
        said = reply("ALPHA")
        chat_server.answers(
            lambda request: Until(lambda: slow.requests, said) if len(chat_server.requests) == 1 else said
        )
        slow.answers(lambda request: Until(lambda: len(finished(store)) == 2, reply(GRADE % 1)))
        quick.answers(grades)
        plan = endpoint_plan(tmp_path, chat_server.url, count=2, concurrency=1)
        text = plan.read_text(encoding="utf-8")
        let_judge(plan, judge_at(quick.url, "first"))
        other = tmp_path / "other.toml"
        other.write_text(text, encoding="utf-8")
        let_judge(other, judge_at(slow.url, "second"))
        runs.start(plan, store)
        wait_for(lambda: len(chat_server.requests) == 1)
        assert runs.wait(runs.start(other, store)) == 0, runs.errors
        assert len(slow.requests) == 2
    assert len(verdicts(store, "judge[second@")) == 2


@pytest.mark.deep
@pytest.mark.timeout(600)
def test_killed_again_and_again_no_answer_is_graded_twice(
    chat_server: ChatServer, tmp_path: Path, store: Path, runs: Nursery
) -> None:
    plan = judged_plan(tmp_path, judge_at(chat_server.url, more="concurrency = 4"), count=150, conditions=["none"])
    chat_server.answers(grades)
    runs.warm(plan, tmp_path / "undisturbed.sqlite")
    chat_server.answers(lambda request: Slow(0.1, grades(request)))
    generator, before, asked = random.Random(7), dict[tuple[str, str], str](), len(chat_server.requests)
    during = 0
    for kill in range(60):
        pid = runs.start(plan, store)
        # However busy the machine is, two of three are killed while they grade.
        if kill % 3 and len(before) < 150:
            wait_for(lambda asked=asked: len(chat_server.requests) > asked)
        time.sleep(generator.uniform(0.0, 0.3))
        os.kill(pid, signal.SIGKILL)
        runs.wait(pid)
        if not store.exists():
            continue
        assert verify(store).ok
        now = verdicts(store)
        assert before.items() <= now.items()
        again = {asked_about(request).replace("Riddle ", "q") for request in chat_server.requests[asked:]}
        assert again.isdisjoint(question for question, _ in before), "what was graded was asked again"
        before, asked, during = now, len(chat_server.requests), during + (len(now) > len(before))
    assert during >= 10
    chat_server.answers(grades)
    assert runs.run(plan, store) == 0
    assert verdicts(store) == verdicts(tmp_path / "undisturbed.sqlite")
    assert verify(store).ok
