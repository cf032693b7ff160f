"""What statements and questions are like, counted by hand."""

import json
from pathlib import Path

from click.testing import CliRunner
from tests.benchmarks.encyclo_k.synthetic import subfield

from toolablate.benchmarks.encyclo_k.composing import compose
from toolablate.benchmarks.encyclo_k.statements import Statement
from toolablate.benchmarks.encyclo_k.statistics import Spread, question_rows, statement_rows
from toolablate.cli import group

STATEMENTS = [
    Statement(id="a", text="Iron rusts.", correct=True, discipline="Science", field="Chemistry", subfield="Metals"),
    Statement(
        id="b",
        text="Iron never rusts at all.",
        correct=False,
        of="a",
        discipline="Science",
        field="Chemistry",
        subfield="Metals",
    ),
    Statement(
        id="c",
        text="\u94c1\u4f1a\u751f\u9508\u3002",
        correct=True,
        discipline="Science",
        field="Physics",
        language="zh",
    ),
    Statement(id="d", text="Contracts bind[/red]", correct=True, discipline="Law\x1b[31m"),
]


def test_statements_are_counted_by_discipline_and_in_all() -> None:
    science, law, everything = statement_rows(STATEMENTS)
    assert (science.discipline, law.discipline, everything.discipline) == ("Science", "Law\x1b[31m", None)
    assert (science.total, science.correct, science.incorrect, science.derived) == (3, 2, 1, 1)
    assert (science.languages, science.fields, science.subfields) == ({"en": 2, "zh": 1}, 2, 1)
    assert science.tokens == Spread(2, 11 / 3, 5)
    assert (everything.total, law.fields, everything.tokens) == (4, 0, Spread(2, 14 / 4, 5))
    assert statement_rows([])[0].tokens is None


def test_questions_have_the_numbers_that_they_were_composed_with(tmp_path: Path) -> None:
    source = [*subfield("Optics 1", "Science", "en", 60, 60), *subfield("Ethics 1", "Law", "zh", 60, 60)]
    questions = compose(source, 3, 12, statements_per_question=(8, 10), options=(4, 8), combination=(2, 4))
    rows = question_rows(questions)
    everything = rows[-1]
    assert [row.discipline for row in rows[:-1]] == ["Law", "Science"]
    assert everything.total == len(questions)
    for found, low, high in (
        (everything.statements, 8, 10),
        (everything.options, 4, 8),
        (everything.combination, 2, 4),
    ):
        assert found is not None
        assert low <= found.least <= found.mean <= found.most <= high
    clusters = {question.cluster or question.id for question in questions}
    assert everything.clusters == len(clusters)
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(f"{question.to_json()}\n" for question in questions), encoding="utf-8")
    done = CliRunner().invoke(group, ["encyclo-k", "statistics", str(path), "--questions", "--json"])
    assert json.loads(done.stdout)[-1]["options"]["least"] == everything.options.least  # type: ignore[union-attr]


def test_the_page_is_inert(tmp_path: Path) -> None:
    path = tmp_path / "statements.jsonl"
    path.write_text("".join(f"{each.to_json()}\n" for each in STATEMENTS), encoding="utf-8")
    done = CliRunner().invoke(group, ["encyclo-k", "statistics", str(path)])
    assert done.exit_code == 0, done.output
    assert "Statements" in done.output
    assert "\x1b" not in done.output
    assert "all" in done.output
