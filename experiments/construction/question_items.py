"""What comes in: questions with answers, one in a row, without personal data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.known_names import KnownNames, NamesAndTexts, names_of
from toolablate.experiments.construction.personal_data import address_without_personal_data, without_personal_data
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
_CLEANED = ("question", "answer", "explanation", "title")


def load_question_items(path: str | Path) -> dict[str, Content]:
    """The content of each item by its id, the digest of its texts as they came; of rows with equal texts the first is
    kept.

    Raises InputError that names the file, the row, the key, what was found and what is allowed."""
    rows = [row.model_dump(mode="json") for _, row in typed_rows(path, QuestionRow, ALLOWED)]
    if not rows:
        raise InputError(f"items: there is no row in {path}", code="no_items")
    items: dict[str, Content] = {}
    for row in rows:
        items.setdefault(digest_json(worked_on(row)), content_of(row))
    return forums_named(items)


def forums_named(items: Mapping[str, Content]) -> dict[str, Content]:
    """A forum is one, whoever wrote in which of its threads: no name of any item is left in it."""
    forums: dict[str, str] = {}
    for content in items.values():
        forum: str = content["forum"]
        forums[forum] = without_personal_data(forums.get(forum, forum), KnownNames.read(content.get("names", {})))
    return {item: {**content, "forum": forums[content["forum"]]} for item, content in items.items()}


def names_and_texts(row: Content) -> NamesAndTexts:
    host = row["url"].partition("://")[2].partition("/")[0]
    place = f"{row['forum']} {host}"
    others = [row["answer"], row["explanation"], *row["replies"]]
    return NamesAndTexts(row["names"], f"{row['title']}\n{row['question']}", others, place)


def content_of(row: Content) -> dict[str, Any]:
    """An item without personal data, but in the name of its forum (`forums_named`). `names` are kept for what models
    and people write of it, and `maybe_names` are words in it that may be one."""
    names = names_of(names_and_texts(row))
    clean = {key: without_personal_data(row[key], names) for key in _CLEANED}
    clean["url"] = address_without_personal_data(row["url"], names, row["title"])
    replies = [without_personal_data(each, names) for each in row["replies"]]
    found = {key: value for key, value in row.items() if key != "names"} | clean | {"replies": replies}
    left = names.left_in("\n".join((*(clean[key] for key in _CLEANED), *replies)))
    kept = {"names": names.kept(), "maybe_names": ", ".join(left)}
    return found | {key: value for key, value in kept.items() if value}
