"""From published rows to a plan's question file, by the command line."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from toolablate.benchmarks.lpfqa.published import load_lpfqa
from toolablate.benchmarks.questions import load_questions
from toolablate.cli import group
from toolablate.experiments.plans.plan import design, load_plan
from toolablate.traces.errors import InputError

MADE = [json.loads(line)["row"] for line in Path(__file__).with_name("rows.jsonl").read_text("utf-8").splitlines()]


def bring(source: Path, output: Path, *options: str) -> Result:
    command = ["lpfqa", "import", str(source), "-o", str(output), *options]
    return CliRunner().invoke(group, command, catch_exceptions=False)


def as_json(path: Path) -> None:
    path.write_text(json.dumps(MADE, ensure_ascii=False), encoding="utf-8")


def as_parquet(path: Path) -> None:
    keys = {key: None for row in MADE for key in row}
    rows = [{**keys, **row, "prompt_id": str(row["prompt_id"])} for row in MADE]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)


@pytest.mark.parametrize(("name", "write"), [("LPFQA-data.json", as_json), ("train.parquet", as_parquet)])
def test_rows_become_a_question_file_of_a_plan(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    source, output = tmp_path / name, tmp_path / "new" / "questions.jsonl"
    write(source)
    brought = bring(source, output)
    assert brought.exit_code == 0
    questions = load_questions(output)
    assert questions == load_lpfqa(source)
    assert len(questions) == len(MADE) == 175
    assert brought.output.splitlines() == [
        f"{output}: 175 questions",
        " 46 with one right letter",
        " 18 with several right letters",
        "111 with a reference answer",
        " 13 with points that an answer has to meet",
        "  1 with a judge prompt of its own",
        "  4 with letters, and options that cannot be told apart in its prompt",
    ]
    listed = bring(source, output, "--list").output.splitlines()[7:]
    assert len(listed) == 175
    assert [line.partition(":")[0] for line in listed] == [question.id for question in questions]
    assert sum("choice " in line and "of the prompt's" in line for line in listed) == 4
    assert sum(", points" in line for line in listed) == 13
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none']\n[questions]\nfile = 'new/questions.jsonl'\nscorer = 'choice'\n"
        "[[models]]\nprovider = 'simulated'\nname = 'sim'\n",
        encoding="utf-8",
    )
    assert design(load_plan(plan)[0]).questions == questions


def test_a_plan_reads_questions_from_a_table(tmp_path: Path) -> None:
    rows = [{"id": name, "prompt": "Which?", "choices": ["x", "y"], "answer": "B"} for name in "ab"]
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "questions.parquet")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        "conditions = ['none']\n[questions]\nfile = 'questions.parquet'\n"
        "[[models]]\nprovider = 'simulated'\nname = 'sim'\n",
        encoding="utf-8",
    )
    assert [question.id for question in design(load_plan(plan)[0]).questions] == ["a", "b"]


def test_no_source_is_overwritten(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    as_json(source)
    with pytest.raises(InputError, match="is the file that is read"):
        bring(source, source)
    assert json.loads(source.read_text("utf-8")) == MADE


def test_no_store_is_overwritten(tmp_path: Path) -> None:
    source, store = tmp_path / "rows.json", tmp_path / "runs.sqlite"
    as_json(source)
    store.write_bytes(b"SQLite format 3\0 and more")
    with pytest.raises(InputError, match="is a store and would be overwritten"):
        bring(source, store)
    assert store.read_bytes().endswith(b"more")


def test_the_group_is_listed_with_its_commands() -> None:
    page = CliRunner().invoke(group, ["lpfqa", "--help"], catch_exceptions=False).output
    assert "import" in page
    assert "tables" in page
