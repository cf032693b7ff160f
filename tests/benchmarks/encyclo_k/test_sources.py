"""Statements and published questions come from any source of rows."""

from pathlib import Path

import pytest
from tests.benchmarks.rows.forms import FORMS, as_array, as_lines, as_parquet

from toolablate.benchmarks.encyclo_k.published import load_published_questions
from toolablate.benchmarks.encyclo_k.statements import load_statements
from toolablate.traces.errors import InputError


def test_statements_and_published_questions_come_in_all_forms(tmp_path: Path) -> None:
    statement = {"id": "s", "text": "Light is fast.", "correct": True, "discipline": "Science"}
    published = {"question": "Which?", "options": ["i", "ii"], "answer_letter": "B", "discipline": "Law", "when": 1}
    for write in FORMS:
        folder = tmp_path / write.__name__
        (folder / "p").mkdir(parents=True)
        assert [each.id for each in load_statements(write(folder, [statement]))] == ["s"]
        assert [each.domain for each in load_published_questions(write(folder / "p", [published]))] == ["Law"]


def test_columns_that_nobody_asks_for_are_not_refused(tmp_path: Path) -> None:
    row = {"question": "Which?", "options": ["i", "ii"], "answer_letter": "B", "discipline": "Law", "image": b"\x89PNG"}
    (question,) = load_published_questions(as_parquet(tmp_path, [row]))
    assert question.prompt == "Which?"


def test_a_key_that_may_be_missing_may_be_null_in_all_forms(tmp_path: Path) -> None:
    row = {"question": "p", "options": ["x", "y"], "answer_letter": "B", "discipline": "D", "field": None, "id": None}
    for write in (as_lines, as_array, as_parquet):
        (question,) = load_published_questions(write(tmp_path, [row]))
        assert (question.id, question.metadata["field"]) == ("encyclo-k-0001", "")
    with pytest.raises(InputError, match="'discipline' must be a text in quotes that is not empty; found null"):
        load_published_questions(as_lines(tmp_path, [row | {"discipline": None}]))
