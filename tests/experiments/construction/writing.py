"""A model that writes and checks questions by marks in the material, and builds with it."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result
from tests.servers.chat_server import ChatServer, Json, Status, reply

from toolablate.cli import group

SETTINGS = {
    "lithium": "Our pouch cells swell after a summer in a parked van, and the supplier sends a new formulation.",
    "sodium": "For a hobby rover we bought grey-market modules; the datasheet is silent on chemistry!",
    "zinc": "Reading the 1998 patent of the Delft group, page eleven, I wondered about their blank row.",
    "magnesium": "My thesis committee wants a citation: why does nobody publish cycling beyond day forty?",
}
PAIRS = [
    {
        "question": f"{setting} Which additive keeps a {metal} electrolyte stable above {n} volts?",
        "answer": f"The {metal} salt number {n}",
        "explanation": "The others decompose.",
        "replies": [f"Plain water does it, say {metal} people", f"Use salt {n + 1} of {metal}, it holds longer"],
        "url": f"https://forum.example/t/{n}",
        "forum": "Batteries",
        "licence": "CC BY-SA 4.0",
    }
    for n, (metal, setting) in enumerate(SETTINGS.items(), start=3)
]


def assessed(text: str) -> dict[str, Any]:
    return {
        "defined_question": "NOQUESTION" not in text,
        "valid_answer": "NOANSWER" not in text,
        "disputed": "DISPUTED" in text,
        "wrong_replies": [1] if "<reply 1 " in text else [],
        "reason": "",
    }


def filtered(text: str) -> dict[str, Any]:
    quality = dict.fromkeys(("accurate", "complete", "professional", "timeless"), "POOR" not in text)
    hard = ("special_knowledge", "several_steps", "synthesis", "uncommon_approach")
    kind = "computation" if "COMPUTE" in text else "knowledge"
    return {
        **quality,
        **dict.fromkeys(hard, "EASY" not in text),
        "domain": "Chemistry",
        "kind": kind,
        "clarity": 5,
        "reason": "",
    }


def converted(text: str) -> dict[str, Any]:
    found = re.search(r"additive keeps a (\w+) .* above (\d+) volts", text)
    metal, n = (found[1], found[2]) if found else ("some", "1")
    options = [
        f"{word} salt of {metal}, kind {n}"
        for word in ("A nitrate", "A sulphate", "An oxide", "A chloride", "A borate")
    ]
    asked = re.search(r"<question \w+>\n(.*)\n</question ", text, re.DOTALL)
    return {
        "question": f"Which additive keeps {metal} stable above {n} volts?" if found or not asked else asked[1],
        "options": options,
        "correct_answer": options[2],
        "explanation": "It does not decompose.",
    }


def short(text: str) -> dict[str, Any]:
    return {"question": "How many?", "answer": "12", "points": ["says 12"], "explanation": ""}


FORMS = {"defined_question": assessed, "accurate": filtered, "correct_answer": converted, "points": short}


class Writer:
    """Answers each request in the form that it asks for; `replies` are other contents, the first for each mark."""

    def __init__(self, server: ChatServer, replies: Mapping[str, list[Any]] | None = None) -> None:
        self.server = server
        self.replies = {mark: list(given) for mark, given in (replies or {}).items()}
        server.answers(self.decide)

    def decide(self, request: dict[str, Any]) -> Json | Status:
        system, user = request["messages"][0]["content"], request["messages"][1]["content"]
        for mark, given in self.replies.items():
            if mark in user and given and "defined_question" not in system:
                step = given.pop(0)
                return step if isinstance(step, Json | Status) else reply(step)
        if "- same:" in system:
            return reply(json.dumps({"same": "SAME" in user, "reason": ""}))
        made = next(make for key, make in FORMS.items() if f"- {key}:" in system)
        return reply(json.dumps(made(user)))


def pipeline_of(folder: Path, server: ChatServer, pairs: list[dict[str, Any]] = PAIRS, more: str = "") -> Path:
    (folder / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)), encoding="utf-8")
    path = folder / "questions.toml"
    path.write_text(
        f'items = "pairs.jsonl"\n{more}\n[[models]]\nprovider = "openai"\nname = "w"\nendpoint = "{server.url}"\n'
        "price = { input = 1.0, output = 2.0 }\n",
        encoding="utf-8",
    )
    return path


ALONE = "[review]\nreviewers = 0\n"


def run(*args: object, code: int = 0) -> Result:
    found = CliRunner().invoke(group, ["build", *map(str, args)])
    assert found.exit_code == code, (found.output, found.exception)
    return found


def funnel(path: Path, code: int = 0) -> dict[str, dict[str, Any]]:
    return {each["stage"]: each for each in json.loads(run(path, "--json", code=code).stdout)["stages"]}
