"""Which answers programs computed: read from the trials of a run with real kernels."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group

RODS = {"id": "rods", "prompt": "12 rods weigh 31 kg each. How much in all?", "answer": 372}
STATED = {"id": "stated", "prompt": "How high is Zugspitze, in m?", "answer": 2962}
WRONG = {"id": "wrong", "prompt": "What is 7 times 8, less 1?", "answer": 55}
SMALL = {"id": "small", "prompt": "What is 12 less 9?", "answer": 3}
SAID = {"id": "said", "prompt": "What is 11 less 9?", "answer": 2}
OPTION = {"id": "option", "prompt": "How much is 6 x 7 kg?", "choices": ["41 kg", "42 kg", "43 kg"], "answer": "B"}
LETTER = {"id": "letter", "prompt": "Which metal?", "choices": ["copper", "silver"], "answer": "A"}
LONG = {"id": "long", "prompt": "Why does it swell?", "answers": [f"Because of {'gas and ' * 50}heat"]}
UNTRIED = {"id": "untried", "prompt": "What is 4 x 25?", "answer": 100}
PROGRAMS = {
    "rods": "print(12 * 31)",
    "stated": "height = 2962\nprint(height)",
    "wrong": "print(7 * 8)",
    "small": "print(12 - 9)",
    "said": "print(2)",
    "option": "print(f'{6 * 7} kg')",
    "letter": "print('Answer: A')",
    "long": "print(2 + 2)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    questions = (RODS, STATED, WRONG, SMALL, SAID, OPTION, LETTER, LONG, UNTRIED)
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")
    lines = []
    for question in questions:
        code = PROGRAMS.get(str(question["id"]))
        calls = [] if code is None else [{"tool_calls": [{"name": "python", "arguments": {"code": code}}]}]
        replies = [*calls, {"content": f"Answer: {question.get('answer', 'heat')}"}]
        lines.append(json.dumps({"question": question["id"], "condition": "python", "replies": replies}))
    (tmp_path / "script.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "plan.toml").write_text(
        'conditions = ["python"]\n[questions]\nfile = "questions.jsonl"\n'
        '[[models]]\nprovider = "scripted"\nname = "s"\nscript = "script.jsonl"\n',
        encoding="utf-8",
    )
    return tmp_path


def annotated(folder: Path, *options: str, out: str = "out.jsonl") -> tuple[dict[str, Any], str]:
    asked = ["annotate", str(folder / "plan.toml"), "-o", str(folder / out), *options]
    done = CliRunner().invoke(group, asked)
    assert done.exit_code == 0, done.output
    return {each.id: each.metadata for each in load_questions(folder / out)}, done.output


def test_an_answer_is_computed_where_a_program_gave_it_and_has_it_not_written_in_it(folder: Path) -> None:
    ran = CliRunner().invoke(group, ["run", str(folder / "plan.toml")])
    assert ran.exit_code == 0, ran.output
    store = folder / "runs/plan.sqlite"
    told, output = annotated(folder, "--programs", str(store))
    assert {name: metadata.get("computed") for name, metadata in told.items()} == {
        "rods": "yes",
        "stated": "no",
        "wrong": "no",
        "small": "yes",
        "said": "no",
        "option": "yes",
        "letter": "no",
        "long": None,
        "untried": None,
    }
    assert "computed by a program: 3 of 7 questions of which programs ran" in output
    # The store goes on with them, and they are a factor of it.
    text = (folder / "plan.toml").read_text(encoding="utf-8")
    (folder / "plan.toml").write_text(text.replace("questions.jsonl", "out.jsonl"), encoding="utf-8")
    again = CliRunner().invoke(group, ["run", str(folder / "plan.toml"), "--json"])
    assert json.loads(again.stdout)["done_before"] == 9
    assert annotated(folder, out="later.jsonl")[0]["rods"]["computed"] == "yes", (
        "without the option what was told stays"
    )


def test_a_store_that_is_none_is_named(folder: Path) -> None:
    asked = ["annotate", str(folder / "plan.toml"), "-o", str(folder / "out.jsonl"), "--programs", "nowhere.sqlite"]
    done = CliRunner().invoke(group, asked)
    assert "nowhere.sqlite" in f"{done.output}{done.exception}"
    assert not (folder / "out.jsonl").exists()
