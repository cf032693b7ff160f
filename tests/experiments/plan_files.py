"""Parts of plans, and what came of running them."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.servers.chat_server import reply

from toolablate.traces.store import Store

KERNELS = "sandbox = { backend = 'bubblewrap', pool = 0 }"
"""A line of plans that start few kernels: a fork server takes as long to start as ten of these."""


def call(code: str) -> dict[str, Any]:
    return {"tool_calls": [{"name": "python", "arguments": {"code": code}}]}


def answered(text: str = "Answer: 2") -> list[dict[str, Any]]:
    return [{"content": text}]


def wait_for(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 100
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def outcomes(store: Path) -> dict[tuple[str, str], tuple[str, str | None]]:
    with Store(store) as opened:
        return {(seen.question, seen.condition): (seen.outcome, seen.verdict) for seen in opened.summaries()}


def endpoint_plan(
    folder: Path, url: str, *, count: int, extra: str = "", model: str = "", concurrency: int = 2
) -> Path:
    lines = (
        json.dumps({"id": f"q{n}", "prompt": f"Question {n}", "target": {"kind": "number", "value": n}})
        for n in range(count)
    )
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = ['none']\n{extra}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{url}'\nconcurrency = {concurrency}\n{model}\n",
        encoding="utf-8",
    )
    return plan


def right(request: dict[str, Any]) -> Any:
    number = request["messages"][-1]["content"].split()[1]
    return reply(f"Answer: {number}")
