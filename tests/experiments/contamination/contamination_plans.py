"""Plans of contamination tests, models that know some of their prompts, and the command that runs them."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.servers.chat_server import Json

from toolablate.cli import group
from toolablate.traces.records import Continuation

KEY = "sk-very-secret-0123456789"
VOCABULARY = [a + b + c for a in "bdfgk" for b in "aeiou" for c in "lmnrt"]


def prompt(drawn: random.Random, words: int = 40) -> str:
    return " ".join(drawn.choice(VOCABULARY) for _ in range(words)) + "?"


def write_questions(path: Path, prompts: Mapping[str, str], **more: Any) -> None:
    rows = ({"id": name, "prompt": text, "answer": 1, **more} for name, text in prompts.items())
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_plan(folder: Path, url: str, benchmarks: Mapping[str, Mapping[str, str]], extra: str = "") -> Path:
    """`extra` ends in the model's table."""
    listed = "".join(f"{name} = '{name}.jsonl'\n" for name in benchmarks)
    for name, prompts in benchmarks.items():
        write_questions(folder / f"{name}.jsonl", prompts)
    plan = folder / "plan.toml"
    plan.write_text(
        f"file = 'kept/came.jsonl'\n[benchmarks]\n{listed}[[models]]\nprovider = 'openai'\nname = 'base'\n"
        f"endpoint = '{url}'\nconcurrency = 2\n{extra}\n",
        encoding="utf-8",
    )
    return plan


def text(written: str, finish_reason: str = "length") -> Json:
    return Json({"choices": [{"index": 0, "text": written, "finish_reason": finish_reason}]})


def remembering(known: Mapping[str, str]) -> Callable[[dict[str, Any]], Json]:
    """A model that goes on truly with the prompts it knows, and then rambles; it babbles on after the others."""

    def answer(request: dict[str, Any]) -> Json:
        given = request["prompt"]
        drawn = random.Random(given)
        babble = prompt(drawn, 80)
        for whole in known.values():
            if whole.startswith(given):
                return text(whole[len(given) :] + " " + babble)
        return text(" " + babble)

    return answer


def ran(plan: Path, *options: str) -> Result:
    return CliRunner().invoke(group, ["contamination", str(plan), *options])


def kept(plan: Path) -> list[Continuation]:
    lines = (plan.parent / "kept/came.jsonl").read_text(encoding="utf-8").splitlines()
    return [Continuation.from_json(line) for line in lines]


def flat(page: str) -> str:
    return " ".join(page.split())


def few(count: int = 12) -> dict[str, str]:
    drawn = random.Random(count)
    return {f"q{number}": prompt(drawn) for number in range(count)}
