"""Runs against an endpoint that never says the same twice, recorded, and replayed after it has closed for good."""

import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.experiments.plan_files import endpoint_plan
from tests.servers.chat_server import ChatServers, Step, reply
from tests.servers.responses import calls, response, says, thinks

from toolablate.agents.replies import ResponseCache
from toolablate.agents.replies.recorded import KeptReply, asked
from toolablate.traces.records import ModelCall, OpenAIModel
from toolablate.traces.store import Store

pytestmark = pytest.mark.deep

KEY_VARIABLE, KEY = "REPLAY_TEST_KEY", "sk-0123456789abcdef"

PLAN = """
seed = {seed}
repeats = 2
conditions = ["none", {{ name = "patient", base = "none", budget = {{ turns = 24 }} }}{more}]

[questions]
file = "questions.jsonl"

[replies]
mode = "{mode}"

[[models]]
provider = "openai"
name = "thinks"
endpoint = "{url}"
concurrency = {concurrency}
api_key_env = "REPLAY_TEST_KEY"

[[models]]
provider = "openai"
name = "responds"
endpoint = "{url}"
api = "responses"
concurrency = {concurrency}
"""
QUESTIONS = 4
TRIALS = 2 * QUESTIONS * 2
"""Of each condition: two models, two repeats."""


class Drifting:
    """Each reply holds a number that no other holds. Questions 2 and 3 meet an empty reply and a content filter."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked: Counter[str] = Counter()
        self._replies = 0

    def __call__(self, body: dict[str, Any]) -> Step:
        with self._lock:
            self._replies += 1
            return self._by_api(body, self._replies)

    def _by_api(self, body: dict[str, Any], number: int) -> Step:
        messages = body.get("messages") or body["input"]
        turns = sum(
            message.get("role") == "tool" or message.get("type") == "function_call_output" for message in messages
        )
        calling = bool(body.get("tools")) and turns < 4
        codes = [f"print({number} * {place})" for place in (1, 2)]
        if "messages" not in body:
            thought = thinks(f"Thought {number}.", encrypted=f"gAAAA{number}")
            if calling:
                return response(thought, *(calls("python", {"code": code}) for code in codes))
            return response(thought, says(f"I say {number}.\nAnswer: {number % 2}"))
        usage = {"prompt_tokens": number, "completion_tokens": 3, "total_tokens": number + 3}
        if "Question 3" in str(messages):
            return reply("", finish_reason="content_filter", usage=usage)
        if "Question 2" in str(messages) and self._first(str(messages)):
            return reply("", usage=usage)
        if calling:
            wanted = (("python", {"code": code}) for code in codes)
            return reply(None, *wanted, usage=usage, reasoning_content=f"Thought {number}.")
        return reply(f"I say {number}.\nAnswer: {number % 2}", usage=usage, reasoning_content=f"Thought {number}.")

    def _first(self, messages: str) -> bool:
        self._asked[messages] += 1
        return self._asked[messages] == 1


def write(folder: Path, url: str, mode: str, *, seed: int = 0, concurrency: int = 8, code: bool = True) -> Path:
    """A plan with two conditions that ask the same, and with `code` one that runs some."""
    plan, more = folder / f"{mode}{seed}.toml", ', "python"' if code else ""
    plan.write_text(PLAN.format(mode=mode, url=url, seed=seed, concurrency=concurrency, more=more), encoding="utf-8")
    return plan


def toolablate(*arguments: str | Path, key: str = "") -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **({KEY_VARIABLE: key} if key else {})}
    program = [sys.executable, "-m", "toolablate", *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, timeout=100, env=env)


@dataclass(frozen=True)
class Recorded:
    """A recorded run whose endpoint has closed; `requests` is how often that was asked."""

    folder: Path
    url: str
    requests: int

    @property
    def store(self) -> Path:
        return self.folder / "runs/record0.sqlite"

    def replay(
        self, seed: int, *, concurrency: int = 8, code: bool = False
    ) -> tuple[subprocess.CompletedProcess[str], Path]:
        plan = write(self.folder, self.url, "replay", seed=seed, concurrency=concurrency, code=code)
        return toolablate("run", plan), self.folder / f"runs/replay{seed}.sqlite"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, chat_servers: ChatServers) -> Recorded:
    folder = tmp_path_factory.mktemp("recorded")
    lines = (
        json.dumps({"id": f"q{n}", "prompt": f"Question {n}", "target": {"kind": "number", "value": n % 2}})
        for n in range(QUESTIONS)
    )
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with chat_servers.server() as server:
        server.answers(Drifting())
        ran = toolablate("run", write(folder, server.url, "record"), key=KEY)
        assert ran.returncode == 1, ran.stderr  # what a filter stopped has failed
        return Recorded(folder, server.url, len(server.requests))


@pytest.fixture
def copied(recorded: Recorded, tmp_path: Path) -> Recorded:
    """A copy of the recording, which a test may spoil."""
    shutil.copytree(recorded.folder, tmp_path / "copy")
    return replace(recorded, folder=tmp_path / "copy")


def calls_of(store: Path, condition: str) -> dict[tuple[str, str, int], list[ModelCall]]:
    """Model calls by the digests of question and model, and by repeat."""
    with Store(store) as opened:
        return {
            (trace.trial.question, trace.trial.model, trace.trial.repeat): [
                event for event in trace.events if event.kind == "model_call"
            ]
            for trace in opened.traces(condition=condition)
        }


@pytest.mark.deep
def test_a_recording_asks_once_what_conditions_ask_alike(recorded: Recorded) -> None:
    calls = {name: calls_of(recorded.store, name) for name in ("none", "patient", "python")}
    assert sum(map(len, calls.values())) == 3 * TRIALS
    for at, asked_alike in calls["none"].items():
        assert [call.reply for call in asked_alike] == [call.reply for call in calls["patient"][at]]
    said = {call.reply.message.content for each in calls["none"].values() for call in each}
    assert len(said) == sum(bool(each) for each in calls["none"].values())
    assert recorded.requests < sum(len(each) for by_trial in calls.values() for each in by_trial.values())
    events = [event for each in calls["python"].values() for event in each]
    assert any(message.items for call in events for message in call.request.messages)
    assert any(message.reasoning for call in events for message in call.request.messages)
    assert any(len(call.reply.message.tool_calls) == 2 for call in events)


@pytest.mark.deep
@pytest.mark.parametrize(("seed", "concurrency"), [(0, 8), (7, 3)])
def test_a_replayed_run_gives_the_same_in_any_order_without_endpoint_and_key(
    recorded: Recorded, seed: int, concurrency: int
) -> None:
    ran, store = recorded.replay(seed, concurrency=concurrency, code=True)
    assert ran.returncode == 1, ran.stderr
    compared = toolablate("verify", store, "--same-as", recorded.store, "--json")
    told = json.loads(compared.stdout)["same_as"]
    assert (told["same"], told["differences"], compared.returncode) == (3 * TRIALS, [], 0), compared.stderr
    assert (told["failed"], told["only_here"], told["only_there"]) == (0, 0, 0)
    with Store(store) as opened:
        failures = opened.failures()
    assert {failure.code for failure in failures} == {"content_filter"}


@pytest.mark.deep
def test_a_reply_that_was_changed_shows_as_a_trial_that_differs(copied: Recorded) -> None:
    ran, before = copied.replay(0)
    asyncio.run(change_one_reply(copied))
    refused, _ = copied.replay(0)
    assert refused.returncode == 2
    assert "replies = 'replay " in refused.stderr
    ran, store = copied.replay(1)
    assert ran.returncode == 1, ran.stderr
    compared = toolablate("verify", store, "--same-as", before, "--json")
    assert compared.returncode == 1
    told = json.loads(compared.stdout)["same_as"]
    assert told["same"] == 2 * TRIALS - 2
    found = [(each["path"], each["here"]) for each in told["differences"]]
    assert found == [("events[0].reply.message.content", '"Something else."')] * 2
    shown = toolablate("verify", store, "--same-as", before)
    assert shown.returncode == 1
    assert 'events[0].reply.message.content: here "Something else.", there "I say ' in shown.stdout


async def change_one_reply(recorded: Recorded) -> None:
    """Puts another reply in the place of one that two conditions share."""
    library = recorded.folder / "replies.sqlite"
    with Store(recorded.store) as store:
        (model,) = (model for model in store.models() if isinstance(model, OpenAIModel) and model.name == "responds")
    (call,) = calls_of(recorded.store, "none")[first_question(recorded.store), model.identity(), 0]
    wanted = asked(model, call.request, 0)
    with closing(sqlite3.connect(library)) as opened, opened:
        assert opened.execute("DELETE FROM replies WHERE key = ? AND repeat = 0", (wanted.key,)).rowcount == 1
    message = call.reply.message.model_copy(update={"content": "Something else."})
    async with ResponseCache(library, write=True) as opened:
        await opened.keep(wanted, KeptReply(reply=call.reply.model_copy(update={"message": message})))


def first_question(store: Path) -> str:
    with Store(store) as opened:
        return opened.questions()[0].identity()


def test_what_was_not_recorded_fails_and_says_what_is_nearest(copied: Recorded) -> None:
    questions = copied.folder / "questions.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace("Question 1", "Question 1?"), encoding="utf-8")
    ran, store = copied.replay(2)
    assert ran.returncode == 1
    assert 'differs in messages[0].content: recorded "Question' in " ".join(ran.stdout.split())
    with Store(store) as opened:
        missed = [failure.count for failure in opened.failures() if failure.code == "not_recorded"]
    assert sum(missed) == 2 * TRIALS / QUESTIONS


@pytest.mark.deep
def test_recorded_replies_are_told_of_and_checked(copied: Recorded) -> None:
    library = copied.folder / "replies.sqlite"
    told = json.loads(toolablate("status", library, "--json").stdout)
    assert [(model["name"], model["api"]) for model in told["models"]] == [
        ("responds", "responses"),
        ("thinks", "chat"),
    ]
    assert "replies to" in toolablate("status", library).stdout
    checked = toolablate("verify", library)
    assert checked.returncode == 0
    assert told["root"] in checked.stdout
    assert KEY.encode() not in library.read_bytes()
    with closing(sqlite3.connect(library)) as opened, opened:
        opened.execute("UPDATE replies SET digest = x'00'")
    damaged = toolablate("verify", library, "--json")
    assert damaged.returncode == 1
    assert json.loads(damaged.stdout)["problems"]
    ran, _ = copied.replay(3)
    assert ran.returncode == 2
    assert "are damaged" in ran.stderr


@pytest.mark.parametrize(
    ("section", "told"),
    [
        ('mode = "replya"', "replies.mode: found 'replya', allowed is 'live', 'record' or 'replay'"),
        ('file = ""', "replies.file"),
        ('files = "x"', "replies.files: unknown key; did you mean 'file'?"),
        ('mode = "replay"', "There are no recorded replies at"),
        ('mode = "replay"\nfile = "questions.jsonl"', "does not hold recorded replies"),
        ('mode = "record"\nfile = "questions.jsonl"', "does not hold recorded replies"),
    ],
)
def test_replies_that_cannot_be_had_are_refused_before_anything_runs(tmp_path: Path, section: str, told: str) -> None:
    plan = endpoint_plan(tmp_path, "http://127.0.0.1:9/v1", count=1, model=f"[replies]\n{section}")
    ran = toolablate("run", plan)
    assert ran.returncode == 2
    assert told in " ".join(ran.stderr.split())
    assert not (tmp_path / "runs").exists()
