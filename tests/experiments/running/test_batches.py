"""Trials that are asked in batches, by the real command line and over real HTTP."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import KERNELS, endpoint_plan, outcomes, right, wait_for
from tests.servers.chat_server import ChatServer, Drop, Status
from tests.servers.responses import response, says

from toolablate.agents.spending import batched_price
from toolablate.traces.database import beside, connect
from toolablate.traces.records import Failure, ModelCall, OpenAIModel, Price, PriceTier, Trace
from toolablate.traces.store import Store

PRICED = "price = { input = 2.0, output = 8.0 }"
BATCH = f"batch = true\n{PRICED}"


def traces(store: Path) -> dict[str, Trace]:
    with Store(store) as opened:
        return {trace.trial.id: trace for trace in opened.traces()}


def untimed(trace: Trace) -> Any:
    """Of a trace what time and price leave alone."""
    events = [
        event.model_copy(update={"at": 0, "seconds": 0, **({"cost_usd": None} if isinstance(event, ModelCall) else {})})
        for event in trace.events
    ]
    return trace.outcome, trace.answer, trace.usage, events


def left_of(store: Path) -> list[str]:
    return sorted(path.name for path in store.parent.glob(f"{store.name}*"))


@pytest.mark.deep
def test_a_run_that_is_killed_while_it_waits_goes_on_with_its_batch(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    desk = chat_server.answers(right).batches
    desk.held = True
    plan = endpoint_plan(tmp_path, chat_server.url, count=5, model=BATCH, extra="repeats = 2")
    command = [sys.executable, "-m", "toolablate", "run", str(plan), "--store", str(store)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=tmp_path, env={**os.environ})
    wait_for(lambda: desk.polls > 0)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert outcomes(store) == {}
    desk.held = False
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert len(desk.made) == 1
    assert "going on with batch batch_1" in " ".join((ran.stdout + ran.stderr).split())
    assert not chat_server.requests
    batched = traces(store)
    assert len(batched) == 10
    assert left_of(store) == [store.name]
    assert cli("verify", store).returncode == 0

    directly = tmp_path / "directly.sqlite"
    endpoint_plan(tmp_path, chat_server.url, count=5, model=PRICED, extra="repeats = 2")
    assert cli("run", plan, "--store", directly).returncode == 0
    asked = traces(directly)
    assert {name: untimed(trace) for name, trace in batched.items()} == {
        name: untimed(trace) for name, trace in asked.items()
    }
    assert {trace.cost_usd for trace in asked.values()} == {(10 * 2 + 5 * 8) / 1e6}
    assert {trace.cost_usd for trace in batched.values()} == {(10 * 2 + 5 * 8) / 2e6}
    assert max(trace.events[0].seconds for trace in batched.values()) < 1


@pytest.mark.deep
def test_what_a_batch_does_not_answer_is_asked_again_or_fails(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    def answer(request: dict[str, Any]) -> Any:
        asked = request["messages"][-1]["content"]
        first = len(desk.made) == 1
        if asked.startswith("Question 0") and first:
            return Status(429, {"message": "slow down"})
        if asked.startswith("Question 1"):
            return Status(400, {"message": "no such parameter"})
        return Drop() if asked.startswith("Question 2") and first else right(request)

    desk = chat_server.answers(answer).batches
    plan = endpoint_plan(tmp_path, chat_server.url, count=4, model=BATCH)
    ran = cli("run", plan)
    assert ran.returncode == 1, ran.stderr
    assert [len(batch["lines"]) for batch in desk.made.values()] == [4, 2]
    codes = [event.code for trace in traces(store).values() for event in trace.events if isinstance(event, Failure)]
    assert sorted(codes) == ["bad_request", "batch_incomplete", "rate_limited"]
    assert sorted(outcome for outcome, _ in outcomes(store).values()) == ["answered"] * 3 + ["failed"]
    assert left_of(store) == [store.name, f"{store.name}-batches"]
    chat_server.answers(right)
    assert cli("run", plan).returncode == 0
    assert [len(batch["lines"]) for batch in desk.made.values()] == [4, 2, 1]
    assert left_of(store) == [store.name]


@pytest.mark.deep
def test_batches_that_end_too_early(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    desk = chat_server.answers(right).batches
    desk.endings = ["expired", "cancelled"]
    plan = endpoint_plan(tmp_path, chat_server.url, count=4, model=BATCH)
    assert cli("run", plan).returncode == 1
    assert [len(batch["lines"]) for batch in desk.made.values()] == [4, 2]
    codes = [event.code for trace in traces(store).values() for event in trace.events if isinstance(event, Failure)]
    assert sorted(codes) == ["batch_cancelled", "batch_expired", "batch_expired"]
    desk.endings = ["failed"]
    ran = cli("run", plan)
    assert ran.returncode == 1
    assert "Enqueued token limit reached" in " ".join((ran.stdout + ran.stderr).split())
    assert cli("run", plan).returncode == 0
    assert set(outcomes(store).values()) == {("answered", "correct")}


@pytest.mark.deep
def test_ctrl_c_leaves_the_batch_running_while_what_has_tools_was_asked_directly(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path
) -> None:
    desk = chat_server.answers(right).batches
    desk.held = desk.forgets = True
    plan = endpoint_plan(tmp_path, chat_server.url, count=3, model=BATCH, extra=KERNELS)
    plan.write_text(plan.read_text().replace("['none']", "['none', 'python', 'python:offered']"))
    command = [sys.executable, "-m", "toolablate", "run", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        wait_for(lambda: desk.polls > 0 and store.exists() and len(outcomes(store)) == 3)
        running.send_signal(signal.SIGINT)
        told, _ = running.communicate(timeout=60)
    assert running.returncode == 1, told
    assert "it goes on at the endpoint, and the same command goes on with it" in " ".join(told.split())
    assert {condition for _, condition in outcomes(store)} == {"python"}
    # As if it had been killed before it was told which batch it had made.
    kept = connect(beside(store, "-batches"), "mode=rw")
    kept.execute("UPDATE batches SET id = ''")
    kept.close()
    desk.held = False
    assert cli("run", plan).returncode == 0
    assert len(desk.made) == 1
    assert len(chat_server.requests) == 3
    assert {condition for _, condition in outcomes(store)} == {"none", "python", "python:offered"}


@pytest.mark.deep
def test_replies_of_batches_are_recorded(chat_server: ChatServer, tmp_path: Path, cli: Cli, store: Path) -> None:
    chat_server.answers(lambda request: response(says("Answer: " + request["input"][-1]["content"].split()[1])))
    replies = "replies = { mode = 'record', file = 'replies.sqlite' }"
    plan = endpoint_plan(tmp_path, chat_server.url, count=3, model=f"api = 'responses'\n{BATCH}", extra=replies)
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert [len(batch["lines"]) for batch in chat_server.batches.made.values()] == [3]
    replayed = tmp_path / "replayed.sqlite"
    plan.write_text(plan.read_text().replace("'record'", "'replay'"))
    assert cli("run", plan, "--store", replayed).returncode == 0
    assert {name: trace.answer for name, trace in traces(store).items()} == {
        name: trace.answer for name, trace in traces(replayed).items()
    }
    assert len(chat_server.batches.made) == 1


def test_how_a_model_is_asked_is_no_part_of_which_it_is() -> None:
    assert OpenAIModel(name="m", batch=True).identity() == OpenAIModel(name="m").identity()
    price = Price(input=2, output=8, tiers=(PriceTier(input=4, output=16, cached_input=1, above=9),))
    halved = Price(input=1, output=4, tiers=(PriceTier(input=2, output=8, cached_input=0.5, above=9),))
    assert batched_price(OpenAIModel(name="m", batch={"requests": 9}, price=price)) == halved
    assert batched_price(OpenAIModel(name="m", batch=True)) is None
