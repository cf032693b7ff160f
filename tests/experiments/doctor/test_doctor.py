"""What doctor says of addresses that are none."""

import asyncio
import json
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan
from tests.servers.chat_server import ChatServer, reply

from toolablate.experiments.doctor import listening
from toolablate.experiments.environment.environment import open_tried_sandbox
from toolablate.experiments.plans.plan import load_plan
from toolablate.sandbox import Availability
from toolablate.traces.errors import SandboxError


@pytest.mark.parametrize("endpoint", ["http://[::1", "http://x:99999/", "http://x:y/", "http://[v1.x]/"])
def test_nothing_answers_at_what_is_no_address(endpoint: str) -> None:
    found = listening(endpoint, "plan")
    assert (found.state, found.name) == ("missing", endpoint)
    assert found.detail.startswith("nothing answers: ")


@pytest.mark.deep
def test_doctor_goes_on_where_an_endpoint_is_no_address(tmp_path: Path, cli: Cli) -> None:
    examined = cli("doctor", endpoint_plan(tmp_path, "http://[::1", count=1), "--json")
    assert (examined.returncode, examined.stderr) == (1, "")
    states = {finding["name"]: finding["state"] for finding in json.loads(examined.stdout)["findings"]}
    assert states["http://[::1"] == "missing"


@pytest.mark.deep
def test_a_backup_that_a_run_would_refuse_is_named(tmp_path: Path, cli: Cli) -> None:
    cluster = "[cluster]\nbackup = 'unmounted/run.sqlite'"
    examined = cli("doctor", endpoint_plan(tmp_path, "http://127.0.0.1:9", count=1, extra=cluster), "--json")
    (found,) = [each for each in json.loads(examined.stdout)["findings"] if each["name"] == "backup"]
    assert (examined.returncode, found["state"]) == (1, "missing")
    assert "unmounted is not there" in found["detail"]
    assert "mount or make it first" in found["remedy"]


def test_a_remedy_says_once_that_it_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def check(_: object) -> Availability:
        return Availability(works=False, detail="bwrap is not installed", remedy="apt-get install bubblewrap")

    monkeypatch.setattr("toolablate.sandbox.opening._JupyterSandbox.check", check)
    path = endpoint_plan(tmp_path, "http://127.0.0.1:9", count=1, extra="sandbox = 'bubblewrap'")
    path.write_text(path.read_text(encoding="utf-8").replace("['none']", "['python']"), encoding="utf-8")
    plan, _ = load_plan(path)

    async def opened() -> None:
        async with AsyncExitStack() as stack:
            await open_tried_sandbox(plan, plan.resolved_conditions(), stack)

    with pytest.raises(SandboxError) as refused:
        asyncio.run(opened())
    assert refused.value.hint.startswith("apt-get install bubblewrap\n")


def test_questions_that_ask_the_same_are_named_by_a_run_and_by_doctor(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    plan = endpoint_plan(tmp_path, chat_server.url, count=3)
    file = tmp_path / "questions.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    again = {**rows[1], "id": "later", "target": {"kind": "number", "value": 7}}
    file.write_text("\n".join(map(json.dumps, [*rows, again])), encoding="utf-8")
    chat_server.answers(lambda _: reply("Answer: 1"))
    told = 'questions: some ask the same in the same words, and count as different ones: "q1", "later"'
    ran = cli("run", plan)
    assert ran.returncode == 0, ran.stderr
    assert f"Warning: {told}" in " ".join(ran.stderr.split())
    found = json.loads(cli("doctor", plan, "--json").stdout)["findings"]
    assert [each["detail"] for each in found if each["name"] == "questions" and each["state"] == "warning"] == [told]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert "ask the same" not in cli("run", plan, "--store", tmp_path / "other.sqlite").stderr
