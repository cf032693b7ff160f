"""Plans whose answers a judge grades: a scripted model's answers, and a judge behind a real endpoint."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.servers.chat_server import reply

from toolablate.traces.records import Score
from toolablate.traces.store import Store

GRADE = 'Because.\n{"answer_score": %d}'

RIGHT, WRONG = "I hold it to be ALPHA.", "I hold it to be OMEGA."


def grades(request: dict[str, Any]) -> Any:
    """A judge that sees ALPHA in right answers and OMEGA in wrong ones; no question or reference holds either."""
    return reply(GRADE % ("ALPHA" in str(request["messages"])))


def asked_about(request: Mapping[str, Any]) -> str:
    """The question that a judge is asked about."""
    found = re.search(r"Riddle \d+", str(request["messages"]))
    assert found
    return found[0]


def riddles(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [
        {"id": f"q{n}", "prompt": f"Riddle {n}?", "target": {"kind": "reference", "answer": f"solution {n}"}, **fields}
        for n in range(count)
    ]


def judged_plan(
    folder: Path,
    judges: str,
    *,
    answers: Mapping[str, str] = {},
    questions: Sequence[Mapping[str, Any]] | None = None,
    count: int = 4,
    extra: str = "",
    conditions: Iterable[str] = ("none", "scaffold"),
    section: str = "",
) -> Path:
    """Every answer is right but under `none` that to the first question; `answers` are others, by the question's id."""
    asked = riddles(count) if questions is None else questions
    lines = [
        {
            "question": each["id"],
            "condition": condition,
            "replies": [
                {"content": answers.get(each["id"], WRONG if (each["id"], condition) == ("q0", "none") else RIGHT)}
            ],
        }
        for each in asked
        for condition in conditions
    ]
    for name, rows in (("questions", asked), ("script", lines)):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"conditions = {json.dumps(list(conditions))}\n{extra}\n[questions]\nfile = 'questions.jsonl'\n{section}\n"
        f"[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n{judges}\n",
        encoding="utf-8",
    )
    return plan


def judge_at(url: str, name: str = "j", more: str = "") -> str:
    return f"[[judges]]\nprovider = 'openai'\nname = '{name}'\nendpoint = '{url}'\n{more}\n"


def verdicts(store: Path, judge: str = "judge[j@") -> dict[tuple[str, str], str]:
    """By question and condition, of the one scorer whose name begins so and that is no re-grading."""
    with Store(store) as opened:
        scorers = [name for name in opened.scorers() if name.startswith(judge) and "again" not in name]
        return {
            (seen.question, seen.condition): seen.verdict
            for seen in opened.summaries(scorers=scorers)
            if seen.verdict is not None
        }


def all_scores(store: Path) -> list[Score]:
    with Store(store) as opened:
        return [score for trace in opened.traces() for score in opened.scores(trace.trial.id)]


def let_judge(plan: Path, judges: str) -> None:
    """Adds judges to a plan, and lets them score whatever it asks."""
    text = plan.read_text(encoding="utf-8") + judges
    plan.write_text(text.replace("[questions]\n", "[questions]\nscorer = 'judge'\n"), encoding="utf-8")
