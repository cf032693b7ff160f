"""Book worlds: a textbook as a corpus in which every answer is, and the same book with its falsified statements."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import accumulate
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from toolablate.benchmarks.rows.row_errors import LineError, at
from toolablate.benchmarks.rows.sources import typed_rows
from toolablate.experiments.construction.stages import Content, FullText
from toolablate.experiments.construction.statement_stages import named_and_said


class PageRow(BaseModel):
    """A page of a book, of which another key is passed over."""

    model_config = ConfigDict(frozen=True)

    text: FullText
    title: str = ""
    url: str = ""
    licence: str = ""


_PAGE_END = "\f"
_TEXT = "a text in quotes"
ALLOWED = {"text": "a text in quotes that is not blank", "title": _TEXT, "url": _TEXT, "licence": _TEXT}


@dataclass(frozen=True, slots=True)
class BookWorlds:
    """Documents of the book as it is, and with each statement that stands there (in `found` items) in its incorrect
    form, where pages are marked as falsified; both have the same addresses and titles. Of a page that is all of a
    statement's second half nothing would be left: in both it is a part of the document before."""

    true: tuple[dict[str, Any], ...]
    false: tuple[dict[str, Any], ...]
    found: frozenset[str]


def book_worlds(pages: str | Path, contents: Mapping[str, Content]) -> BookWorlds:
    """A statement stands in the book where its text without the name does, whatever the blanks and ends of lines and
    pages, its first letter's case, and with or without its final stop. Its twin is on the page where it begins, and its
    lines end where those of the book would: one long line among short ones would give it away.

    Raises InputError that names the file, the row, the key."""
    rows = _rows_of(pages)
    book = _PAGE_END.join(row.text.replace(_PAGE_END, " ") for row in rows)
    spans = _spans(book, {item: named_and_said(each["text"])[1] for item, each in contents.items()})
    falsified, done = [], 0
    for start, end, item in spans:
        twin = named_and_said(contents[item]["false"]["text"])[1].replace(_PAGE_END, " ")
        twin = _set_as(book, start, end, _as_there(book[start:end], named_and_said(contents[item]["text"])[1], twin))
        falsified += [book[done:start], twin, _PAGE_END * book.count(_PAGE_END, start, end)]
        done = end
    false_pages = "".join([*falsified, book[done:]]).split(_PAGE_END)
    true, false = list[dict[str, Any]](), list[dict[str, Any]]()
    for number, (row, text) in enumerate(zip(rows, false_pages, strict=True), start=1):
        changed = {"falsified": True} if text != row.text.replace(_PAGE_END, " ") else {}
        if not text.strip():
            true[-1]["text"] += f"\n{row.text}"
            continue
        about = {
            "id": f"page-{number}",
            "title": row.title or f"Page {number}",
            "url": row.url or f"https://book.example/{number}",
            **({"licence": row.licence} if row.licence else {}),
        }
        true.append({**about, "text": row.text})
        false.append({**about, "text": text, **changed})
    return BookWorlds(tuple(true), tuple(false), frozenset(item for _, _, item in spans))


def _rows_of(pages: str | Path) -> list[PageRow]:
    from toolablate.tools.corpus.documents import url_key

    rows, known = list[PageRow](), set[str]()
    for place, row in typed_rows(pages, PageRow, ALLOWED):
        if row.url and url_key(row.url) in known:
            raise at(
                place, LineError("url: is that of an earlier page", "Give each page an address of its own, or none.")
            )
        known.add(url_key(row.url))
        rows.append(row)
    return rows


def _spans(book: str, said: Mapping[str, str]) -> list[tuple[int, int, str]]:
    """Where each text stands, in order: of two that overlap the longer one."""
    flat = _Flat(book)
    found = [(*span, item) for item, text in said.items() for span in flat.spans(text)]
    chosen: list[tuple[int, int, str]] = []
    free = bytearray(b"\1") * len(book)
    for start, end, item in sorted(found, key=lambda span: (span[0] - span[1], span)):
        if all(free[start:end]):
            free[start:end] = bytes(end - start)
            chosen.append((start, end, item))
    return sorted(chosen)


class _Flat:
    """A book with one blank between words: texts are found in it as they are, whatever its blanks and ends of lines."""

    def __init__(self, book: str) -> None:
        self._book = book
        words = list(re.finditer(r"\S+", book))
        self._text = " ".join(word[0] for word in words)
        self._starts = [word.start() for word in words]
        self._flat_starts = list(accumulate((len(word[0]) + 1 for word in words), initial=0))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """In the book. Whole words: what a statement says may be a part of another word."""
        said = " ".join(text.split())
        bare, stop = _without_stop(said)
        for spelled in {bare, _other_case(bare)} if bare else ():
            start = self._text.find(spelled)
            while start >= 0:
                end = start + len(spelled)
                whole = not any(map(_WORD_SIGN.match, (self._text[start - 1 : start], self._text[end : end + 1])))
                if whole and (found := self._place(start, end, stop)):
                    yield found
                start = self._text.find(spelled, end if whole else start + 1)

    def _place(self, start: int, end: int, stop: str) -> tuple[int, int] | None:
        """With the `stop` that the statement has. Without it, where the sentence or clause ends all the same: it may go
        on to say another thing."""
        stands = bool(stop) and self._text.startswith(stop, end) and not _WORD_SIGN.match(self._text, end + len(stop))
        first, last = self._in_book(start), self._in_book(end + len(stop) * stands - 1) + 1
        return (first, last) if stands or not stop or _is_ended(self._book, last) else None

    def _in_book(self, place: int) -> int:
        word = bisect_right(self._flat_starts, place) - 1
        return self._starts[word] + place - self._flat_starts[word]


_WORD_SIGN = re.compile(r"[A-Za-z0-9]")
_CLAUSE_END = re.compile(r"[,;:!?)\]}”’»—–，；：！？）。](?!\d)")


def _is_ended(book: str, end: int) -> bool:
    """Whether a sentence or clause ends there: by a sign, or with its line, where the next does not go on with it."""
    rest = book[end : end + _AROUND]
    if not (following := rest.lstrip()) or _CLAUSE_END.match(rest):
        return True
    gap = rest[: -len(following)]
    return ("\n" in gap or _PAGE_END in gap) and not following[0].islower()


def _without_stop(text: str) -> tuple[str, str]:
    return (text[:-1], text[-1]) if text.endswith((".", "。")) else (text, "")


def _other_case(text: str) -> str:
    return f"{text[0].swapcase()}{text[1:]}"


def _as_there(place: str, said: str, twin: str) -> str:
    """The twin with the case of the first letter and the final stop that its statement has at this place of the book,
    where that differs from how it is `said`. A first word with further capitals is an abbreviation."""
    if place[0] != said[0] and twin[0].isupper() == said[0].isupper() and not re.match(r"\w+[A-Z]", twin):
        twin = _other_case(twin)
    return twin if _without_stop(place)[1] == _without_stop(said)[1] else _without_stop(twin)[0]


def _set_as(book: str, start: int, end: int, twin: str) -> str:
    """The twin, with the book's blanks and ends of lines as far as its words are the same, and from there on in lines
    that are no longer than those around it."""
    words, said = book[start:end].split(), twin.split()
    blanks = re.findall(r"\s+", book[start:end].replace(_PAGE_END, "\n"))
    own = re.findall(r"\s+", twin.strip())
    same = next((place for place, (one, other) in enumerate(zip(words, said, strict=False)) if one != other), None)
    kept = min(len(words), len(said)) if same is None else same
    line_start = max(book.rfind(sign, 0, start) for sign in ("\n", _PAGE_END)) + 1
    around = re.split(r"[\n\f]", book[max(0, line_start - _AROUND) : end + _AROUND])
    whole = [line for line in around[1:-1] or around if line.strip()]
    broken = sum(not _SENTENCE_END.search(line) for line in whole)
    # Where most lines are whole sentences, none is broken for want of width.
    widest = max(map(len, whole)) if 2 * broken > len(whole) else len(book) + len(twin)
    items = _item_starts(words, said, blanks)
    made = said[0]
    for place, word in enumerate(said[1:], start=1):
        line = f"{book[line_start:start]}{made}".rpartition("\n")[2]
        ends = "\n" in own[place - 1] or place in items or len(line) + 1 + len(word) > widest
        made += f"{blanks[place - 1] if place < kept else chr(10) if ends else ' '}{word}"
    return made


def _item_starts(words: Sequence[str], said: Sequence[str], blanks: Sequence[str]) -> set[int]:
    """The places of the twin's words with which an item of a list begins that begins a line in the book: lists keep
    their lines whatever the twin changes before them."""
    same = SequenceMatcher(None, words, said, autojunk=False).get_matching_blocks()
    return {
        block.b + at
        for block in same
        for at in range(block.size)
        if (place := block.a + at) and "\n" in blanks[place - 1] and _ITEM.fullmatch(words[place])
    }


_ITEM = re.compile(r"[•◦▪‣–*-]|\(?(?:\d{1,3}|[a-zA-Z])[.)]")
_AROUND = 400
"""Signs before and after a statement whose lines show how long lines are there."""
_SENTENCE_END = re.compile(r"[.!?:;。！？：；]\W*$")
