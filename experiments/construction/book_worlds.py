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


_PAGE_END = "\f"
_NOTHING_LEFT = "[...]"
"""On a page that was a statement's second half alone: a document has a text."""
ALLOWED = {"text": "a text in quotes that is not blank", "title": "a text in quotes", "url": "a text in quotes"}


@dataclass(frozen=True, slots=True)
class BookWorlds:
    """Documents of the book as it is, and with each statement that stands there (in `found` items) in its incorrect
    form; both have the same addresses and titles."""

    true: tuple[dict[str, Any], ...]
    false: tuple[dict[str, Any], ...]
    found: frozenset[str]


def book_worlds(pages: str | Path, contents: Mapping[str, Content]) -> BookWorlds:
    """A statement stands in the book where its text without the name does, whatever the blanks and ends of lines and
    pages. Its twin is on the page where it begins.

    Raises InputError that names the file, the row, the key."""
    rows = [row for _, row in typed_rows(pages, PageRow, ALLOWED)]
    book = _PAGE_END.join(row.text.replace(_PAGE_END, " ") for row in rows)
    spans = _spans(book, {item: _said(each["text"]) for item, each in contents.items()})
    falsified, done = [], 0
    for start, end, item in spans:
        twin = _said(contents[item]["false"]["text"]).replace(_PAGE_END, " ")
        falsified += [book[done:start], twin, _PAGE_END * book.count(_PAGE_END, start, end)]
        done = end
    false_pages = "".join([*falsified, book[done:]]).split(_PAGE_END)
    documents = [
        {
            "id": f"page-{number}",
            "title": row.title or f"Page {number}",
            "url": row.url or f"https://book.example/{number}",
        }
        for number, row in enumerate(rows, start=1)
    ]
    true = ({**document, "text": row.text} for document, row in zip(documents, rows, strict=True))
    false = (
        {**document, "text": text if text.strip() else _NOTHING_LEFT}
        for document, text in zip(documents, false_pages, strict=True)
    )
    return BookWorlds(tuple(true), tuple(false), frozenset(item for _, _, item in spans))


def _spans(book: str, said: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Where each text stands, in order: of two that overlap the longer one."""
    found = [(*match.span(), item) for item, text in said.items() for match in _loose(text).finditer(book)]
    chosen: list[tuple[int, int, str]] = []
    free = bytearray(b"\1") * len(book)
    for start, end, item in sorted(found, key=lambda span: (span[0] - span[1], span)):
        if all(free[start:end]):
            free[start:end] = bytes(end - start)
            chosen.append((start, end, item))
    return sorted(chosen)


def _said(statement: str) -> str:
    """Without its first line, where that is its name."""
    name, _, said = statement.partition("\n")
    return said.strip() if said.strip() and name.rstrip().endswith((":", "：")) else statement.strip()


def _loose(text: str) -> re.Pattern[str]:
    """Whole words: what a statement says may be a part of another word."""
    said = r"\s+".join(map(re.escape, text.split()))
    return re.compile(rf"(?<![A-Za-z0-9]){said}(?![A-Za-z0-9])")
