"""The documents that questions bring: what is found, what is refused, and what a model is asked with them."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolablate.benchmarks import question_files
from toolablate.benchmarks.prompt import question_input, render
from toolablate.benchmarks.questions import load_questions, write_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import Condition, InputCut, NumberTarget, Question, QuestionDocument

Load = Callable[..., Question]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    folder = tmp_path / "set"
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "report.txt").write_bytes("\ufeffFive goats.\r\nMore.".encode())
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")

    def load(documents: Any, **more: Any) -> Question:
        row = {"id": "q", "prompt": "How many?", "answer": 5, "documents": documents, **more}
        (folder / "questions.jsonl").write_text("\n" + json.dumps(row), encoding="utf-8")
        (question,) = load_questions(folder / "questions.jsonl")
        return question

    return load


def test_documents_are_files_beside_the_question_file_or_texts(load: Load, tmp_path: Path) -> None:
    question = load(["a/report.txt", {"path": "a/report.txt", "name": "again"}, {"name": "笔记", "text": "两只"}])
    assert question.documents == (
        QuestionDocument(name="report.txt", text="Five goats.\nMore."),
        QuestionDocument(name="again", text="Five goats.\nMore."),
        QuestionDocument(name="笔记", text="两只"),
    )
    write_questions([(tmp_path / "written.jsonl", [question])], source=tmp_path / "set" / "questions.jsonl")
    assert load_questions(tmp_path / "written.jsonl") == (question,)


def test_identity_follows_names_and_texts_and_not_the_place(load: Load) -> None:
    of_file, of_text = load(["a/report.txt"]), load([{"name": "report.txt", "text": "Five goats.\nMore."}])
    assert of_file.identity() == of_text.identity()
    others = (load([{"name": "other", "text": "Five goats.\nMore."}]), load([{"name": "report.txt", "text": "x"}]))
    assert len({of_file.identity(), *(each.identity() for each in others), load([]).identity()}) == 4
    bare = Question(id="q", prompt="How many?", target=NumberTarget(value=5))
    assert load([]).identity() == bare.identity()


def test_a_document_that_questions_share_is_read_once(load: Load, tmp_path: Path) -> None:
    (tmp_path / "set" / "a" / "report.txt").write_text("Five goats. " * 99, encoding="utf-8")
    first = load(["a/report.txt"])
    rows = [
        {"id": name, "prompt": name, "answer": 5, "documents": [path]}
        for name, path in (("q", "a/report.txt"), ("r", "./a/../a/report.txt"))
    ]
    path = tmp_path / "set" / "questions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    one, other = load_questions(path)
    assert one.documents == other.documents == first.documents
    assert one.documents[0].text is other.documents[0].text


def test_a_digest_is_checked(load: Load, tmp_path: Path) -> None:
    digest = hashlib.sha256((tmp_path / "set/a/report.txt").read_bytes()).hexdigest()
    assert load([{"path": "a/report.txt", "sha256": digest}]).documents
    with pytest.raises(InputError, match="the sha256 is"):
        load([{"path": "a/report.txt", "sha256": "0" * 64}])


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ("a/report.txt", "'documents' must be a list"),
        ([7], "item 1 of 'documents' must have either a path or a text"),
        (["a/report.txt", {"name": "n"}], "item 2 of 'documents' must have either a path or a text"),
        ([{"path": "a/report.txt", "text": "both", "name": "n"}], "either a path or a text"),
        ([{"text": "x"}], "item 1 of 'documents': has no name"),
        ([{"text": "x", "name": "../up"}], "is no plain file name"),
        ([{"text": "x", "name": "n", "colour": 1}], 'unknown key "colour"'),
        ([{"text": " \n", "name": "n"}], "holds no text"),
        (["missing.txt"], "cannot be read: No such file"),
        (["a"], "is a folder"),
        (["../secret.txt"], "leads out of the folder"),
        (["/etc/hostname"], "must be relative"),
        (["a/report.txt", "./a/report.txt"], "two of the 'documents' have the name"),
    ],
)
def test_what_is_no_document_is_refused_with_line_and_key(load: Load, documents: Any, said: str) -> None:
    with pytest.raises(InputError) as refused:
        load(documents)
    assert "questions.jsonl:2: " in str(refused.value)
    assert said in str(refused.value)


def test_what_is_no_text_or_too_large_is_refused(load: Load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "set/scan.pdf").write_bytes(b"%PDF-1.7\n\xe2\xe3\xcf\xd3")
    (tmp_path / "set/nulls.txt").write_bytes(b"a\0b")
    with pytest.raises(InputError, match=r"no text in UTF-8 \(byte 9\)"):
        load(["scan.pdf"])
    with pytest.raises(InputError, match="null characters"):
        load(["nulls.txt"])
    monkeypatch.setattr(question_files, "LARGEST_DOCUMENT", 10)
    with pytest.raises(InputError, match="has more than 10 bytes"):
        load(["a/report.txt"])
    with pytest.raises(InputError, match="has more than 10 bytes"):
        load([{"name": "n", "text": "12345678901"}])


def test_a_file_and_a_document_need_two_names(load: Load) -> None:
    with pytest.raises(InputError, match="one of the 'files' and one of the 'documents'"):
        load(["a/report.txt"], files=["a/report.txt"])


# What a model is asked.


LONG = Question(
    id="q",
    prompt="How many goats?",
    target=NumberTarget(value=5),
    documents=(QuestionDocument(name="a.txt", text="A" * 400), QuestionDocument(name="b.txt", text="B" * 400)),
)


def test_documents_are_named_under_every_condition_and_shown_where_it_says_so() -> None:
    named = render(LONG)
    assert named.splitlines()[2] == 'Documents of this question: "a.txt", "b.txt".'
    for condition in (Condition(name="c"), Condition(name="c", documents=("files",))):
        assert question_input(LONG, condition).prompt == named
    shown = question_input(LONG, Condition(name="c", documents=("prompt",)))
    assert shown.cut is None
    assert f'<document name="b.txt">\n{"B" * 400}\n</document>\n\nEnd your reply' in shown.prompt
    assert question_input(LONG.model_copy(update={"language": "zh"}), Condition(name="c")).prompt.count("文档") == 1


@pytest.mark.parametrize(("tokens", "left", "last"), [(250, 400, True), (120, 200, False), (60, 0, False)])
def test_a_question_is_cut_at_the_end_of_its_documents(tokens: int, left: int, last: bool) -> None:
    whole = question_input(LONG, Condition(name="c", documents=("prompt",))).prompt
    asked = question_input(LONG, Condition(name="c", documents=("prompt",), input_tokens=tokens))
    assert asked.cut == InputCut(kept=len(asked.prompt), chars=len(whole))
    assert len(asked.prompt) <= 4 * tokens
    assert asked.prompt.startswith("How many goats?" if tokens > 60 else "How many")
    assert asked.prompt.endswith("a plain number.")
    assert (asked.prompt.count("A") >= left, "B" * 20 in asked.prompt) == (True, last)
    assert asked.prompt.count("<document ") == asked.prompt.count("\n</document>\n\n")


def test_what_is_asked_as_it_is_loses_its_end() -> None:
    question = LONG.model_copy(update={"as_is": True, "documents": (), "prompt": "abcd" * 50})
    asked = question_input(question, Condition(name="c", input_tokens=20))
    assert (asked.prompt, asked.cut) == ("abcd" * 20, InputCut(kept=80, chars=200))
    assert question_input(question, Condition(name="c", input_tokens=50)).cut is None
