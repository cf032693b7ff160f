"""Rows of the published form become questions; the rows here are made up."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from toolablate.benchmarks.clear.published import load_published, published_tasks, read_tasks
from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChecklistTarget, Question

LIMITS = {
    "T01LegalMDS": 6144, "T02LegalSOF": 10240, "T03MaterialSEG": 2048, "T04EduPAE": 1024, "T05EduFG": 1024,
    "T06HealthCNG": 2048, "T07ChemMDG": 512, "T08BioPDG": 512, "T09MedicalDR": 2048, "T10FinanceESG": 1024,
    "T11CyberRDG": 1024,
}  # fmt: skip


ITEMS = {
    "T01LegalMDS": 26, "T03MaterialSEG": 6, "T04EduPAE": 7, "T06HealthCNG": 29, "T07ChemMDG": 6, "T08BioPDG": 5,
    "T11CyberRDG": 6,
}  # fmt: skip
"""How many there are in the public files."""


def row(identity: str = "T07ChemMDG-1", **fields: Any) -> dict[str, Any]:
    checklist = {"Origin": "yeast", "Use": "N/A", "Risk": " n/a. "}
    return {
        "id": identity, "input": "CCO", "raw_human_reference": "It is made by yeast.",
        "human_reference_checklist": checklist,
    } | fields  # fmt: skip


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in rows), encoding="utf-8")
    return path


def items_of(question: Question) -> dict[str, tuple[str | None, bool]]:
    assert isinstance(question.target, ChecklistTarget)
    return {item.name: (item.reference, item.literal) for item in question.target.items}


def test_eleven_tasks_with_their_limits() -> None:
    assert {name: task.max_tokens for name, task in published_tasks().items()} == LIMITS
    assert all(task.prompt and task.domain and task.title for task in published_tasks().values())
    assert {name: len(task.items) for name, task in published_tasks().items() if task.items} == ITEMS
    assert all(said for task in published_tasks().values() for said in task.items.values()), "each has a definition"
    assert all(name in task.items for task in published_tasks().values() for name in task.literal)


def test_a_row_becomes_a_question_that_a_plan_reads(tmp_path: Path) -> None:
    source, output = written(tmp_path, row(), row("T07ChemMDG-2")), tmp_path / "questions.jsonl"
    result = CliRunner().invoke(group, ["clear", "import", str(source), "-o", str(output)])
    assert result.exit_code == 0, result.output
    assert "T07ChemMDG: 2 questions, 3 items, 2 without a definition; 67 % of references are N/A" in result.output
    assert "says nothing: F1 66.7; replies of at most 512 tokens" in result.output
    first, second = load_questions(output)
    assert items_of(first) == {"Origin": ("yeast", False), "Use": (None, False), "Risk": (None, False)}
    assert (first.prompt.endswith("\n\nCCO"), first.as_is, first.domain) == (True, True, "chemistry")
    assert first.metadata == {"task": "T07ChemMDG", "max_tokens": 512}
    assert first.rubric is not None
    assert first.rubric.reference == "It is made by yeast."
    assert first.identity() != second.identity()


def test_ids_with_hyphens_and_slashes_stay_apart(tmp_path: Path) -> None:
    names = ("T03MaterialSEG-10.1002/a-b-1", "T03MaterialSEG-10.1002/a-b-2")
    task = published_tasks()["T03MaterialSEG"]
    checklist = {f"Group [level] {name}": "x" for name in task.items}
    rows = [row(name, raw_human_reference=None, human_reference_checklist=checklist) for name in names]
    questions = load_published(written(tmp_path, *rows), published_tasks())
    assert tuple(question.id for question in questions) == names
    target = questions[0].target
    assert isinstance(target, ChecklistTarget)
    assert all(item.definition for item in target.items)
    assert questions[0].rubric is None


def test_the_label_of_t11_is_literal_and_its_reference_an_object(tmp_path: Path) -> None:
    raw = {"label": 1, "risk_description": "a trap"}
    fields = {"raw_human_reference": raw, "human_reference_checklist": {"Label": 1, "Trigger": "mail"}}
    (question,) = load_published(written(tmp_path, row("T11CyberRDG-1", **fields)), published_tasks())
    assert items_of(question) == {"Label": ("1", True), "Trigger": ("mail", False)}
    assert question.rubric is not None
    assert json.loads(question.rubric.reference) == raw


def test_tasks_of_ones_own(tmp_path: Path) -> None:
    own = tmp_path / "tasks.toml"
    own.write_text('[mine]\nprompt = "Tell:"\n[mine.items]\nOrigin = "whence"\n[T07ChemMDG.items]\nUse = "what for"\n')
    tasks = read_tasks(own)
    assert tasks["T07ChemMDG"].prompt == published_tasks()["T07ChemMDG"].prompt
    (question,) = load_published(written(tmp_path, row("a1")), tasks, task="mine")
    assert (question.prompt, question.source, question.metadata) == ("Tell:\n\nCCO", "", {"task": "mine"})
    assert isinstance(question.target, ChecklistTarget)
    assert question.target.items[0].definition == "whence"


def test_items_of_ones_own_have_to_be_in_a_row_and_ours_have_not(tmp_path: Path) -> None:
    """A file may hold some of the items that T03 and T11 are known to have."""
    ours = {f"G [level] {name}": "x" for name in list(published_tasks()["T03MaterialSEG"].items)[:2]}
    rows = [row("T03MaterialSEG-1", human_reference_checklist=ours), row("T11CyberRDG-1")]
    assert len(load_published(written(tmp_path, *rows), published_tasks())) == 2
    own = tmp_path / "tasks.toml"
    for text in ('[T07ChemMDG.items]\nUsage = "what for"', '[T07ChemMDG]\nliteral = ["Usage"]'):
        own.write_text(text)
        with pytest.raises(InputError, match="T07ChemMDG: no row has the item 'Usage'"):
            load_published(written(tmp_path, row()), read_tasks(own))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([row("X1-1")], "rows.jsonl:1: the id \"X1-1\" is of no known task"),
        ([row(), row()], "rows.jsonl:2: the id \"T07ChemMDG-1\" is already taken by line 1"),
        ([row(human_reference_checklist={})], "'human_reference_checklist' must be"),
        ([row(human_reference_checklist=["x"])], "'human_reference_checklist' must be"),
        ([row(human_reference_checklist={" ": "x"})], "is blank"),
        ([row(input="")], "'input' must be"),
        ([{"id": "T07ChemMDG-1"}], "the key 'input' is missing"),
    ],
)  # fmt: skip
def test_rows_of_another_form_are_refused(tmp_path: Path, rows: list[dict[str, Any]], told: str) -> None:
    with pytest.raises(InputError) as caught:
        load_published(written(tmp_path, *rows), published_tasks())
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [("x", "no TOML"), ("[mine]\nwords = 3", "mine.words"), ("[mine]\nitems = 3", "mine.items"), ("mine = 1", "mine")],
)
def test_a_file_of_tasks_that_cannot_be_used(tmp_path: Path, text: str, told: str) -> None:
    own = tmp_path / "tasks.toml"
    own.write_text(text)
    with pytest.raises(InputError, match=told):
        read_tasks(own)
