"""Questions as Encyclo-K publishes them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.encyclo_k.composing import SOURCE
from toolablate.benchmarks.prompt import LETTERS
from toolablate.benchmarks.questions import language_of
from toolablate.benchmarks.rows.row_errors import Identities, LineError, at, shown
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.traces.records import ChoiceTarget, Question

_TEXT = "a text in quotes that is not empty"
ALLOWED: Mapping[str, str] = {
    "question": _TEXT,
    "options": f"a list of 2 to {len(LETTERS)} texts",
    "answer_letter": 'the letter of an option: "B"',
    "discipline": _TEXT,
    "field": "a text in quotes",
    "subfield": "a text in quotes",
    "difficulty": "a text in quotes",
    "id": _TEXT,
    "language": 'the name of a language: "en", "zh"',
}
_OWN_LETTER = re.compile(r"\s*\(?([A-Z])\s*[).:、．：]\s*")

Text = Annotated[str, Field(min_length=1)]


class EncycloKRow(BaseModel):
    """One row. Keys of other names, of which datasets have many, are passed over."""

    model_config = ConfigDict(frozen=True)

    question: Text
    options: Annotated[list[Text], Field(min_length=2, max_length=len(LETTERS))]
    answer_letter: Text
    discipline: Text
    field: str = ""
    subfield: str = ""
    difficulty: str = ""
    id: str = ""
    language: str = ""


def load_published_questions(path: str | Path) -> tuple[Question, ...]:
    """Reads one published question in each row: `question`, `options`, `answer_letter`, `discipline`, and optionally
    `field`, `subfield`, `difficulty`, `id` (by default "encyclo-k-0001", by its place) and `language` (by default by
    its characters). `path` is a JSONL, or another source that `rows_of` reads.

    Raises InputError that names the file, the row, the key, what was found and what is allowed.
    """
    questions: list[Question] = []
    identities = Identities("question")
    for place, row in typed_rows(path, EncycloKRow, ALLOWED):
        identity = row.id or f"{SOURCE}-{len(questions) + 1:04d}"
        try:
            identities.take(identity, place)
            questions.append(_question(identity, row))
        except LineError as error:
            raise at(place, error) from error
    return tuple(questions)


def _question(identity: str, row: EncycloKRow) -> Question:
    allowed = LETTERS[: len(row.options)]
    letter = row.answer_letter.strip().upper()
    if len(letter) != 1 or letter not in allowed:
        raise LineError(
            f"'answer_letter' names no option; found {shown(row.answer_letter)}",
            f"Allowed is a letter from {allowed[0]} to {allowed[-1]}, for its {len(allowed)} options.",
        )
    return Question(
        id=identity,
        prompt=row.question,
        choices=_unlettered(row.options),
        target=ChoiceTarget(letters=(letter,)),
        domain=row.discipline,
        difficulty=row.difficulty,
        language=row.language or language_of(row.question),
        source=SOURCE,
        metadata=_labels(row),
    )


def _labels(row: EncycloKRow) -> dict[str, Any]:
    return {"discipline": row.discipline, "field": row.field, "subfield": row.subfield}


def _unlettered(options: list[str]) -> tuple[str, ...]:
    """Without their own letters, where all have them: a question's choices are lettered when it is asked."""
    found = [_OWN_LETTER.match(option) for option in options]
    if all(
        match and match[1] == letter and match.end() < len(option)
        for match, letter, option in zip(found, LETTERS, options, strict=False)
    ):
        return tuple(option[match.end() :] for match, option in zip(found, options, strict=True) if match)
    return tuple(options)
