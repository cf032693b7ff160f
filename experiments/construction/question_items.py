"""What comes in: questions with answers, one in a row, without personal data."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.personal_data import address_without_names, without_personal_data
from toolablate.experiments.construction.stages import Content, FullText, worked_on
from toolablate.traces.errors import InputError
from toolablate.traces.records import digest_json

_TEXT = "a text in quotes"


class QuestionRow(BaseModel):
    """A question with an answer. `replies` are the other answers that were given; `names` those of people, which are
    taken out of all texts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: FullText
    answer: FullText
    explanation: str = ""
    replies: list[str] = Field(default_factory=list)
    title: str = ""
    url: str = ""
    forum: str = ""
    licence: str = ""
    names: list[str] = Field(default_factory=list)


ALLOWED = {
    "question": "a text in quotes that is not blank",
    "answer": "a text in quotes that is not blank",
    "explanation": _TEXT,
    "replies": "a list of texts",
    "title": _TEXT,
    "url": _TEXT,
    "forum": _TEXT,
    "licence": _TEXT,
    "names": "a list of texts",
}
_CLEANED = ("question", "answer", "explanation", "title", "forum")


def load_question_items(path: str | Path) -> dict[str, Content]:
    """The content of each item by its id, the digest of its texts as they came; of rows with equal texts the first is
    kept.

    Raises InputError that names the file, the row, the key, what was found and what is allowed."""
    items: dict[str, Content] = {}
    for _, row in typed_rows(path, QuestionRow, ALLOWED):
        given = row.model_dump(mode="json")
        items.setdefault(digest_json(worked_on(given)), _content(given))
    if not items:
        raise InputError(f"items: there is no row in {path}", code="no_items")
    return items


def _content(row: dict[str, Any]) -> Content:
    names = row.pop("names")
    clean = {key: without_personal_data(row[key], names) for key in _CLEANED}
    clean["url"] = address_without_names(row["url"], names)
    return {**row, **clean, "replies": [without_personal_data(each, names) for each in row["replies"]]}
