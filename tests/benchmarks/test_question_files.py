"""The files that questions bring: what is found, what is refused, and what becomes of a question's identity."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolablate.benchmarks.prompt import render
from toolablate.benchmarks.question_files import LARGEST_FILE, read_content
from toolablate.benchmarks.questions import load_questions
from toolablate.traces.errors import InputError
from toolablate.traces.records import NumberTarget, Question, QuestionFile

CSV = b"a,b\n1,2\n"
Load = Callable[..., Question]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With `data.csv`, the same as `sub/data.csv`, and a secret beside the folder."""
    folder = tmp_path / "set"
    (folder / "sub").mkdir(parents=True)
    for name in ("data.csv", "sub/data.csv"):
        (folder / name).write_bytes(CSV)
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def load(folder: Path) -> Load:
    def load(files: Any, **options: Any) -> Question:
        line = json.dumps({"id": "q", "prompt": "p", "answer": 1, "files": files})
        (folder / "questions.jsonl").write_text(line, encoding="utf-8")
        (question,) = load_questions(folder / "questions.jsonl", **options)
        return question

    return load


def test_a_file_is_told_by_its_name_and_content(folder: Path, load: Load) -> None:
    (folder / "leer 空.txt").touch()
    question = load(["sub/data.csv", {"path": "./leer 空.txt", "name": "empty"}, "sub/../questions.jsonl"])
    digest = hashlib.sha256(CSV).hexdigest()
    assert question.files[0] == QuestionFile(name="data.csv", path="sub/data.csv", sha256=digest, size=len(CSV))
    assert [(file.name, file.size) for file in question.files[1:]] == [
        ("empty", 0),
        ("questions.jsonl", (folder / "questions.jsonl").stat().st_size),
    ]
    assert [read_content(file, folder) for file in question.files[:2]] == [CSV, b""]


def test_identity_follows_the_content_and_not_the_place(folder: Path, load: Load) -> None:
    here, there = load(["data.csv"]), load(["sub/data.csv"])
    assert here.identity() == there.identity()
    assert load([{"path": "data.csv", "name": "other.csv"}]).identity() != here.identity()
    (folder / "data.csv").write_bytes(CSV.replace(b"1", b"7"))
    assert load(["data.csv"]).identity() != here.identity()
    assert load(["sub/data.csv"]).identity() == here.identity()


def test_a_question_without_files_is_the_question_it_was(load: Load) -> None:
    asked = Question(id="q1", prompt="What is 1 + 1?", target=NumberTarget(value=2))
    assert asked.identity() == "4723cd89bc7a4cb5cfab9c604cf2d292"
    assert load([]).identity() == load([]).model_copy(update={"files": ()}).identity()
    assert "files" not in asked.to_json()


def test_a_record_with_files_is_read_again(folder: Path, load: Load) -> None:
    question = load(["sub/data.csv"])
    (folder / "questions.jsonl").write_text(question.to_json(), encoding="utf-8")
    assert load_questions(folder / "questions.jsonl") == (question,)


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (["gone.csv"], ["item 1 of 'files': \"gone.csv\"", "No such file"]),
        (["data.csv", "data.csv/x"], ["item 2", "Not a directory"]),
        (["../secret.txt"], ["leads out of the folder"]),
        (["sub/../../secret.txt"], ["leads out of the folder"]),
        (["../set/data.csv", "../secret.txt"], ["item 2", "leads out"]),
        (["/etc/passwd"], ["must be relative"]),
        (["leak.txt"], ["leads out of the folder"]),
        (["way_out/secret.txt"], ["leads out of the folder"]),
        (["loop"], ["loop"]),
        (["sub"], ["is a folder"]),
        (["."], ["no plain file name"]),
        ([".."], ["no plain file name"]),
        (["sub/"], ["no plain file name"]),
        (["pipe"], ["not a regular file"]),
        (["~/x"], ["No such file"]),
        (["a\0/b"], ["contains a character that paths cannot contain"]),
        (["a\0b"], ["no plain file name"]),
        ([""], ["names no path"]),
        (["x" * 5000], ["no plain file name"]),
        (["x/" * 5000 + "y"], ["cannot be read"]),
        ("data.csv", ["must be a list", "data.csv"]),
        (None, ["must be a list"]),
        ([7], ["item 1", "names no path; found 7"]),
        ([["data.csv"]], ["names no path"]),
        ([{"name": "x"}], ["names no path"]),
        ([{"path": "data.csv", "nam": "x"}], ['unknown key "nam"', "name"]),
        ([{"path": "data.csv", "name": ".bashrc"}], ['".bashrc" is no plain file name']),
        ([{"path": "data.csv", "name": "../x"}], ["no plain file name"]),
        ([{"path": "data.csv", "name": "a\\b"}], ["no plain file name"]),
        ([{"path": "data.csv", "name": "a\nb"}], ["no plain file name"]),
        ([{"path": "data.csv", "name": "\u202ecsv.exe"}], ["no plain file name"]),
        ([{"path": "data.csv", "name": " x"}], ["no plain file name"]),
        ([{"path": "data.csv", "name": "空" * 100}], ["no plain file name"]),
        ([{"path": "data.csv", "name": None}], ["no plain file name"]),
        ([{"path": "data.csv", "sha256": "0" * 64}], ["sha256", hashlib.sha256(CSV).hexdigest()]),
        ([{"path": "data.csv", "size": 9}], ["size", "is 8, not 9"]),
        (["data.csv", "sub/data.csv"], ["two of the 'files'", '"data.csv"', "name"]),
        (["data.csv", "data.csv"], ["two of the 'files'"]),
        (["huge"], ["1,000,000,001 bytes", "1,000,000,000"]),
    ],
)
def test_what_is_no_file_of_the_folder_is_refused(folder: Path, load: Load, files: Any, told: list[str]) -> None:
    (folder / "leak.txt").symlink_to("../secret.txt")
    (folder / "way_out").symlink_to(folder.parent)
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    with (folder / "huge").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(InputError) as caught:
        load(files)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'questions.jsonl'}:1: ")
    assert [word for word in told if word not in message] == []
    assert len(message) < 700


def test_links_within_the_folder_and_another_folder_are_meant(folder: Path, load: Load) -> None:
    (folder / "link.csv").symlink_to("sub/data.csv")
    assert load(["link.csv"]).files[0].name == "link.csv"
    assert load(["secret.txt"], folder=folder.parent).files[0].size == 6
    moved = folder.parent / "moved"
    moved.symlink_to(folder)
    (question,) = load_questions(moved / "questions.jsonl", folder=folder.parent)
    assert read_content(question.files[0], folder.parent) == b"secret"


def _replace(path: Path, content: bytes) -> None:
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda path: _replace(path, CSV[::-1]), "has changed since the plan was read"),
        (lambda path: _replace(path, CSV + b"x"), "has changed since the plan was read"),
        (lambda path: _replace(path, b""), "has changed since the plan was read"),
        (lambda path: path.unlink(), "No such file"),
        (lambda path: (path.unlink(), path.symlink_to("../secret.txt")), "leads out of the folder"),
        (lambda path: (path.unlink(), os.mkfifo(path)), "not a regular file"),
        (lambda path: shutil.rmtree(path.parent), "No such file"),
    ],
    ids=["same size", "longer", "emptied", "gone", "link", "pipe", "folder gone"],
)
def test_what_was_changed_since_is_not_handed_out(
    folder: Path, load: Load, change: Callable[[Path], object], told: str
) -> None:
    (file,) = load(["data.csv"]).files
    change(folder / "data.csv")
    with pytest.raises(InputError, match=told) as caught:
        read_content(file, folder)
    assert "data.csv" in str(caught.value)


@pytest.mark.parametrize(("language", "word"), [("en", "Files of this question"), ("zh", "本题的文件")])
def test_the_question_names_its_files(folder: Path, load: Load, language: str, word: str) -> None:
    question = load(["data.csv", {"path": "sub/data.csv", "name": 'a, "b" {}.csv'}])
    text = render(question.model_copy(update={"language": language}))
    line = next(line for line in text.splitlines() if word in line)
    assert '"data.csv", "a, \\"b\\" {}.csv"' in line
    assert "sub/" not in text
    without = render(question.model_copy(update={"language": language, "files": ()}))
    assert text.replace(f"{line}\n\n", "") == without
