"""One document of a corpus, and how a line of JSON becomes one."""

from urllib.parse import quote, urlsplit

from pydantic import Field, ValidationError

from toolablate.tools.plain import one_line
from toolablate.traces.errors import InputError
from toolablate.traces.records import Link, Record

ORIGIN = "https://corpus.invalid/"
"""Where documents without a URL of their own are said to be; `.invalid` never resolves (RFC 2606)."""


class Document(Record):
    """A document as its author gives it. `url` is by default made of the id; `published` is a hint, as text."""

    id: str = Field(min_length=1)
    text: str = Field(min_length=1)
    url: str = ""
    title: str = ""
    published: str = ""

    @property
    def address(self) -> str:
        return self.url or url_of(self.id)


class Heading(Record):
    """All that is known of a stored document but its text."""

    id: str
    url: str
    title: str = ""
    published: str = ""
    links: tuple[Link, ...] = ()


class Skipped(Record):
    """A file whose text could not be had, and why; `path` is relative to the corpus."""

    path: str
    reason: str


def url_of(identity: str) -> str:
    return ORIGIN + quote(identity, safe="/")


def url_key(url: str) -> str:
    """What URLs of the same document have in common: scheme, `www.`, fragment and a last slash make no difference."""
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").removeprefix("www.")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return url.strip()
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{port}{parts.path.rstrip('/')}{query}"


def parse_document(line: bytes, where: str) -> Document:
    """Raises InputError that names `where` and what is wrong there."""
    try:
        return Document.from_json(line)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in detail["loc"])
    found = "" if detail["type"] in ("missing", "json_invalid") else f", found {one_line(repr(detail['input']), 60)}"
    raise InputError(
        f"{where}: {field + ': ' if field else ''}{detail['msg']}{found}",
        hint="a line holds a JSON object with id, text, and if there are any url, title and published",
        code="bad_corpus",
    )
