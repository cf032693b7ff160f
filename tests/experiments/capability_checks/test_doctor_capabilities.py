"""`toolablate doctor --capabilities`, by the real command line and over real HTTP."""

import json
import signal
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.agents.personalities import Chat, Responses
from tests.browser.hostile import png
from tests.conftest import Cli
from tests.experiments.plan_files import endpoint_plan, wait_for
from tests.servers.chat_server import ChatServer, Echo, Hang, Status, Step, closed_port, reply

from toolablate.experiments.plans.plan import load_plan
from toolablate.traces.records import Capabilities, OpenAIModel

pytestmark = pytest.mark.deep

OPENAI_LIKE = Chat(refuses=("max_tokens",), limits=("max_completion_tokens",))


def plan_of(folder: Path, url: str, conditions: str = "['none']", model: str = "") -> Path:
    plan = endpoint_plan(folder, url, count=1, model=model)
    plan.write_text(plan.read_text(encoding="utf-8").replace("['none']", conditions), encoding="utf-8")
    return plan


def test_what_it_prints_can_be_pasted_into_the_plan(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(OPENAI_LIKE)
    plan = plan_of(tmp_path, chat_server.url, "['none', { name = 'python', tool_choice = 'required' }]")
    ran = cli("doctor", "--capabilities", plan)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "at most 17 small requests" in ran.stderr
    assert "what that costs is unknown" in ran.stderr
    assert "Unsupported parameter: 'max_tokens'" in " ".join(ran.stdout.split())
    (line,) = [line for line in ran.stdout.splitlines() if line.startswith("capabilities = ")]
    plan.write_text(plan.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    (model,) = load_plan(plan)[0].models
    assert isinstance(model, OpenAIModel)
    assert model.capabilities == Capabilities.model_validate(tomllib.loads(line)["capabilities"])
    assert model.capabilities.max_tokens_key == "max_completion_tokens"
    assert model.capabilities.tool_choice_required is True


@pytest.mark.parametrize(
    ("personality", "conditions", "model", "said"),
    [
        (Chat(tools=False), "['none', 'python']", "", "capabilities.tools is false"),
        (Chat(tools=False), "['none']", "", ""),
        (
            Chat(required="refused"),
            "['none', { name = 'python', tool_choice = 'required' }]",
            "",
            "capabilities.tool_choice_required is false",
        ),
        (Chat(refuses=("seed",)), "['none']", "sampling = { seed = 1 }", "'m' does not take its seed"),
        (Chat(logprobs=False), "['none']", "sampling = { logprobs = true }", "'m' does not take its logprobs"),
        (
            Chat(refuses=("top_p",)),
            "['none']",
            "sampling = { top_p = 0.5 }",
            "'m' does not take its sampling parameters",
        ),
        (Chat(limits=()), "['none']", "sampling = { max_tokens = 5 }", "'m' keeps no sampling.max_tokens"),
        (Responses(), "['none']", "", "'m' can be asked with api = \"responses\""),
        (Responses(), "['none', 'python']", "api = 'responses'", ""),
    ],
)
def test_what_a_plan_wants_and_an_endpoint_lacks_is_named(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, personality: Chat, conditions: str, model: str, said: str
) -> None:
    chat_server.answers(personality)
    ran = cli("doctor", "--capabilities", plan_of(tmp_path, chat_server.url, conditions, model), "--json")
    (found,) = json.loads(ran.stdout)["models"]
    assert said in "\n".join(found["problems"])
    assert bool(found["problems"]) is bool(said)
    assert ran.returncode == (1 if said else 0)


def test_what_many_conditions_want_is_named_once(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    plan = plan_of(tmp_path, chat_server.url)
    text = plan.read_text(encoding="utf-8").replace("conditions = ['none']", "ladder = ['python']")
    plan.write_text(text, encoding="utf-8")
    chat_server.answers(Chat(tools=False))
    ran = cli("doctor", "--capabilities", plan)
    (missing,) = [line for line in ran.stdout.splitlines() if line.startswith("missing: ")]
    arms = ["python:offered", "python:sham", "python:placebo", "python", "python:oracle", "python:adversarial"]
    named = ", ".join(map(repr, arms))
    assert missing == f"missing: model 'm': conditions set tools, but capabilities.tools is false: {named}"


def test_an_endpoint_that_insists_on_its_reasoning_bars_dropping_it(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    chat_server.answers(Chat(thoughts={"reasoning_content": "hm"}, insists=True))
    for setting, code in (("keep", 0), ("drop", 1)):
        plan = plan_of(tmp_path, chat_server.url, f"['none', {{ name = 'python', reasoning = '{setting}' }}]")
        ran = cli("doctor", "--capabilities", plan)
        assert ran.returncode == code, ran.stdout + ran.stderr
    assert "model 'm' does not take reasoning left out" in ran.stdout
    assert "conditions need it: 'python'" in ran.stdout


def test_questions_with_images_want_a_model_that_sees(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    plan = plan_of(tmp_path, chat_server.url)
    row = {"id": "seen", "prompt": "p", "answer": 1, "image": f"data:image/png;base64,{png()}"}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    for sees, code in ((True, 0), (False, 1)):
        chat_server.answers(Chat(sees=sees))
        ran = cli("doctor", "--capabilities", plan)
        assert ran.returncode == code, ran.stdout + ran.stderr
    assert "missing: model 'm': question 'seen' has images, but capabilities.images is false" in ran.stdout


def test_a_plan_that_says_otherwise_is_told(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(OPENAI_LIKE)
    ran = cli(
        "doctor",
        "--capabilities",
        plan_of(tmp_path, chat_server.url, model="capabilities = { seed = false, tools = true }"),
    )
    assert "note: seed: the plan says false, found was true" in ran.stdout
    assert "tools: the plan says" not in ran.stdout


def test_one_model_of_several_is_asked(chat_server: ChatServer, tmp_path: Path, cli: Cli) -> None:
    chat_server.answers(OPENAI_LIKE)
    dead = f"[[models]]\nprovider = 'openai'\nname = 'dead'\nendpoint = 'http://127.0.0.1:{closed_port()}/v1'\n"
    plan = plan_of(tmp_path, chat_server.url, model="price = { input = 1, output = 10 }\n" + dead)
    ran = cli("doctor", "--capabilities", plan, "--model", "m", "--json")
    assert ran.returncode == 0
    assert "m: at most about $0.13" in ran.stderr
    assert [found["model"] for found in json.loads(ran.stdout)["models"]] == ["m"]
    both = cli("doctor", "--capabilities", plan)
    assert both.returncode == 1
    assert "'dead' gave no reply: reachable: cannot reach" in both.stdout
    wrong = cli("doctor", "--capabilities", plan, "--model", "n")
    assert wrong.returncode == 2
    assert "those are: 'm', 'dead'" in wrong.stderr


def test_neither_key_nor_escape_reaches_the_terminal(
    chat_server: ChatServer, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-very-secret-0123456789"
    plan = plan_of(tmp_path, chat_server.url, model="api_key_env = 'TEST_KEY'")
    unset = cli("doctor", "--capabilities", plan)
    assert unset.returncode == 2
    assert "TEST_KEY is not set" in unset.stderr
    assert not chat_server.requests
    monkeypatch.setenv("TEST_KEY", key)
    for step, shown in ((Echo(401), "[key]"), (Status(401, {"message": "\x1b]0;owned\x07\x1b[2Jno"}), "no")):
        chat_server.answers(lambda body, step=step: step)  # type: ignore[misc]
        for options in ((), ("--json",)):
            ran = cli("doctor", "--capabilities", plan, *options)
            assert ran.returncode == 1
            assert shown in "".join(ran.stdout.split())
            assert key[:8] not in ran.stdout + ran.stderr
            assert "\x1b" not in ran.stdout + ran.stderr


def test_ctrl_c_keeps_what_was_found_out(chat_server: ChatServer, tmp_path: Path) -> None:
    def decide(body: dict[str, Any]) -> Step:
        return Hang() if body.get("logprobs") else OPENAI_LIKE(body)

    chat_server.answers(decide)
    plan = plan_of(tmp_path, chat_server.url)
    command = [sys.executable, "-m", "toolablate", "doctor", "--capabilities", str(plan)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        wait_for(lambda: any(body.get("logprobs") for body in chat_server.requests))
        running.send_signal(signal.SIGINT)
        output, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert "  m: seed: yes" in errors
    assert 'capabilities = { max_tokens_key = "max_completion_tokens", seed = true }' in output


def test_two_calls_have_to_come_before_they_are_said_to_be_possible(
    chat_server: ChatServer, tmp_path: Path, cli: Cli
) -> None:
    """This model makes one call at a time, whatever it is allowed."""

    def decide(body: dict[str, Any]) -> Step:
        calls = body.get("tools") and len(body["messages"]) == 1
        return reply("", ("read_number", {"name": "a"})) if calls else reply("ready")

    chat_server.answers(decide)
    (found,) = json.loads(cli("doctor", "--capabilities", plan_of(tmp_path, chat_server.url), "--json").stdout)[
        "models"
    ]
    assert "parallel_tool_calls" not in found["capabilities"]
    (told,) = [seen for seen in found["observations"] if seen["subject"] == "parallel_tool_calls"]
    assert (told["state"], told["evidence"]) == (
        "unknown",
        "asked for two calls in one reply, true brought 1 and false 1",
    )
