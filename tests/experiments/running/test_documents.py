"""Runs in which conditions differ in where a question's documents are: real search, real kernel, scripted model."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import Cli
from tests.experiments.plan_files import KERNELS

from toolablate.traces.records import ModelCall, ToolCall
from toolablate.traces.store import Store

TEXT = f"The farm.\n\n{'It was old and grey and stood by the river. ' * 60}\n\nIn 1911 the farm had 37 goats.\n"
CODE = "import re; print(re.search(r'(\\d+) goats', open('farm.txt').read())[1])"
REPLIES: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "prompt": [],
    "cut": [],
    "search": [{"tool_calls": [{"name": "document_search", "arguments": {"query": "goats in 1911"}}]}],
    "both": [{"tool_calls": [{"name": "document_open", "arguments": {"url": "farm.txt"}}]}],
    "files": [{"tool_calls": [{"name": "python", "arguments": {"code": CODE}}]}],
}
CONDITIONS = """
conditions = [
    "none",
    { name = "prompt", documents = "prompt" },
    { name = "cut", documents = ["prompt"], input_tokens = 100 },
    { name = "search", tools = ["documents"] },
    { name = "both", documents = "prompt", tools = ["documents"] },
    { name = "files", documents = "files", tools = ["python"] },
]
"""


def write_plan(folder: Path, conditions: str = CONDITIONS, documents: object = ("farm.txt",)) -> Path:
    (folder / "farm.txt").write_text(TEXT, encoding="utf-8")
    rows = [
        {"id": name, "prompt": f"{name}: how many goats in 1911?", "answer": 37, "documents": documents}
        for name in ("a", "b")
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    script = [
        {"question": row["id"], "condition": name, "replies": [*replies, {"content": "Answer: 37"}]}
        for row in rows
        for name, replies in REPLIES.items()
    ]
    (folder / "script.jsonl").write_text("\n".join(map(json.dumps, script)), encoding="utf-8")
    plan = folder / "plan.toml"
    plan.write_text(
        f"{conditions}\n{KERNELS}\n[questions]\nfile = 'questions.jsonl'\n"
        "[[models]]\nprovider = 'scripted'\nname = 'm'\nscript = 'script.jsonl'\n",
        encoding="utf-8",
    )
    return plan


@pytest.mark.deep
def test_conditions_differ_in_where_the_documents_are(tmp_path: Path, cli: Cli, store: Path) -> None:
    ran = cli("run", write_plan(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    asked: dict[str, str] = {}
    given: dict[str, str] = {}
    cut = {}
    with Store(store) as opened:
        for trace in opened.traces():
            name = opened.condition(trace.trial.condition).name
            first = trace.events[0]
            assert isinstance(first, ModelCall)
            asked[name] = first.request.messages[-1].content
            cut[name] = first.input_cut
            for event in trace.events:
                if isinstance(event, ToolCall):
                    given[name] = event.output
        (text,) = {question.documents[0].text for question in opened.questions()}
    assert text == TEXT
    assert {name for name, prompt in asked.items() if "<document" in prompt} == {"prompt", "cut", "both"}
    assert {name for name, prompt in asked.items() if "37 goats" in prompt} == {"prompt", "both"}
    assert all('Documents of this question: "farm.txt".' in prompt for prompt in asked.values())
    assert "37 goats" in given["search"]
    assert "L0: The farm." in given["both"]
    assert given["files"] == "37"
    assert {name for name, found in cut.items() if found} == {"cut"}
    assert cut["cut"]
    assert (cut["cut"].kept <= 400, cut["cut"].chars > 2_000) == (True, True)

    _is_told_of_the_cut(cli, store, ran.stdout)
    _keeps_a_text_once(store)
    assert "Nothing is damaged" in cli("verify", store).stdout


def _is_told_of_the_cut(cli: Cli, store: Path, ran: str) -> None:
    note = "Note: cut: the question was cut to the condition's input_tokens in 2 of 2 trials of m (2 questions)."
    for told in (ran, cli("compare", store).stdout):
        assert note in " ".join(told.split())
    rows = json.loads(cli("compare", store, "--json").stdout)["cut_inputs"]
    assert [(row["condition"], row["cut"], row["trials"], row["questions"]) for row in rows] == [("cut", 2, 2, 2)]
    page = store.parent / "report.md"
    assert cli("report", store, "--output", page).returncode == 0
    assert "the question was cut to the condition" in page.read_text(encoding="utf-8")


def _keeps_a_text_once(store: Path) -> None:
    with Store(store) as opened:
        texts = [question.documents[0].text for question in opened.questions()]
        assert texts == [TEXT, TEXT]
    with sqlite3.connect(store) as connection:
        bodies = [body for (body,) in connection.execute("SELECT body FROM questions")]
    assert len(bodies) == 2
    assert all(len(body) < len(TEXT) / 2 for body in bodies)


@pytest.mark.parametrize(
    ("conditions", "documents", "said"),
    [
        (CONDITIONS, [], "2 of 2 questions have no documents, which the condition 'prompt' is about"),
        ("conditions = ['documents']", [], "which the condition 'documents' is about; the first is 'a'"),
        ("conditions = [{ name = 'x', documents = 'files' }]", ["farm.txt"], "no tool that runs code"),
        ("conditions = [{ name = 'x', documents = 'folder' }]", ["farm.txt"], "'prompt' or 'files'"),
        ("conditions = [{ name = 'none', input_tokens = 0 }]", ["farm.txt"], "input_tokens"),
        ("conditions = ['none']", ["gone.txt"], "questions.jsonl:1: item 1 of 'documents'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_written(
    tmp_path: Path, cli: Cli, store: Path, conditions: str, documents: list[str], said: str
) -> None:
    ran = cli("run", write_plan(tmp_path, conditions, documents))
    assert ran.returncode == 2, ran.stdout
    assert said in " ".join(ran.stderr.split())
    assert "Traceback" not in ran.stderr
    assert not store.exists()


def test_documents_in_the_prompt_are_a_part_of_a_ladders_scaffold(tmp_path: Path) -> None:
    from toolablate.experiments.plans.plan import load_plan

    ladder = "ladder = [{ name = 'both', base = 'documents', documents = 'prompt', arms = ['offered', 'placebo'] }]"
    plan, _ = load_plan(write_plan(tmp_path, ladder))
    arms = {arm.name: arm.documents for arm in plan.resolved_conditions()}
    assert arms == {
        "none": (),
        "both:scaffold": ("prompt",),
        "both:offered": ("prompt",),
        "both:placebo": ("prompt",),
        "both": ("prompt",),
    }
