"""Runs to take up again: their plans, and what is read of them."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.experiments.plan_files import KERNELS
from tests.servers.chat_server import ChatServer, Step, reply

from toolablate.experiments.plans.plan import find_modules_beside, load_plan
from toolablate.experiments.running.launch import launch
from toolablate.experiments.running.progress import RunProgress
from toolablate.traces.records import Event, ModelCall, ToolCall, Trace
from toolablate.traces.store import Store

PRICED = "price = { input = 1.0, output = 2.0 }"


def run(plan: Path) -> Path:
    """Runs a plan in this process; returns its store."""
    from rich.console import Console

    find_modules_beside(plan)
    loaded, text = load_plan(plan)
    with RunProgress(Console(quiet=True)) as progress:
        launch(loaded, text, progress)
    return Path(loaded.store)


def trial_of(store: Path, condition: str = "python", question: str = "q1") -> str:
    with Store(store) as opened:
        (found,) = [
            seen.trial
            for seen in opened.summaries()
            if seen.condition == condition and seen.question == question and seen.repeat == 0
        ]
    return found


def trace_of(store: Path, trial: str) -> Trace:
    with Store(store) as opened:
        return opened.trace(trial)


def tool_calls(events: Sequence[Event]) -> list[ToolCall]:
    return [event for event in events if isinstance(event, ToolCall)]


def model_calls(events: Sequence[Event]) -> list[ModelCall]:
    return [event for event in events if isinstance(event, ModelCall)]


def endpoint_plan(
    folder: Path, server: ChatServer, *, conditions: str = "['python']", extra: str = "", sandbox: str = KERNELS
) -> Path:
    """One question for a model behind the server, which has a price."""
    question = {"id": "q1", "prompt": "What is 2 + 2?", "target": {"kind": "number", "value": 4}}
    (folder / "questions.jsonl").write_text(json.dumps(question) + "\n", encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = {conditions}\n{sandbox}\n{extra}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{server.url}'\n{PRICED}\n",
        encoding="utf-8",
    )
    return plan


def code(text: str) -> Step:
    return reply("", ("python", {"code": text}))


def by_turn(*replies: Step) -> Callable[[dict[str, Any]], Step]:
    """The k-th reply to a request that holds k replies already; the last one for all beyond."""

    def decide(request: dict[str, Any]) -> Step:
        said = sum(message["role"] == "assistant" for message in request["messages"])
        return replies[min(said, len(replies) - 1)]

    return decide


def double(number: int) -> Step:
    return reply("", ("double", {"number": number}))


def own_tool(folder: Path, text: str, others: str = "", more: str = "") -> str:
    """The condition of a function in a module of this test's own, since a process imports a name once."""
    module = f"of_{folder.name}"
    (folder / f"{module}.py").write_text(text, encoding="utf-8")
    return f"[{{ name = 'own', base = 'none', tools = [{others}'{module}:double']{more} }}]"
