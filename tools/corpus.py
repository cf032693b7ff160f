"""A corpus: documents in a JSONL file, for search without a network.

One JSON object per line: `id`, `url`, `text`, and if there are any `title` and `published` (as text, for instance
`2024-05-01`). Ids and URLs are distinct. Blank lines are skipped; the file is UTF-8, with or without a BOM.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, ValidationError

from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Record


class Document(Record):
    id: str = Field(min_length=1)
    url: str = Field(min_length=1)
    text: str = Field(min_length=1)
    title: str = ""
    published: str = ""


@dataclass(frozen=True)
class Corpus:
    """Documents in the order of their ids, so that the order of the file changes nothing."""

    documents: tuple[Document, ...]

    def at(self, url: str) -> Document | None:
        """The document at a URL; scheme, `www.`, fragment and a last slash make no difference."""
        return self._by_url.get(url_key(url))

    @cached_property
    def _by_url(self) -> dict[str, Document]:
        return {url_key(document.url): document for document in self.documents}


def url_key(url: str) -> str:
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").removeprefix("www.")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url.strip()
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}{parts.path.rstrip('/')}{query}"


def load_corpus(path: Path) -> Corpus:
    """Reads a corpus. Raises InputError that names the file, the line and what is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no corpus at {path}", code="no_corpus") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the corpus {path}: {error}", code="unreadable_corpus") from None
    lines: dict[str, int] = {}
    documents = []
    for number, line in _lines(text):
        document = _document(line, f"{path}:{number}")
        for key in (f"id {document.id!r}", f"url {url_key(document.url)!r}"):
            first = lines.setdefault(key, number)
            if first != number:
                raise InputError(f"{path}:{number}: {key} was there on line {first} already", code="bad_corpus")
        documents.append(document)
    if not documents:
        raise InputError(f"the corpus {path} holds no document", code="bad_corpus")
    return Corpus(tuple(sorted(documents, key=lambda document: document.id)))


def _lines(text: str) -> Iterator[tuple[int, str]]:
    # Not splitlines(), which would also split at U+2028 inside a JSON string.
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _document(line: str, where: str) -> Document:
    try:
        return Document.from_json(line)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in detail["loc"])
        found = (
            "" if detail["type"] in ("missing", "json_invalid") else f", found {one_line(repr(detail['input']), 60)}"
        )
        raise InputError(
            f"{where}: {field + ': ' if field else ''}{detail['msg']}{found}",
            hint="a line holds a JSON object with id, url, text, and if there are any title and published",
            code="bad_corpus",
        ) from None
