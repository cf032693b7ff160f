"""A plan of models of LangChain by the commands: run with a tool and a judge, recorded, replayed, attributed, refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.servers import anthropic as api
from tests.servers.chat_server import ChatServer

from toolablate.traces.records import LangChainModel, ModelCall
from toolablate.traces.store import Store

pytest.importorskip("langchain_anthropic", reason="langchain-anthropic is not installed (pip install -e .[dev])")

KEY = "sk-of-the-test-0123456789"
TOOLS = '''
from langchain_core.tools import tool

@tool
def twice(x: int) -> str:
    """Double a number."""
    return str(2 * x)
'''
QUESTION = {"id": "q", "prompt": "What is 2 * 21?", "target": {"kind": "reference", "answer": "42"}}
MODEL = """
provider = "langchain"
class = "langchain_anthropic:ChatAnthropic"
kwargs = {{ base_url = "{address}", max_tokens = 2000, thinking = {{ type = "enabled", budget_tokens = 1024 }} }}
api_key_env = "KEY_OF_TEST"
price = {{ input = 3, output = 15, cached_input = 0.3, cache_write = 3.75 }}
"""
PLAN = """
conditions = ["none", {{ name = "calc", tools = ["own_tools:twice"] }}]
{extra}
[questions]
file = "questions.jsonl"

[[models]]
name = "claude-x"{model}
[[judges]]
name = "claude-judge"{model}"""


class Served:
    """Knows the answer, and takes the tool's for it where it has one, which is that of another question. Its judge
    wants to read 42."""

    def __call__(self, body: dict[str, Any]) -> Any:
        if body["model"] == "claude-judge":
            # The reference is in it too.
            good = "twice says 99" not in json.dumps(body["messages"])
            return api.message(api.thinking("Hm."), api.text(f'Because.\n{{"answer_score": {good:d}}}'))
        results = [block for message in body["messages"] for block in blocks(message) if block["type"] == "tool_result"]
        if results:
            return api.message(api.thinking("So."), api.text("Answer: twice says 99"))
        if body.get("tools") and body.get("tool_choice") != {"type": "none"}:
            call = api.tool_use("twice", {"x": 21})
            return api.message(api.thinking("A tool.", "signed"), call, cache_read_input_tokens=100)
        return api.message(api.text("Answer: 42"))


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    return message["content"] if isinstance(message["content"], list) else []


@pytest.fixture
def plan(chat_server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEY_OF_TEST", KEY)
    chat_server.answers(Served())
    (tmp_path / "own_tools.py").write_text(TOOLS, encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTION), encoding="utf-8")
    return written(tmp_path, chat_server)


def written(folder: Path, server: ChatServer, extra: str = "") -> Path:
    path = folder / "plan.toml"
    path.write_text(PLAN.format(extra=extra, model=MODEL.format(address=server.address)), encoding="utf-8")
    return path


def test_a_run_is_recorded_replayed_and_attributed(
    chat_server: ChatServer, plan: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, chat_server, 'replies.mode = "record"')
    checked = cli("doctor", plan)
    assert "KEY_OF_TEST" in checked.stdout
    ran = cli("run", plan, "--store", "first.sqlite")
    assert ran.returncode == 0, ran.stderr + ran.stdout
    assert "Judge claude-judge: 2 answers graded (2 requests, $" in ran.stdout
    with Store(tmp_path / "first.sqlite") as store:
        (model,) = store.models()
        assert isinstance(model, LangChainModel)
        assert model.package.startswith("langchain-anthropic ")
        traces = {store.condition(trace.trial.condition).name: trace for trace in store.traces()}
    assert traces["calc"].cost_usd == pytest.approx((10 + 10) * 3e-6 + 100 * 0.3e-6 + 10 * 15e-6)
    asked = [event for event in traces["calc"].events if isinstance(event, ModelCall)]
    assert asked[0].reply.message.reasoning == "A tool."
    again = next(body for body in chat_server.requests if "tool_result" in json.dumps(body))
    assert again["messages"][1]["content"][0] == api.thinking("A tool.", "signed")

    count = len(chat_server.requests)
    monkeypatch.delenv("KEY_OF_TEST")
    written(tmp_path, chat_server, 'replies.mode = "replay"')
    replayed = cli("run", plan, "--store", "second.sqlite")
    assert replayed.returncode == 0, replayed.stderr
    assert len(chat_server.requests) == count
    assert cli("verify", "second.sqlite", "--same-as", "first.sqlite").returncode == 0
    for name in ("first.sqlite", "second.sqlite", "replies.sqlite"):
        assert KEY.encode() not in (tmp_path / name).read_bytes()


@pytest.mark.deep
def test_an_attribution_replays_it(chat_server: ChatServer, plan: Path, cli: Cli, tmp_path: Path) -> None:
    assert cli("run", plan).returncode == 0
    store, count = tmp_path / "runs" / "plan.sqlite", len(chat_server.requests)
    told = cli("attribute", store, "--replay", "--max-cost", "1", "--samples", "1", "--rollouts", "1", "--list")
    assert told.returncode == 0, told.stderr
    assert len(chat_server.requests) > count
    barred = [body for body in chat_server.requests[count:] if body.get("tool_choice") == {"type": "none"}]
    assert barred


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("langchain_anthropic:ChatAnthropic", "langchain_anthropic:ChatAntropic", 10, "did you mean 'ChatAnthropic'?"),
        ("max_tokens = 2000", "max_token = 2000", 11, "kwargs.max_token is no argument of ChatAnthropic"),
        ("KEY_OF_TEST", "KEY_THAT_IS_NOT_SET", 12, "KEY_THAT_IS_NOT_SET is not set"),
    ],
)
def test_a_mistake_is_told_with_its_line_before_anything_is_asked(
    chat_server: ChatServer, plan: Path, cli: Cli, tmp_path: Path, old: str, new: str, line: int, told: str
) -> None:
    plan.write_text(plan.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    ran = cli("run", plan)
    assert ran.returncode == 2
    assert told in " ".join(ran.stderr.split())
    assert f"plan.toml, line {line}: " in ran.stderr
    assert "Traceback" not in ran.stderr
    assert (chat_server.requests, (tmp_path / "runs").exists()) == ([], False)
