"""Book worlds: a textbook as a corpus in which every answer is, and the same book with its falsified statements."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.stages import Content, FullText


class PageRow(BaseModel):
    """A page of a book."""

    model_config = ConfigDict(frozen=True)

    text: FullText
    title: str = ""
    url: str = ""


ALLOWED = {"text": "a text in quotes that is not blank", "title": "a text in quotes", "url": "a text in quotes"}


@dataclass(frozen=True, slots=True)
class BookWorlds:
    """Documents of the book as it is, and with each statement that stands there (in `found` items) in its incorrect
    form; both have the same addresses and titles."""

    true: tuple[dict[str, Any], ...]
    false: tuple[dict[str, Any], ...]
    found: frozenset[str]


def book_worlds(pages: str | Path, contents: Mapping[str, Content]) -> BookWorlds:
    """A statement stands on a page where its text without the name does, whatever the blanks and ends of lines.

    Raises InputError that names the file, the row, the key."""
    patterns = {item: (_loose(_said(each["text"])), _said(each["false"]["text"])) for item, each in contents.items()}
    true, false, found = [], [], set()
    for number, (_, row) in enumerate(typed_rows(pages, PageRow, ALLOWED), start=1):
        text = row.text
        for item, (pattern, twin) in patterns.items():
            text, times = pattern.subn(twin.replace("\\", r"\\"), text)
            if times:
                found.add(item)
        document = {"id": f"page-{number}", "title": row.title or f"Page {number}"}
        document["url"] = row.url or f"https://book.example/{number}"
        true.append({**document, "text": row.text})
        false.append({**document, "text": text})
    return BookWorlds(tuple(true), tuple(false), frozenset(found))


def _said(statement: str) -> str:
    """Without its first line, where that is its name."""
    name, _, said = statement.partition("\n")
    return said.strip() if said.strip() and name.rstrip().endswith((":", "：")) else statement.strip()


def _loose(text: str) -> re.Pattern[str]:
    """Whole words: what a statement says may be a part of another word."""
    said = r"\s+".join(map(re.escape, text.split()))
    return re.compile(rf"(?<![A-Za-z0-9]){said}(?![A-Za-z0-9])")
