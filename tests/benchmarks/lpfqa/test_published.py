"""Published rows become questions: what is certain is read, and nothing is guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from toolablate.benchmarks.lpfqa.published import load_lpfqa
from toolablate.benchmarks.prompt import render
from toolablate.benchmarks.questions import load_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import ChoiceTarget, JudgePrompt, Question, ReferenceTarget

MADE = [json.loads(line) for line in Path(__file__).with_name("rows.jsonl").read_text("utf-8").splitlines()]
ROW = {"prompt_id": "p1", "prompt": "Why?", "response_reference": "<参考答案>: Because.", "primary_domain": "Law"}


def written(folder: Path, *rows: Any) -> Path:
    path = folder / "published.jsonl"
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def read(folder: Path, **changes: Any) -> Question:
    (question,) = load_lpfqa(written(folder, {**ROW, **changes}))
    return question


@pytest.mark.parametrize("made", MADE, ids=[f"{made['row']['prompt_id']}" for made in MADE])
def test_rows_are_read_as_a_reader_would(tmp_path: Path, made: dict[str, Any]) -> None:
    row, expected = made["row"], made["read"]
    (question,) = load_lpfqa(written(tmp_path, row))
    letters = question.target.letters if isinstance(question.target, ChoiceTarget) else ()
    assert (list(letters), list(question.choices)) == (expected["letters"], expected["choices"])
    assert question.rubric is not None
    assert (question.rubric.reference, question.rubric.points) == (expected["answer"], expected["points"])
    assert question.language == expected["language"]
    assert (question.prompt, question.domain) == (row["prompt"], row["primary_domain"])
    assert render(question) == row["prompt"]
    if not letters:
        assert question.target == ReferenceTarget(answer=expected["answer"] or expected["points"])


def test_all_of_them_are_read_back_from_what_is_written(tmp_path: Path) -> None:
    questions = load_lpfqa(written(tmp_path, *(made["row"] for made in MADE)))
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(question.to_json() + "\n" for question in questions), encoding="utf-8")
    assert load_questions(path) == questions
    assert {question.target.kind for question in questions} == {"choice", "reference"}
    assert {question.source for question in questions} == {"lpfqa"}


def test_labels_and_numbers_are_kept_and_other_keys_passed_over(tmp_path: Path) -> None:
    question = read(tmp_path, prompt_id=17, secondary_domain="Contracts", uuid=[1], judge_system_prompt=None)
    assert (question.id, question.domain, question.metadata) == ("17", "Law", {"secondary_domain": "Contracts"})
    assert question.rubric is not None
    assert question.rubric.prompt is None


def test_the_template_is_cut_where_the_answer_goes_and_filled_in_elsewhere(tmp_path: Path) -> None:
    template = '{"x": {y}} {prompt}|{response_reference}\n<学生答案>:{response} {{"answer_score": 1}}'
    question = read(tmp_path, prompt="Why {response}?", judge_system_prompt="S", judge_prompt_template=template)
    assert question.rubric is not None
    assert question.rubric.prompt == JudgePrompt(
        system="S",
        before='{"x": {y}} Why {response}?|<参考答案>: Because.\n<学生答案>:',
        after=' {{"answer_score": 1}}',
    )


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt": " \n"}, "'prompt' must be a text in quotes that is not blank; found"),
        ({"prompt": 3}, "'prompt' must be a text in quotes that is not blank; found 3"),
        ({"prompt_id": 1.5}, "'prompt_id' must be a text in quotes that is not empty, or a whole number; found 1.5"),
        ({"prompt_id": True}, "'prompt_id' must be"),
        ({"prompt_id": ""}, "'prompt_id' must be"),
        ({"prompt_id": "甲\u202e"}, 'the id "甲\\u202e" has'),
        ({"prompt_id": "a\nb"}, 'the id "a\\nb" has'),
        ({"response_reference": ""}, "'response_reference' must be a text"),
        ({"response_reference": None}, "'response_reference' must be a text"),
        (
            {"response_reference": "<参考答案>:\n<评估要点>: 无"},
            "'response_reference' has neither a reference answer nor points\n  Found \"<参考答案>:\\n<评估要点>: 无\".",
        ),
        ({"judge_prompt_template": "Grade {prompt}"}, "'judge_prompt_template' has no place for the answer"),
        ({"judge_prompt_template": "{response} {response}"}, "'judge_prompt_template' has 2 places for the answer"),
        ({"judge_system_prompt": 1}, "'judge_system_prompt' must be a text in quotes; found 1"),
        ({"primary_domain": ["x"]}, "'primary_domain' must be a text in quotes"),
        ({"prompt_id": "p1"}, 'the prompt_id "p1" is already taken by line 1'),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    path = written(tmp_path, ROW, {**ROW, "prompt_id": "p2", **changes})
    with pytest.raises(InputError) as caught:
        load_lpfqa(path)
    assert f"{path}:2: {said}" in str(caught.value)


@pytest.mark.parametrize("key", ["prompt_id", "prompt", "response_reference"])
def test_a_missing_key_is_named(tmp_path: Path, key: str) -> None:
    path = written(tmp_path, {name: value for name, value in ROW.items() if name != key})
    with pytest.raises(InputError, match=f":1: the key '{key}' is missing"):
        load_lpfqa(path)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("prompt", "reference"),
    [
        ("A. " * 400_000, "A"),
        ("\n" + " " * 1_000_000 + "A. x\nB. y", "A" + " " * 1_000_000 + "z"),
        ("A. x\nB. y", "A, B, " * 200_000),
        ("A. x\nB. y", "A. x\n" * 200_000),
        ("A. x\nB. y", "A。" + "A、" * 300_000),
        ("由" * 500_000 + "A. x\nB. y", "A, B"),
        ("A. x\nB. y", "<参考答案>" * 100_000 + "B"),
        ("<" + " " * 1_000_000, "<" * 1_000_000),
        ("A. x\nB. y" + "\n \n" * 300_000 + "z", "A\n" + "B\t" * 300_000),
    ],
)
def test_hostile_texts_take_linear_time(tmp_path: Path, prompt: str, reference: str) -> None:
    """Each takes a fraction of a second; what is quadratic would run into the time limit of all tests."""
    assert read(tmp_path, prompt=prompt, response_reference=reference).as_is
