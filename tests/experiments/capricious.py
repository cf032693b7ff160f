"""An endpoint that fails now and then, a plan that asks it under several conditions, and what came of the trials."""

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.servers.chat_server import ChatServer, Drop, Json, Slow, Status, Step, reply

CONDITIONS = '["none", { name = "brief", prompt = "Be brief." }, { name = "tool", tools = ["doubling:double"] }]'

TOOL = '''from toolablate.tools import tool

@tool
def double(x: int) -> int:
    """Double a number."""
    return 2 * x
'''

Asked = tuple[str, str]
"""The number of a question and the name of a condition."""


def capricious_plan(folder: Path, url: str, *, count: int, concurrency: int = 4) -> Path:
    lines = (
        json.dumps({"id": f"q{n}", "prompt": f"Question {n}", "target": {"kind": "number", "value": 2 * n}})
        for n in range(count)
    )
    (folder / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (folder / "doubling.py").write_text(TOOL, encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = {CONDITIONS}\nrunner.attempts = 2\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'openai'\nname = 'm'\nendpoint = '{url}'\nconcurrency = {concurrency}\n",
        encoding="utf-8",
    )
    return plan


class Caprices:
    """Answers by question and condition, after `seconds`. Where it is `failing`, every 11th request is a server error and
    every 23rd a reply that breaks off; question 3 is refused under the condition `brief` whenever it is asked. `padding`
    is how many characters go before an answer; `hold` may hold an answer back."""

    def __init__(self, server: ChatServer, *, seconds: float = 0.0, failing: bool = True) -> None:
        self._seconds = seconds
        self._failing = failing
        self._count = 0
        self.padding = 0
        self.hold: Callable[[dict[str, Any], Step], Step] | None = None
        self.asked: list[Asked] = []
        server.answers(self._answer)

    def _answer(self, request: dict[str, Any]) -> Step:
        number, condition = asked(request)
        self.asked.append((number, condition))
        self._count += 1
        if (number, condition) == ("3", "brief"):
            return Status(400, {"message": "this question is not to be asked", "code": "refused"})
        if self._failing and self._count % 11 == 0:
            return Status(500)
        if self._failing and self._count % 23 == 0:
            return Drop()
        step: Step = Slow(self._seconds, self._reply(request, number, condition))
        return self.hold(request, step) if self.hold else step

    def _reply(self, request: dict[str, Any], number: str, condition: str) -> Json:
        if condition == "tool" and request["messages"][-1]["role"] != "tool":
            return reply(None, ("double", {"x": int(number)}))
        # Random, so that a store cannot make it small.
        return reply(f"{os.urandom(self.padding // 2).hex()}\nAnswer: {2 * int(number)}")

    def take(self) -> Counter[Asked]:
        """What was asked since the last time."""
        taken, self.asked = Counter(self.asked), []
        return taken


def asked(request: dict[str, Any]) -> Asked:
    number = next(m["content"].split("Question ")[1].split()[0] for m in request["messages"] if m["role"] == "user")
    text = json.dumps(request["messages"])
    return number, "tool" if request.get("tools") else "brief" if "Be brief." in text else "none"


def finished(store: Path) -> dict[Asked, bytes]:
    """The digests of the finished traces by question and condition; each trial may have one."""
    query = (
        "SELECT substr(questions.name, 2), conditions.name, traces.digest FROM traces"
        " JOIN trials ON trials.key = traces.trial JOIN questions ON questions.key = trials.question"
        " JOIN conditions ON conditions.key = trials.condition WHERE traces.outcome IN ('answered', 'budget')"
    )
    # What a killed run left has to be recovered first, which writes.
    with closing(sqlite3.connect(f"file:{store}?mode=rw", uri=True, timeout=30)) as connection:
        rows = connection.execute(query).fetchall()
    found = {(number, condition): digest for number, condition, digest in rows}
    assert len(found) == len(rows), "a trial was done twice"
    return found
