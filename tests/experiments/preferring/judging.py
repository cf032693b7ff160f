"""Stores with answers in words, and a server that grades and compares them by rule."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.experiments.judged import grades, judge_at
from tests.experiments.replay.scenes import run
from tests.servers.chat_server import ChatServer, reply


def shown_answers(request: Mapping[str, Any]) -> tuple[str, str] | None:
    """The two answers of a comparison in the order in which they are shown; None for another request."""
    text = str(request["messages"][-1]["content"])
    found = re.search(r"<answer A [0-9a-f]+>\n(.*?)\n</answer A .*<answer B [0-9a-f]+>\n(.*?)\n</answer B", text, re.S)
    return (found[1], found[2]) if found else None


def prefers(request: Mapping[str, Any]) -> Any:
    """GOOD beats OK beats BAD, whatever stands first; of a FIRST text, what is shown first is better."""
    answers = shown_answers(request)
    if answers is None:
        return grades(dict(request))
    ranks = [next((rank for rank, word in enumerate(("BAD", "OK", "GOOD")) if word in each), 1) for each in answers]
    better = "a" if ranks[0] > ranks[1] else "b" if ranks[0] < ranks[1] else "same"
    if any("FIRST" in each for each in answers):
        better = "a"
    return reply(f'By its rule.\n{{"better": "{better}"}}')


def answered_store(
    folder: Path,
    server: ChatServer,
    answers: Mapping[str, Mapping[str, list[str]]],
    *,
    more: str = "",
    judge: str = "price = { input = 1.0, output = 2.0 }",
    server_answers: Callable[[dict[str, Any]], Any] | None = None,
) -> Path:
    """`answers`: by condition, then by question, one for each repeat; all of them are graded right."""
    repeats = max(len(each) for of in answers.values() for each in of.values())
    questions = sorted({question for of in answers.values() for question in of})
    asked = [
        {"id": name, "prompt": f"Riddle {name}?", "target": {"kind": "reference", "answer": f"solution {name}"}}
        for name in questions
    ]
    script = [
        {"question": name, "condition": condition, "repeat": repeat, "replies": [{"content": f"ALPHA {text}"}]}
        for condition, of in answers.items()
        for name, texts in of.items()
        for repeat, text in enumerate(texts)
    ]
    for name, rows in (("questions", asked), ("script", script)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = {json.dumps(list(answers))}\nrepeats = {repeats}\n{more}\n[questions]\nfile = 'questions.jsonl'\n"
        f"[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n{judge_at(server.url, more=judge)}\n",
        encoding="utf-8",
    )
    server.answers(server_answers or prefers)
    return run(plan)
