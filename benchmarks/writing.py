"""Questions of other forms, written as a plan reads them."""

from collections.abc import Sequence
from pathlib import Path

from toolablate.traces.errors import InputError
from toolablate.traces.output import refuse_store
from toolablate.traces.records import Question


def write_questions(files: Sequence[tuple[Path, Sequence[Question]]], *, source: Path) -> None:
    """One question a line. Raises InputError where a file cannot be written; and before any is, where one is the file
    that they come from, another of them, or a store."""
    for place, (path, _) in enumerate(files):
        refuse_store(path, "questions")
        if _is_same(path, source):
            raise InputError(f"{path} is the file that is read", hint="Name another file to write.", code="same_file")
        if any(_is_same(path, other) for other, _ in files[:place]):
            raise InputError(f"{path} is named twice", hint="Each needs a file of its own.", code="same_file")
    for path, questions in files:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{question.to_json()}\n" for question in questions), encoding="utf-8")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror}", code="unwritable") from None


def _is_same(one: Path, other: Path) -> bool:
    """Also by way of a link."""
    return one.resolve() == other.resolve() or (one.exists() and other.exists() and one.samefile(other))
