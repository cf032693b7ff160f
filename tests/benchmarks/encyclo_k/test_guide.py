"""The guide of Encyclo-K: its statements, its plan and its commands, run as they stand there."""

import json
import re
import shlex
from pathlib import Path

import pytest
from tests.benchmarks.encyclo_k.synthetic import subfield
from tests.conftest import Cli
from tests.experiments.answering import endpoint
from tests.experiments.test_guides import write
from tests.project.pages import blocks, commands
from tests.project.test_docs import completed

from toolablate.benchmarks.encyclo_k.statements import load_statements
from toolablate.experiments.plans.plan import load_plan

pytestmark = pytest.mark.timeout(600)


def test_the_statements_of_encyclo_k_can_be_read(tmp_path: Path) -> None:
    (example,) = blocks("docs/encyclo_k.md", "json")
    (tmp_path / "statements.jsonl").write_text(example, encoding="utf-8")
    assert [statement.id for statement in load_statements(tmp_path / "statements.jsonl")] == ["s1", "s2"]


def test_the_plan_of_the_guide_is_valid(tmp_path: Path) -> None:
    (text,) = blocks("docs/encyclo_k.md", "toml")
    (tmp_path / "plan.toml").write_text(completed(text), encoding="utf-8")
    plan, _ = load_plan(tmp_path / "plan.toml")
    assert plan.resolved_conditions()


@pytest.mark.deep
def test_statements_become_questions_and_tables_as_the_guide_says(cli: Cli, tmp_path: Path) -> None:
    (written,) = blocks("docs/encyclo_k.md", "json")
    known = set(json.loads(written.splitlines()[1]))
    source = [json.loads(each.to_json()) for each in subfield("Optics 1", "Science", "en", 300, 300)]
    assert {key for line in source for key in line} <= known | {"version", "language"}
    (tmp_path / "statements.jsonl").write_text("".join(json.dumps(line) + "\n" for line in source), encoding="utf-8")
    with endpoint() as url:
        write(tmp_path, "docs/encyclo_k.md", url)
        plan = tmp_path / "plan.toml"
        plan.write_text(re.sub(r"(\[questions\]\n)", r"\1limit = 2\n", plan.read_text("utf-8")), encoding="utf-8")
        for line in commands("docs/encyclo_k.md"):
            told = cli(*shlex.split(line, comments=True)[1:])
            assert told.returncode == 0, f"{line}\n{told.stdout}{told.stderr}"
