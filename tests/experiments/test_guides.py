"""Commands of the guides, run as they stand there, one after the other; other guides have tests of their own."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Cli
from tests.experiments.answering import endpoint
from tests.experiments.plan_files import KERNELS
from tests.project.pages import ROOT, blocks, commands

from toolablate.benchmarks.questions import load_questions
from toolablate.traces.records import ChoiceTarget, NumberTarget

HERE = "http://localhost:8000/v1"
ELSEWHERE = ("toolablate view", "ssh", "toolablate contamination")
"""Of these pages, what tests/browser and tests/experiments/contamination run, and what leads to another machine."""

pytestmark = pytest.mark.timeout(600)


def write(folder: Path, page: str, url: str, *, more: str = "") -> None:
    """The plan of a page, and the questions of the README."""
    plan = next(text for text in blocks(page, "toml") if HERE in text)
    (folder / "plan.toml").write_text(f"{KERNELS}\n{plan.replace(HERE, url)}{more}", encoding="utf-8")
    (folder / "questions.jsonl").write_text("".join(blocks("README.md", "json")), encoding="utf-8")


def type_in(folder: Path, line: str) -> None:
    """As a shell has it, with this environment's command first."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        ["sh", "-c", line], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=200
    )
    assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"


@pytest.mark.deep
def test_replies_are_recorded_and_replayed_as_the_guide_says(tmp_path: Path) -> None:
    with endpoint() as url:
        write(tmp_path, "docs/replies.md", url)
        first, *others = commands("docs/replies.md")
        type_in(tmp_path, first)
    assert len(others) == 3
    for line in others:
        type_in(tmp_path, line)
    for span in ("toolablate status replies.sqlite", "toolablate verify replies.sqlite"):
        assert f"`{span}`" in (ROOT / "docs/replies.md").read_text(encoding="utf-8")
        type_in(tmp_path, span)


@pytest.mark.deep
def test_what_reads_a_store_reads_that_of_the_readme(cli: Cli, tmp_path: Path) -> None:
    search = '\n[search]\nprovider = "corpus"\ncorpus = "corpus.jsonl"\n'
    page = {"id": "page", "url": "https://page.example/", "title": "A page", "text": "Of something else."}
    (tmp_path / "corpus.jsonl").write_text(json.dumps(page), encoding="utf-8")
    with endpoint() as url:
        write(tmp_path, "README.md", url, more=search)
        plan = (tmp_path / "plan.toml").read_text(encoding="utf-8")
        models = "".join(
            f'[[models]]\nprovider = "openai"\nname = "{name}"\nendpoint = "{url}"\n' for name in ("a", "b", "c")
        )
        pilot = plan[: plan.index("[[models]]")] + models
        (tmp_path / "pilot.toml").write_text(pilot, encoding="utf-8")
        for name in ("plan.toml", "pilot.toml"):
            ran = cli("run", name)
            assert ran.returncode == 0, ran.stderr
    for name in ("before", "after"):
        shutil.copy(tmp_path / "runs/plan.sqlite", tmp_path / f"runs/{name}.sqlite")
    annotated = plan.replace("questions.jsonl", "annotated.jsonl")
    (tmp_path / "annotated.toml").write_text(f'store = "runs/plan.sqlite"\n{annotated}', encoding="utf-8")
    rows = (ROOT / "examples/lpfqa/rows.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "LPFQA-data.json").write_text(json.dumps([json.loads(row) for row in rows]), encoding="utf-8")
    (tmp_path / "others.csv").write_text("model,MMLU\nmy-model,71.5\nother,60\n", encoding="utf-8")
    lines = [line for page in ("statistics", "viewer", "lpfqa") for line in commands(f"docs/{page}.md")]
    lines = [line for line in lines if not line.startswith(ELSEWHERE)]
    assert len(lines) >= 7
    for line in lines:
        told = cli(*shlex.split(line, comments=True)[1:])
        assert told.returncode == 0, f"{line}\n{told.stdout}{told.stderr}"
    assert (tmp_path / "lpfqa.jsonl").stat().st_size
    assert (tmp_path / "figures").is_dir()


def test_a_table_becomes_questions_as_the_guide_says(tmp_path: Path) -> None:
    (script,) = [text for text in blocks("docs/plans.md", "python") if "csv" in text]
    table = '\ufeffid,prompt,choices,answer,domain\no1,Which diverges?,"sum 1/n|sum 1/n²",A,\no2,How many primes?,,25,numbers\n'
    (tmp_path / "questions.csv").write_text(table, encoding="utf-8")
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True)
    first, second = load_questions(tmp_path / "questions.jsonl")
    assert (first.choices, first.target, first.domain) == (
        ("sum 1/n", "sum 1/n²"),
        ChoiceTarget(letters=("A",)),
        "",
    )
    assert (second.target, second.domain) == (NumberTarget(value=25), "numbers")
