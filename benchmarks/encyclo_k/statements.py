"""Statements: what questions are composed of."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from toolablate.benchmarks.line_error import LineError, shown
from toolablate.benchmarks.rows import Identities, at, typed_rows
from toolablate.traces.records import Record

_TEXT = "a text in quotes"
_NAME = "a text in quotes that is not empty"
ALLOWED: Mapping[str, str] = {
    "id": _NAME,
    "text": _NAME,
    "correct": "true or false",
    "discipline": _NAME,
    "field": _TEXT,
    "subfield": _TEXT,
    "language": 'the name of a language: "en", "zh"',
    "of": "the id of the correct statement that an incorrect one was made from",
}


class Statement(Record):
    """A sentence or more of a textbook, as it stands or made incorrect.

    A discipline has fields, and these subfields. `of` is the id of the correct statement that an incorrect one was made
    from: both are one `point` of knowledge, and never stand in one question.
    """

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    correct: bool
    discipline: str = Field(min_length=1)
    field: str = ""
    subfield: str = ""
    language: str = Field(default="en", min_length=1)
    of: str = ""

    @property
    def point(self) -> str:
        return self.of or self.id


def load_statements(path: str | Path) -> tuple[Statement, ...]:
    """Reads one statement in each row: `id`, `text`, `correct`, `discipline`, and optionally `field`, `subfield`,
    `language` ("en") and `of`. `path` is a JSONL, or another source that `rows_of` reads.

    Raises InputError that names the file, the row, the key, what was found and what is allowed; also for an id that is
    taken, and for an `of` that names no correct statement of this file.
    """
    identities = Identities("statement")
    statements: dict[str, Statement] = {}
    for place, statement in typed_rows(path, Statement, ALLOWED):
        try:
            identities.take(statement.id, place)
        except LineError as error:
            raise at(place, error) from error
        statements[statement.id] = statement
    for statement in statements.values():
        try:
            _check_origin(statement, statements)
        except LineError as error:
            raise at(identities.places[statement.id], error) from error
    return tuple(statements.values())


def _check_origin(statement: Statement, statements: Mapping[str, Statement]) -> None:
    if not statement.of:
        return
    origin = statements.get(statement.of)
    if statement.correct:
        raise LineError("'of' is given for a correct statement", f"It is {ALLOWED['of']}.")
    if origin is None or not origin.correct:
        found = "no statement" if origin is None else "an incorrect statement"
        raise LineError(f"'of' names {found} of this file: {shown(statement.of)}", f"It is {ALLOWED['of']}.")
    for key in ("discipline", "field", "subfield", "language"):
        here, there = getattr(statement, key), getattr(origin, key)
        if here != there:
            raise LineError(
                f"'{key}' is {shown(here)}, and {shown(there)} in the statement that 'of' names, {shown(origin.id)}",
                "Both are of one subfield and language.",
            )
