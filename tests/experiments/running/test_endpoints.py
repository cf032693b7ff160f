"""Endpoints that fail, by the real command line and over real HTTP."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, outcomes, right
from tests.servers.chat_server import ChatServer, Status, closed_port


def test_failed_trials_are_no_wrong_answers_and_are_run_again(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(500) if "Question 1" in str(request) else right(request))
    plan = endpoint_plan(tmp_path, chat_server.url, count=4, extra="runner.attempts = 1")
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert outcomes(store)["q1", "none"] == ("failed", None)
    assert sum(outcome == "answered" for outcome, _ in outcomes(store).values()) == 3
    before = len(chat_server.requests)
    chat_server.answers(right)
    assert cli("run", plan).returncode == 0
    assert len(chat_server.requests) == before + 1
    assert set(outcomes(store).values()) == {("answered", "correct")}
    assert cli("verify", store).returncode == 0


def test_an_endpoint_that_is_down_is_given_up_and_named(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(500, {"message": "out of order"}))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=60, extra="runner.attempts = 1"))
    assert ran.returncode == 1
    assert len(chat_server.requests) < 20
    assert "failed in a row" in ran.stderr
    assert "out of order" in ran.stderr.replace("\n", " ")
    assert {outcome for outcome, _ in outcomes(store).values()} == {"failed"}
    assert cli("verify", store).returncode == 0


PAGE = "<html><h1>404 Not Found</h1></html>"


@pytest.mark.parametrize(
    "odd",
    [Status(404, body=PAGE), Status(404, body="404 page not found"), Status(401, body=PAGE), Status(302)],
)
def test_one_odd_answer_of_a_proxy_after_good_replies_gives_nothing_up(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, odd: Status
) -> None:
    chat_server.answers(lambda request: odd if len(chat_server.requests) == 8 else right(request))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=24))
    assert "given up" not in ran.stdout + ran.stderr
    ended = Counter(outcome for outcome, _ in outcomes(store).values())
    # A page instead of the API is asked for again; else one trial fails.
    assert ended == ({"answered": 24} if odd.status == 404 else {"answered": 23, "failed": 1})


@pytest.mark.parametrize(
    ("final", "named"),
    [
        (Status(404, {"message": "The model `m` does not exist."}), "The model `m` does not exist"),
        (Status(400, {"message": "m is not a valid model ID"}), "not a valid model"),
        (Status(400, {"message": "API key not valid. Please pass a valid API key."}), "api_key_env"),
    ],
)
def test_what_the_api_says_for_good_gives_a_model_up_at_once_and_stands_first(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, final: Status, named: str
) -> None:
    chat_server.answers(lambda request: final)
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=40))
    assert len(chat_server.requests) <= 4
    first, _, rest = ran.stdout.partition("Nothing to compare: no trial was answered")
    assert first.startswith("m was given up: it would refuse them all: the endpoint answered")
    assert named in " ".join(first.split())
    assert rest


def test_parameters_that_an_endpoint_never_takes_are_not_tried_by_every_trial(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(lambda request: Status(400, {"message": "unknown parameter"}))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=40))
    assert len(chat_server.requests) < 16
    assert "10 failed in a row" in " ".join(ran.stdout.split())


@pytest.mark.deep
def test_an_endpoint_that_is_not_there_fails_one_trial_and_is_named_first(
    tmp_path: Path, cli: Cli, store: Path
) -> None:
    port = closed_port()
    ran = cli("run", endpoint_plan(tmp_path, f"http://127.0.0.1:{port}/v1", count=80, concurrency=32))
    assert ran.returncode == 1
    told = " ".join(ran.stdout.split())
    assert told.startswith(f"m was given up: cannot reach http://127.0.0.1:{port}/v1")
    assert "check that its server runs" in told
    assert "Points" not in told
    assert "1 trial failed" in told
    assert "80 of 80 trials are missing" in told
    assert cli("verify", store).returncode == 0


def test_why_a_model_was_given_up_is_told_once_to_who_sees_progress_and_summary(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(lambda request: Status(401, {"message": "no-such-key"}))
    plan = endpoint_plan(tmp_path, chat_server.url, count=5)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    told = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False).stdout
    assert told.count("was given up") == told.count("no-such-key") == 1
    apart = cli("run", plan)
    assert apart.stdout.count("no-such-key") == apart.stderr.count("no-such-key") == 1


def test_an_endpoint_that_has_moved_is_given_up_with_its_new_address(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    moved = Status(308, headers={"Location": "https://api.example.org/v2/chat/completions"})
    chat_server.answers(lambda request: moved)
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=60))
    assert ran.returncode == 1
    assert len(chat_server.requests) < 20
    assert "https://api.example.org/v2" in ran.stderr.replace("\n", "")


@pytest.mark.deep
def test_doctor_checks_what_a_plan_needs(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=2)
    good = json.loads(cli("doctor", plan, "--json").stdout)["findings"]
    assert {finding["state"] for finding in good if finding["topic"] == "plan"} == {"ok"}
    (tmp_path / "questions.jsonl").write_text("{}", encoding="utf-8")
    plan.write_text(plan.read_text(encoding="utf-8").replace(chat_server.url, f"http://127.0.0.1:{closed_port()}/v1"))
    bad = cli("doctor", plan, "--json")
    assert bad.returncode == 1
    findings = [finding for finding in json.loads(bad.stdout)["findings"] if finding["topic"] == "plan"]
    assert [finding["state"] for finding in findings] == ["missing", "ok", "ok", "missing"]


def test_an_endpoints_words_cannot_drive_the_terminal(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(lambda request: Status(401, {"message": "\x1b]0;owned\x07\x1b[2Jno"}))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=5))
    assert "\x1b" not in ran.stderr + ran.stdout


def test_an_endpoint_that_refuses_the_key_is_not_asked_for_every_trial(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(lambda request: Status(401))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=40))
    assert ran.returncode == 1
    assert len(chat_server.requests) <= 4
    assert "not run" in ran.stderr
    assert "api_key_env" in ran.stderr


@pytest.mark.deep
@pytest.mark.parametrize(
    ("key", "state", "code"), [(None, "missing", 2), ("sk-sécret", "missing", 2), ("sk-0123456789abcdef", "ok", 0)]
)
def test_doctor_and_run_agree_on_a_key(
    chat_server: ChatServer,
    tmp_path: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    key: str | None,
    state: str,
    code: int,
) -> None:
    if key is not None:
        monkeypatch.setenv("TEST_KEY", key)
    chat_server.answers(right)
    plan = endpoint_plan(tmp_path, chat_server.url, count=1, model="api_key_env = 'TEST_KEY'")
    examined = cli("doctor", plan, "--json")
    (found,) = [finding for finding in json.loads(examined.stdout)["findings"] if finding["topic"] == "key"]
    assert (found["name"], found["state"]) == ("TEST_KEY", state)
    ran = cli("run", plan)
    assert ran.returncode == code, ran.stderr
    assert "cret" not in examined.stdout + ran.stderr


def test_a_plan_with_a_password_in_an_endpoint_is_refused(tmp_path: Path, cli: Cli, store: Path) -> None:
    ran = cli("run", endpoint_plan(tmp_path, "http://user:hunter2@127.0.0.1:9/v1", count=1))
    assert ran.returncode == 2
    assert "endpoint of 'm': a user name or password in it" in " ".join(ran.stderr.split())
    assert "hunter2" not in ran.stderr + ran.stdout
    assert not store.exists()
