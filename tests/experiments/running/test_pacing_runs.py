"""Runs at endpoints that limit, fail for a while or hang, over real HTTP."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, outcomes, right, wait_for
from tests.servers.chat_server import ChatServer, ChatServers, Hang, Slow, Status, Step, reply

from toolablate.traces.records import Failure
from toolablate.traces.store import Store

ALL_RIGHT = {("answered", "correct")}


class Limited:
    """Answers after `seconds`, and refuses what is more than `in_flight` at once or more than `each_second`."""

    def __init__(self, *, in_flight: int = 10_000, each_second: int = 10_000, seconds: float = 0.05) -> None:
        self.in_flight, self.each_second, self.seconds = in_flight, each_second, seconds
        self.refused = 0
        self._taken: list[float] = []
        self._lock = threading.Lock()

    def __call__(self, request: dict[str, Any]) -> Step:
        with self._lock:
            now = time.monotonic()
            at_work = sum(start > now - self.seconds for start in self._taken)
            lately = [start for start in self._taken if start > now - 1]
            if at_work >= self.in_flight or len(lately) >= self.each_second:
                self.refused += 1
                wait = self.seconds if at_work >= self.in_flight else lately[0] + 1 - now
                return Status(429, headers={"retry-after-ms": str(int(1000 * wait) + 1)})
            self._taken.append(now)
            return Slow(self.seconds, right(request))


def failures(store: Path) -> Counter[tuple[str, bool]]:
    with Store(store) as opened:
        events = [event for trace in opened.traces() for event in trace.events if isinstance(event, Failure)]
    return Counter((event.code, event.retried) for event in events)


@pytest.mark.deep
@pytest.mark.parametrize(("limits", "most"), [({"in_flight": 6}, 2 * 8), ({"each_second": 60}, 2 * 64)])
def test_an_endpoint_that_limits_fails_no_trial(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path, limits: dict[str, int], most: int
) -> None:
    limited = Limited(**limits)
    chat_server.answers(limited)
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=200, concurrency=64))
    assert ran.returncode == 0, ran.stderr
    assert set(outcomes(store).values()) == ALL_RIGHT
    # Each refusal is in a trace, as one that was tried again.
    assert failures(store) == Counter({("rate_limited", True): limited.refused})
    # Each time a limit is met, at most all in flight are refused, and then half as many may be: in all no more than twice
    # as many as are in flight when it is met first. Six at once are met by the first 8, sixty a second by all 64.
    assert limited.refused <= most


@pytest.mark.deep
def test_requests_a_minute_keep_within_a_limit_that_is_never_met(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    limited = Limited(each_second=40)
    chat_server.answers(limited)
    plan = endpoint_plan(tmp_path, chat_server.url, count=60, concurrency=64, model="requests_per_minute = 600")
    assert cli("run", plan).returncode == 0
    assert set(outcomes(store).values()) == ALL_RIGHT
    assert limited.refused == 0


@pytest.mark.deep
def test_an_outage_is_waited_out(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    """Without pace each trial in flight would be refused four times in 7 s, and fail; this one lasts three seconds."""
    went_down: list[float] = []

    def decide(request: dict[str, Any]) -> Step:
        if len(chat_server.requests) == 60:
            went_down.append(time.monotonic())
        down = went_down and time.monotonic() < went_down[0] + 3
        return Status(503) if down else Slow(0.02, right(request))

    chat_server.answers(decide)
    plan = endpoint_plan(tmp_path, chat_server.url, count=150, concurrency=32, extra="runner.attempts = 2")
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert set(outcomes(store).values()) == ALL_RIGHT
    assert {code for code, _ in failures(store)} == {"overloaded"}
    assert failures(store).total() < 60


def test_an_endpoint_that_asks_for_hours_is_given_up(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Status(429, headers={"retry-after": "7200"}))
    ran = cli("run", endpoint_plan(tmp_path, chat_server.url, count=50))
    assert ran.returncode == 1
    assert "asks to be left alone for 7200 s" in " ".join(ran.stderr.split())
    assert len(chat_server.requests) <= 8


def models_plan(folder: Path, urls: dict[str, str], *, conditions: str, runner: str, count: int) -> Path:
    """A plan whose models are at these addresses, by name."""
    lines = (
        json.dumps({"id": f"q{n}", "prompt": f"Question {n}", "target": {"kind": "number", "value": n}})
        for n in range(count)
    )
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    models = "".join(
        f"[[models]]\nprovider = 'openai'\nname = '{name}'\nendpoint = '{url}'\ntimeout_seconds = 600\n"
        for name, url in urls.items()
    )
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = {conditions}\n[questions]\nfile = 'questions.jsonl'\n[runner]\n{runner}\n{models}",
        encoding="utf-8",
    )
    return plan


def with_code(request: dict[str, Any]) -> Step:
    if request["messages"][-1]["role"] == "tool":
        return reply(f"Answer: {request['messages'][-1]['content']}")
    number = request["messages"][-1]["content"].split()[1]
    return reply("", ("python", {"code": f"print({number})"}))


@pytest.mark.deep
def test_endpoints_that_hang_stall_no_other_though_all_need_kernels(
    chat_servers: ChatServers, tmp_path: Path, cli: Cli, store: Path
) -> None:
    """The two dead ones hang until the other is done, and would else hold every kernel."""
    with chat_servers.server() as well:
        well.answers(with_code)
        with chat_servers.server() as dead, chat_servers.server() as gone:
            dead.answers(lambda request: Hang())
            gone.answers(lambda request: Hang())
            urls = {"dead": dead.url, "gone": gone.url, "well": well.url}
            plan = models_plan(tmp_path, urls, conditions="['python']", runner="kernels = 4", count=4)
            command = [sys.executable, "-m", "toolablate", "run", str(plan)]
            running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            wait_for(lambda: store.exists() and answered(store) == {("well", f"q{n}") for n in range(4)})
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 1, errors
    assert answered(store) == {("well", f"q{n}") for n in range(4)}


@pytest.mark.deep
def test_one_model_of_a_proxy_that_is_refused_holds_up_no_other(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    """It is told to wait for longer than this test may take."""

    def decide(request: dict[str, Any]) -> Step:
        return Status(429, headers={"retry-after": "290"}) if request["model"] == "spent" else right(request)

    chat_server.answers(decide)
    urls = dict.fromkeys(("spent", "a", "b", "c"), chat_server.url)
    plan = models_plan(tmp_path, urls, conditions="['none']", runner="", count=12)
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: store.exists() and len(answered(store)) == 36)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 1, errors
    assert Counter(request["model"] for request in chat_server.requests) == {"spent": 8, "a": 12, "b": 12, "c": 12}


def answered(store: Path) -> set[tuple[str, str]]:
    with Store(store) as opened:
        return {(seen.model, seen.question) for seen in opened.summaries() if seen.outcome == "answered"}


def test_an_endpoint_that_hangs_is_given_up_though_each_trial_has_a_deadline(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.answers(lambda request: Hang())
    plan = endpoint_plan(tmp_path, chat_server.url, count=60, concurrency=8, extra="runner.trial_seconds = 0.3")
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert "10 failed in a row, the last with: no reply had come after 0." in " ".join(ran.stderr.split())
    assert len(chat_server.requests) < 30
    assert failures(store).keys() == {("cut_off", False), ("deadline", False)}
    assert cli("verify", store).returncode == 0


@pytest.mark.deep
def test_an_endpoint_that_is_only_slow_is_not_given_up(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    """Each trial has a reply, and runs out of time in its second request."""

    def decide(request: dict[str, Any]) -> Step:
        return reply("half", finish_reason="length") if len(request["messages"]) == 1 else Hang()

    chat_server.answers(decide)
    plan = endpoint_plan(tmp_path, chat_server.url, count=12, concurrency=12, extra="runner.trial_seconds = 4")
    assert cli("run", plan).returncode == 1
    assert failures(store) == {("cut_off", False): 12, ("deadline", False): 12}


@pytest.mark.deep
def test_an_endpoint_whose_line_outlasts_the_deadlines_is_not_taken_for_dead(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    """Twelve trials end while they wait, as long as the endpoint asked; the rest find it well."""
    began: list[float] = []

    def decide(request: dict[str, Any]) -> Step:
        began[:] = began or [time.monotonic()]
        refuses = time.monotonic() < began[0] + 7.5
        return Status(429, headers={"retry-after-ms": "7500"}) if refuses else right(request)

    chat_server.answers(decide)
    plan = endpoint_plan(tmp_path, chat_server.url, count=40, concurrency=6, extra="runner.trial_seconds = 3")
    assert cli("run", plan).returncode == 1
    assert failures(store).keys() == {("rate_limited", True), ("deadline", False)}
    assert Counter(outcomes(store).values())[("answered", "correct")] >= 20


@pytest.mark.deep
def test_a_trial_past_its_deadline_is_run_again_and_keeps_what_it_cost(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    chat_server.plays(reply("half", finish_reason="length")).answers(lambda request: Hang())
    price = "price = { input = 1e3, output = 1e3 }"
    plan = endpoint_plan(tmp_path, chat_server.url, count=1, extra="runner.trial_seconds = 4", model=price)
    assert cli("run", plan).returncode == 1
    with Store(store) as opened:
        (trace,) = opened.traces()
    assert (trace.outcome, trace.usage.input_tokens, trace.cost_usd) == ("failed", 10, pytest.approx(0.015))
    assert outcomes(store) == {("q0", "none"): ("failed", None)}
    chat_server.answers(right)
    assert cli("run", plan).returncode == 0
    assert set(outcomes(store).values()) == ALL_RIGHT
