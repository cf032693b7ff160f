"""Statements are read whole, or refused with the line and the key that are wrong."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolablate.benchmarks.encyclo_k.statements import Statement, load_statements
from toolablate.traces.errors import InputError

RIGHT = {"id": "s1", "text": "Light is fast.", "correct": True, "discipline": "Science"}
MADE = {**RIGHT, "id": "s1-made", "text": "Light is slow.", "correct": False, "of": "s1"}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "statements.jsonl"
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


def test_statements_are_read_with_what_they_were_made_from(tmp_path: Path) -> None:
    full = {**RIGHT, "id": "s2", "field": "Physics", "subfield": "Optics", "language": "zh"}
    first, second, third = load_statements(written(tmp_path, MADE, RIGHT, full))
    assert first == Statement(
        id="s1-made", text="Light is slow.", correct=False, discipline="Science", language="en", of="s1"
    )
    assert first.point == second.point == "s1"
    assert (third.field, third.subfield, third.language, third.point) == ("Physics", "Optics", "zh", "s2")


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{**RIGHT, "correct": "true"}], ":1: 'correct' must be true or false; found \"true\""),
        ([RIGHT, {**RIGHT, "id": "s2", "text": ""}], ":2: 'text' must be a text in quotes that is not empty; found"),
        ([{key: RIGHT[key] for key in ("id", "text", "correct")}], ":1: the key 'discipline' is missing"),
        ([{**RIGHT, "disciplin": "x"}], ':1: unknown key "disciplin"'),
        ([RIGHT, RIGHT], ':2: the id "s1" is already taken by line 1'),
        ([{**RIGHT, "id": "a\tb"}], ":1: the id"),
        ([MADE], ":1: 'of' names no statement of this file: \"s1\""),
        ([RIGHT, MADE, {**MADE, "id": "s3", "of": "s1-made"}], ":3: 'of' names an incorrect statement of this file"),
        ([RIGHT, {**RIGHT, "id": "s2", "of": "s1"}], ":2: 'of' is given for a correct statement"),
        ([RIGHT, {**MADE, "language": "zh"}], ":2: 'language' is \"zh\", and \"en\" in the statement that 'of' names"),
        (["{"], ":1: invalid JSON"),
        (["[1]"], ":1: expected a JSON object"),
        ([], ": holds no row"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, rows: list[Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        load_statements(written(tmp_path, *rows))
    assert f"{tmp_path / 'statements.jsonl'}{said}" in str(caught.value)


def test_a_similar_key_is_guessed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Did you mean 'discipline'"):
        load_statements(written(tmp_path, {**RIGHT, "disciplin": "x"}))
