"""Judges read the wrong trials of a store, each once, and what they cannot be asked is told."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.conftest import Cli
from tests.experiments.diagnosing.failures import (
    PRICED,
    diagnoses,
    failing_store,
    labelled,
    prompts_of,
    reads,
)
from tests.experiments.judged import judge_at
from tests.experiments.plan_files import wait_for
from tests.servers.chat_server import ChatServer, ChatServers, Status, Until, reply

from toolablate.experiments.diagnosing import diagnose, diagnoses_told
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.errors import InputError
from toolablate.traces.store import Store, verify


@pytest.mark.deep
def test_the_wrong_trials_with_tools_are_read_once(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    done = diagnose(store)
    assert (done.wrong, done.missing, done.stopped) == (3, 0, False)
    assert done.estimated_usd is not None
    assert done.estimated_usd > 0
    assert diagnoses_told(done) == ("Judge j: 3 failures labelled (3 requests, $0.00006)",)
    found = diagnoses(store)
    assert dict(zip(prompts_of(store, found), [each.error_type for each in found], strict=True)) == {
        "Sum 0?": "reasoning",
        "Sum 1?": "calculation",
        "Sum 2?": "reasoning",
    }
    assert [(each.evidence, each.distraction, len(each.calls)) for each in found] == [((1,), None, 1)] * 3
    again = diagnose(store)
    assert (again.wrong, again.missing, again.judges) == (3, 0, ())
    assert diagnoses_told(again) == ("3 failures read already: no judge was asked.",)
    assert len(chat_server.requests) == 3
    assert verify(store).ok


@pytest.mark.deep
def test_no_request_says_what_is_right_or_which_condition_it_was(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    diagnose(store)
    with Store(store) as opened:
        conditions = opened.conditions()
        systems = [
            each.request.messages[0] for trace in opened.traces() for each in trace.events if each.kind == "model_call"
        ]
    hidden = [*(condition.identity() for condition in conditions), *map(str, range(1000, 1004))]
    hidden += [message.content for message in systems if message.role == "system"]
    for request in chat_server.requests:
        assert not [each for each in hidden if each and each in str(request["messages"])]


@pytest.mark.deep
def test_a_killed_or_failed_reading_goes_on_where_it_was(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(lambda request: Status(400) if "Sum 1?" in str(request) else reads(request))
    store = failing_store(tmp_path, chat_server)
    done = diagnose(store)
    assert (done.wrong, done.missing) == (3, 1)
    labelled_line, failed = diagnoses_told(done)
    assert labelled_line.startswith("Judge j: 2 failures labelled")
    assert failed.startswith("j: 1 failure could not be read: bad_request; the same command tries again.")
    assert len(diagnoses(store)) == 2
    asked = len(chat_server.requests)
    chat_server.answers(reads)
    assert diagnose(store).missing == 0
    assert len(chat_server.requests) == asked + 1
    assert len(diagnoses(store)) == 3


@pytest.mark.deep
def test_a_judge_that_keeps_no_format_is_given_up_and_asked_again_only_if_it_may_be_asked_more(
    chat_server: ChatServer, tmp_path: Path
) -> None:
    chat_server.answers(lambda request: reply("It is a matter of knowledge."))
    judge = judge_at(chat_server.url, more="concurrency = 1")
    store = failing_store(tmp_path, chat_server, count=15, judges=f"{judge}[judging]\nasks = 1\n")
    shown = Console(record=True, width=200)
    with RunProgress(shown) as progress:
        done = diagnose(store, progress=progress)
    assert (done.missing, len(chat_server.requests)) == (4, 10)
    told = shown.export_text()
    assert "14 failures to be read by 1 judge, at unknown cost" in told
    assert "j: 4 failures left unread, 10 failed in a row" in told
    assert any(
        "10 failures without labels: no labels in the judge's only reply" in line for line in diagnoses_told(done)
    )
    assert {each.error_type for each in diagnoses(store)} == {None}
    chat_server.answers(lambda request: reply(labelled("other")))
    diagnose(store)
    assert len(chat_server.requests) == 14
    plan = tmp_path / "plan.toml"
    plan.write_text(plan.read_text(encoding="utf-8").replace("asks = 1", "asks = 2"), encoding="utf-8")
    assert diagnose(store, plan=plan).missing == 0
    assert {each.error_type for each in diagnoses(store)} == {"other"}


@pytest.mark.deep
def test_each_judge_reads_for_itself_and_those_that_are_named_alone(
    chat_servers: ChatServers, chat_server: ChatServer, tmp_path: Path
) -> None:
    with chat_servers.server() as other:
        chat_server.answers(reads)
        other.answers(lambda request: reply(f"<think>Hm.</think>{labelled('其他', '以存在为规范')}"))
        store = failing_store(tmp_path, chat_server, judges=judge_at(chat_server.url) + judge_at(other.url, "k"))
        assert diagnose(store, judges=["k"]).missing == 0
        assert chat_server.requests == []
        assert {(each.error_type, each.distraction) for each in diagnoses(store)} == {("other", "existence_as_norm")}
        assert diagnose(store).missing == 0
    with Store(store) as opened:
        names = [[each.judge[:2] for each in opened.diagnoses(each.trial)] for each in diagnoses(store)]
    assert names == [["j@", "k@"]] * 6


@pytest.mark.deep
def test_only_what_was_asked_for_is_read(chat_server: ChatServer, tmp_path: Path) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    assert diagnose(store, conditions=["none"]).wrong == 0
    assert diagnose(store, models=["another"]).wrong == 0
    assert diagnoses_told(diagnose(store, models=["another"])) == (
        "No trial of a condition with tools is wrong: there is nothing to read.",
    )
    assert chat_server.requests == []
    assert diagnose(store, models=["m"], conditions=["python"], run="latest").wrong == 3


@pytest.mark.deep
@pytest.mark.parametrize(
    ("given", "code", "told"),
    [
        ({"judges": ["x"]}, "unknown_judge", "--judge: the plan has no judge 'x'"),
        ({"max_cost": 0.0}, "too_dear", "--max-cost: the judges would cost about $"),
        ({"scorer": "nobody"}, "unknown_scorer", "nobody"),
    ],
)
def test_what_is_refused_costs_nothing(
    chat_server: ChatServer, tmp_path: Path, given: dict[str, object], code: str, told: str
) -> None:
    store = failing_store(tmp_path, chat_server)
    with pytest.raises(InputError) as caught:
        diagnose(store, **given)  # type: ignore[arg-type]
    assert (caught.value.code, told in caught.value.message) == (code, True)
    assert chat_server.requests == []


@pytest.mark.deep
def test_what_turns_out_dearer_than_allowed_is_left(chat_server: ChatServer, tmp_path: Path) -> None:
    """The estimate takes one short reply for each failure."""
    chat_server.answers(
        lambda request: reply(labelled("other"), usage={"prompt_tokens": 1_000, "completion_tokens": 500_000})
    )
    judge = judge_at(chat_server.url, more="price = { input = 1.0, output = 2.0 }\nconcurrency = 1")
    store = failing_store(tmp_path, chat_server, judges=judge)
    done = diagnose(store, max_cost=0.5)
    assert done.estimated_usd is not None
    assert done.estimated_usd < 0.5 < done.spent_usd
    assert (len(chat_server.requests), done.missing, done.stopped, done.capped) == (1, 2, False, True)
    assert "2 failures not read yet (--max-cost is spent); the same command reads them." in diagnoses_told(done)
    assert not diagnose(store).missing


@pytest.mark.deep
def test_a_plan_without_judges_or_prices_is_refused(chat_server: ChatServer, tmp_path: Path) -> None:
    store = failing_store(tmp_path, chat_server, judges="")
    with pytest.raises(InputError) as caught:
        diagnose(store)
    assert caught.value.code == "no_judge"
    plan = tmp_path / "plan.toml"
    plan.write_text(plan.read_text(encoding="utf-8") + judge_at(chat_server.url), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        diagnose(store, plan=plan, max_cost=1.0)
    assert caught.value.code == "unknown_cost"
    chat_server.answers(reads)
    assert diagnose(store, plan=plan).missing == 0


@pytest.mark.deep
def test_a_key_reaches_no_record(chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-judge-0123456789"
    monkeypatch.setenv("JUDGE_KEY", key)
    chat_server.answers(reads)
    judge = judge_at(chat_server.url, more=f"{PRICED}\napi_key_env = 'JUDGE_KEY'")
    store = failing_store(tmp_path, chat_server, judges=judge)
    diagnose(store)
    assert chat_server.headers[0]["authorization"] == f"Bearer {key}"
    assert not [each for each in diagnoses(store) if key in each.to_json()]


# `attribute --judge`, as it is called.


@pytest.mark.deep
def test_a_judge_reads_before_the_report(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(reads)
    store = failing_store(tmp_path, chat_server)
    ran = cli("attribute", store, "--judge", "j", "--json")
    assert ran.returncode == 0, ran.stderr
    said = " ".join(ran.stderr.split())
    assert "3 failures to be read by 1 judge, for about $" in said
    assert "Judge j: 3 failures labelled (3 requests, $0.00006)" in said
    json.loads(ran.stdout)
    assert {each.error_type for each in diagnoses(store)} == {"reasoning", "calculation"}
    assert "no judge was asked" in cli("attribute", store, "--judge", "j").stderr
    assert len(chat_server.requests) == 3


@pytest.mark.deep
def test_what_is_left_unread_is_told(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(lambda request: Status(401))
    store = failing_store(tmp_path, chat_server)
    ran = cli("attribute", store, "--judge", "j")
    assert ran.returncode == 1, ran.stderr
    assert "3 failures could not be read: unauthorized" in " ".join(ran.stderr.split())
    refused = cli("attribute", store, "--judge", "nobody")
    assert refused.returncode == 2
    said = " ".join(refused.stderr.split())
    assert "--judge: the plan has no judge 'nobody'" in said
    assert "its judges are j" in said
    assert diagnoses(store) == []


# Readings that are stopped or killed go on where they stopped: what was paid for is kept.


PROGRAM = "import sys\nfrom toolablate.experiments.diagnosing import diagnose, diagnoses_told\n"
PROGRAM += "print(*diagnoses_told(diagnose(sys.argv[1])), sep='\\n')"


@pytest.mark.deep
@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_what_was_read_is_kept(chat_server: ChatServer, tmp_path: Path, sign: signal.Signals) -> None:
    stopped = list[signal.Signals]()

    def until_stopped(request: dict[str, Any]) -> Any:
        return Until(lambda: stopped, reads(request)) if len(chat_server.requests) > 4 else reads(request)

    chat_server.answers(until_stopped)
    store = failing_store(tmp_path, chat_server, count=9, judges=judge_at(chat_server.url, more=PRICED))
    command = [sys.executable, "-c", PROGRAM, str(store)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: len(chat_server.requests) >= 5)
        running.send_signal(sign)
        stopped.append(sign)
        output, errors = running.communicate(timeout=60)
    assert "Traceback" not in errors
    read, asked = len(diagnoses(store)), len(chat_server.requests)
    assert 3 <= read < 8
    if sign == signal.SIGINT:
        assert read == asked
        assert f"{8 - read} failure" in output
        assert "not read yet (you stopped it); the same command reads them." in output
    chat_server.answers(reads)
    assert diagnose(store).missing == 0
    assert len(chat_server.requests) == asked + 8 - read
    assert verify(store).ok
