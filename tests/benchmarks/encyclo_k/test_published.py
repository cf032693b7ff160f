"""Published questions become questions of a plan, whatever else their rows hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolablate.benchmarks.encyclo_k.published import load_published_questions
from toolablate.benchmarks.prompt import render
from toolablate.traces.errors import InputError

ROW = {
    "question": "Which hold?\ni. One.\nii. Two.\niii. Three.",
    "options": ["i, ii", "ii, iii", "i, iii"],
    "answer_letter": "B",
    "discipline": "Science",
    "field": "Physics",
    "subfield": "Optics",
    "difficulty": "hard",
}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "published.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_row_becomes_a_question(tmp_path: Path) -> None:
    more = {**ROW, "id": "x7", "uuid": 5, "answer_letter": " c "}
    first, second = load_published_questions(written(tmp_path, ROW, more))
    assert (first.id, first.prompt, first.choices) == ("encyclo-k-0001", ROW["question"], tuple(ROW["options"]))
    assert (first.target.kind, first.domain, first.difficulty, first.language) == ("choice", "Science", "hard", "en")
    assert first.metadata == {"discipline": "Science", "field": "Physics", "subfield": "Optics"}
    assert second.id == "x7"
    assert second.target.kind == "choice"
    assert second.target.letters == ("C",)


@pytest.mark.parametrize(
    "options",
    [
        ["A) i, ii", "B) ii, iii", "C) i, iii"],
        ["A. i, ii", "B. ii, iii", "C. i, iii"],
        ["(A) i, ii", "(B) ii, iii", "(C) i, iii"],
    ],
)
def test_options_are_lettered_once(tmp_path: Path, options: list[str]) -> None:
    (question,) = load_published_questions(written(tmp_path, {**ROW, "options": options}))
    assert "A. i, ii\nB. ii, iii\nC. i, iii\n" in render(question)


def test_options_that_only_begin_like_letters_stay(tmp_path: Path) -> None:
    options = ["A. fumigatus", "C. elegans", "E. coli"]
    (question,) = load_published_questions(written(tmp_path, {**ROW, "options": options}))
    assert question.choices == tuple(options)


@pytest.mark.parametrize(
    ("prompt", "language"),
    [
        ("下列陈述中哪些成立？\ni. 设 $\\alpha$ 为群 G 的元素。", "zh"),
        ("Which hold?\ni. The poet Li Bai (李白) lived under the Tang.", "en"),
    ],
)
def test_the_language_is_seen(tmp_path: Path, prompt: str, language: str) -> None:
    (question,) = load_published_questions(written(tmp_path, {**ROW, "question": prompt}))
    assert question.language == language


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"answer_letter": "D"}, "'answer_letter' names no option; found \"D\""),
        ({"answer_letter": "AB"}, "'answer_letter' names no option"),
        ({"options": ["i"]}, "'options' must be a list of 2 to 26 texts"),
        ({"options": "i, ii"}, "'options' must be a list of 2 to 26 texts"),
        ({"question": 3}, "'question' must be a text in quotes that is not empty; found 3"),
        ({"id": "encyclo-k-0001"}, 'the id "encyclo-k-0001" is already taken'),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = written(tmp_path, ROW, {**ROW, **changes})
    with pytest.raises(InputError) as caught:
        load_published_questions(path)
    assert f"{path}:2: {said}" in str(caught.value)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, {key: value for key, value in ROW.items() if key != "answer_letter"})
    with pytest.raises(InputError, match="the key 'answer_letter' is missing"):
        load_published_questions(path)
