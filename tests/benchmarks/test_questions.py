import json
from pathlib import Path

import pytest

from toolablate.benchmarks.questions import load_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import (
    ChoiceTarget,
    JudgePrompt,
    NumberTarget,
    Question,
    ReferenceTarget,
    Rubric,
    SpansTarget,
)

GOOD = {"id": "q", "prompt": "p", "answer": 1}


@pytest.fixture
def questions_file(tmp_path: Path) -> Path:
    return tmp_path / "questions.jsonl"


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ({"choices": ["x", "y"], "answer": "B"}, ChoiceTarget(letters=("B",))),
        ({"choices": ["x", "y", "z"], "answer": ["A", "C"]}, ChoiceTarget(letters=("A", "C"))),
        ({"target": {"kind": "spans", "spans": ["C"]}}, SpansTarget(spans=("C",))),
        ({"answer": 12.5}, NumberTarget(value=12.5)),
        ({"answer": "Paris"}, SpansTarget(spans=("Paris",))),
        ({"answer": ["2018", "2019"]}, SpansTarget(spans=("2018", "2019"))),
        ({"answer": ["$1,496.5"], "scale": "million"}, SpansTarget(spans=("$1,496.5",), scale="million")),
        ({"answer": -22.12, "scale": "percent"}, SpansTarget(spans=("-22.12",), scale="percent")),
        ({"answer": ["12", 3.0], "scale": ""}, SpansTarget(spans=("12", "3.0"))),
        ({"answer": "A", "scale": ""}, SpansTarget(spans=("A",))),
        ({"answer": 5, "scale": None}, NumberTarget(value=5)),
        ({"target": {"kind": "number", "value": 3, "relative": 0.01}}, NumberTarget(value=3, relative=0.01)),
    ],
)
def test_short_and_full_forms_give_the_same_record(
    questions_file: Path, line: dict[str, object], target: object
) -> None:
    questions_file.write_text(json.dumps({"id": "q", "prompt": "p", **line}))
    (question,) = load_questions(questions_file)
    assert question.target == target


def test_a_question_asked_as_it_is_may_hold_its_choices_in_its_prompt(questions_file: Path) -> None:
    whole = Question(
        id="q",
        prompt="Which? A. x B. y",
        as_is=True,
        target=ChoiceTarget(letters=("A", "Z")),
        rubric=Rubric(reference="A and Z", points="both", prompt=JudgePrompt(system="s", before="b", after="a")),
    )
    told = whole.model_copy(update={"id": "r", "target": ReferenceTarget(answer="Because.")})
    questions_file.write_text(f"{whole.to_json()}\n{told.to_json()}\n")
    assert load_questions(questions_file) == (whole, told)


def test_bom_blank_lines_and_line_ends_do_not_matter(questions_file: Path) -> None:
    lines = [json.dumps({**GOOD, "id": name, "prompt": "中文\u2028 p"}, ensure_ascii=False) for name in "ab"]
    questions_file.write_bytes(b"\xef\xbb\xbf\r\n" + "\r\n\r\n".join(lines).encode())
    assert [(question.id, question.prompt) for question in load_questions(questions_file)] == [
        ("a", "中文\u2028 p"),
        ("b", "中文\u2028 p"),
    ]


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b'{"id": "a", "prompt": "p"}', ["'answer'", "missing"]),
        (b'{"prompt": "p", "answer": 1}', ["'id'", "missing"]),
        (b'{"id": "a", "prompt": "p", "answers": "x"}', ["'answers' must be a list of texts", '"x"']),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "number", "value": true}}',
            ["'target.value' must be a number", "true"],
        ),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "code", "tests": "' + b"-" * 200_000 + b'1"}}',
            ["'target.tests'", "Python code"],
        ),
        (b'{"id": "a", "answer": 1}', ["'prompt'", "missing"]),
        (b'{"id": 7, "prompt": "p", "answer": 1}', ["'id' must be a text in quotes; found 7"]),
        (b'{"id": "a", "question": "p", "answer": 1}', ['"question"', "'prompt'"]),
        (b'{"id": "a", "prompt": "p", "answr": 1}', ['"answr"', "'answer'"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "answer": "C"}', ['"C"', "A to B", "2 choices"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "answer": "b"}', ['"b"', "A to B"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "answer": "AB"}', ['"AB" names no choice', "A to B"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "answer": 1}', ["'answer'", "1", "letter"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "answer": ["A", "A"]}', ["twice"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x"], "answer": "A"}', ["'choices'", "2 to 26"]),
        (
            b'{"id": "a", "prompt": "p", "choices": ["x", 2], "answer": "A"}',
            ["item 2 of 'choices' must be a text", "found 2"],
        ),
        (b'{"id": "a", "prompt": "p", "answer": true}', ["'answer'", "true"]),
        (b'{"id": "a", "prompt": "p", "answer": []}', ["'answer'", "[]"]),
        (b'{"id": "a", "prompt": "p", "answer": 1, "target": {}}', ["'answer'", "'target'"]),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "essay"}}',
            ["'target.kind'", "'choice'", "'spans'", '"essay"'],
        ),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1, "relative": -1}}',
            ["'target.relative' must be 0 or more; found -1"],
        ),
        (b'{"id": "a", "prompt": "p", "answer": "C"}', ['"C"', "'choices' is missing", '"spans"']),
        (b'{"id": "a", "prompt": "p", "answer": ["A", "C"]}', ["'choices' is missing"]),
        (b'{"id": "a", "prompt": "p", "choices": [], "answer": "A"}', ["'choices' is missing"]),
        (b'{"id": "a", "prompt": "p", "target": {"kind": "choice", "letters": ["A"]}}', ["needs the field 'choices'"]),
        (
            b'{"id": "a", "prompt": "p", "as_is": true, "target": {"kind": "choice", "letters": ["AB"]}}',
            ['the answer "AB" names no choice', "Allowed is a letter from A to Z."],
        ),
        (
            b'{"id": "a", "prompt": "p", "as_is": true, "choices": ["x", "y"],'
            b' "target": {"kind": "choice", "letters": ["C"]}}',
            ['the answer "C" names no choice', "A to B, for its 2 choices"],
        ),
        (b'{"id": "a", "prompt": "p", "as_is": false, "target": {"kind": "choice", "letters": ["A"]}}', ["'as_is'"]),
        (b'{"id": "a", "prompt": "p", "as_is": true, "answer": "A"}', ["'choices' is missing", '"choice"']),
        (
            b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "target": {"kind": "choice", "letters": []}}',
            ["'target.letters' must hold at least one letter; found []"],
        ),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "spans", "spans": []}}',
            ["'target.spans' must hold at least one text; found []"],
        ),
        (
            b'{"id": "a", "prompt": "p", "answer": 1, "scale": "trillion"}',
            ["'target.scale' must be '', 'thousand', 'million', 'billion' or 'percent'; found \"trillion\""],
        ),
        (b'{"id": "a", "prompt": "p", "answer": [1, true], "scale": ""}', ["'answer' cannot be [1, true]", "'scale'"]),
        (b'{"id": "a", "prompt": "p", "answer": [], "scale": ""}', ["'answer' cannot be []"]),
        (b'{"id": "a", "prompt": "p", "choices": ["x", "y"], "answer": "A", "scale": ""}', ["does not fit 'choices'"]),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1}, "scale": "million"}',
            ["'scale' is given beside 'target'"],
        ),
        (b'{"id": "a", "prompt": "p", "answer": ""}', ["the answer", "is empty"]),
        (b'{"id": "a", "prompt": "p", "target": {"kind": "spans", "spans": ["", " "]}}', ["the answer", "is empty"]),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "spans", "spans": "x"}}',
            ["'target.spans' must be a list of texts; found"],
        ),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "spans", "spans": ["x", null]}}',
            ["item 2 of 'target.spans' must be a text in quotes; found null"],
        ),
        (b'{"id": "a", "prompt": "p", "target": {"kind": "number"}}', ["'target.value' is missing"]),
        (b'{"id": "a", "prompt": "p", "target": {"kind": "number", "value": 1, "x": 1}}', ["unknown", "'target.x'"]),
        (
            b'{"id": "a", "prompt": "p", "target": {"kind": "number", "value": "x"}}',
            ["'target.value' must be a number"],
        ),
        (b'{"id": "a", "prompt": "p", "target": {"kind": "number", "value": []}}', ["'target.value' must be a number"]),
        (b'{"id": "a", "prompt": "p", "target": {"value": 1}}', ["'target.kind' is missing"]),
        (b'{"id": "a", "prompt": "p", "target": "B"}', ["'target' must be a JSON object", "'answer'"]),
        (b'{"id": "a", "prompt": "", "answer": 1}', ["'prompt' must not be empty"]),
        (b'{"id": "a", "prompt": "p", "answer": 1, "metadata": []}', ["'metadata' must be a JSON object; found []"]),
        (b'{"id": "a", "prompt": "p", "answer": 1, "version": 2}', ["'version' must be 1; found 2"]),
        (b'{"id": "a", "prompt": "p", "choices": "xy", "answer": "A"}', ["'choices' must be a list of texts"]),
        (b'{"id": "a", "prompt": "p", "answer": NaN}', ["NaN"]),
        (b'{"id": "a", "prompt": "p", "answer": -Infinity}', ["-Infinity"]),
        (b'{"id": "a", "prompt": "p", "answer": 1e999}', ["1e999", "too large"]),
        (b'{"id": "a", "prompt": "p", "answer": ' + b"9" * 6000 + b"}", ["too large"]),
        (b'{"id": "a", "id": "b", "prompt": "p", "answer": 1}', ['"id"', "twice"]),
        (b'{"id": "a\\nb", "prompt": "p", "answer": 1}', ["id", "printed"]),
        (b'{"id": "\\ud800", "prompt": "p", "answer": 1}', ["surrogate"]),
        (b'{"id": "a", "prompt": "p", "answer": 1, "metadata": ' + b"[" * 100_000, ["nested"]),
        (b'{"id": "a", "prompt": "p", "answer": 1', ["invalid JSON", "column"]),
        (b'{"id": "a", "prompt": "p", "answer": 1} {}', ["invalid JSON", "Extra data"]),
        (b'["id"]', ["JSON object"]),
        (b'{"id": "caf\xe9"}', ["not UTF-8", "0xe9"]),
    ],
)
def test_a_bad_line_is_named_with_what_is_wrong(questions_file: Path, raw: bytes, told: list[str]) -> None:
    questions_file.write_bytes(json.dumps({**GOOD, "id": "fine"}).encode() + b"\n\n" + raw + b"\n")
    with pytest.raises(InputError) as caught:
        load_questions(questions_file)
    message = str(caught.value)
    assert message.startswith(f"{questions_file}:3: ")
    assert [word for word in told if word not in message] == []
    assert len(message) < 600
    assert [word for word in ("tuple", "model", "Input", "dict", "pydantic", "should") if word in message] == []


def test_a_repeated_id_names_both_lines(questions_file: Path) -> None:
    questions_file.write_text("\n".join(json.dumps({**GOOD, "id": name}) for name in ("a", "b", "a")))
    with pytest.raises(InputError, match=r":3: the id \"a\" is already taken by line 1"):
        load_questions(questions_file)


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbf"])
def test_a_file_without_questions_is_refused(questions_file: Path, content: bytes) -> None:
    questions_file.write_bytes(content)
    with pytest.raises(InputError, match="holds no question"):
        load_questions(questions_file)


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_what_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="cannot be read") as caught:
        load_questions(tmp_path / name)
    assert str(tmp_path) in str(caught.value)
