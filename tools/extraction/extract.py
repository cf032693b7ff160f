"""The text and the links of a document: HTML, XML feeds, PDF, plain text."""

import re
import sys

from toolablate.tools.extraction.html import TITLE_CHARS, read_html
from toolablate.tools.extraction.kinds import ExtractionOptions, Unreadable, decode, kind_of
from toolablate.tools.extraction.pdf import read_pdf
from toolablate.tools.extraction.worker import unpack_options
from toolablate.tools.text import one_line, plain_text
from toolablate.traces.records import Link, PageText

_TAGS = re.compile(r"<[^>]*>")
_DECLARATION = re.compile(r"\s*<\?xml[^>]*\?>")
_BLANKS = re.compile(r"[ \t\r\n]+")


def read_xml(text: str) -> tuple[str, str]:
    """Title and text. What is no XML stays as it is."""
    from lxml import etree  # type: ignore[import-untyped]

    # Entities are not replaced, so none can grow; what they stood for is missing then.
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, recover=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(_DECLARATION.sub("", plain_text(text), count=1).encode(), parser)
    except etree.XMLSyntaxError:
        root = None
    if root is None:
        return "", text
    lines: list[str] = []
    title = ""
    for element in root.iter(etree.Element):
        name = etree.QName(element).localname
        said = _BLANKS.sub(" ", _TAGS.sub(" ", element.text or "")).strip()
        target = element.get("href") if name == "link" else None
        if name == "title" and said and not title:
            title = said
        if name in ("item", "entry", "url") and lines and lines[-1]:
            lines.append("")
        lines += [part for part in (said, (target or "").strip(), (element.tail or "").strip()) if part]
    return (title, "\n".join(lines)) if lines else ("", text)


_URL = re.compile(r"https?://[^\s<>\"'`{}|\\^\u3000-\u303f\uff00-\uffef]+")
_BEHIND = ".,;:!?)]*_"


def extract(body: bytes, options: ExtractionOptions = ExtractionOptions()) -> PageText:  # noqa: B008 - frozen
    """What can be read of `body`; where that is nothing, the reply's code and reason say why. Never raises."""
    try:
        if not body.strip():
            raise Unreadable("empty", "the document is empty")
        return _read(body, options)
    except Unreadable as why:
        return PageText(code=why.code, reason=why.reason)
    except MemoryError:
        return PageText(code="too_large", reason="reading it takes more memory than it may")
    except Exception as error:  # noqa: BLE001 - what other people's parsers raise on what the web has
        return PageText(code="broken", reason=f"it cannot be read ({type(error).__name__})")


def read(body: bytes, said: bytes) -> bytes:
    """As the process that reads documents calls it."""
    return extract(body, unpack_options(said)).to_json().encode()


def warm_up() -> None:
    """Imports what is heavy and compiles what is compiled on first use, which no document shall pay for."""
    # Trafilatura imports it where it is, with numpy, for a language that nobody asks for here.
    sys.modules["py3langid"] = None  # type: ignore[assignment]
    paragraph = "<p>" + "Words of a paragraph, read once before any other. " * 9 + "</p>"
    page = f"<html><head></head><body><article>{paragraph}<a href='/x'>a link</a></article></body></html>"
    extract(page.encode(), ExtractionOptions(url="http://example.org/"))
    extract(b"<html><body><div>short</div></body></html>")


def _read(body: bytes, options: ExtractionOptions) -> PageText:
    kind = kind_of(body, options.content_type)
    if kind == "html":
        return read_html(body, options)
    if kind == "pdf":
        title, text = read_pdf(body, options.max_chars)
    elif kind == "xml":
        title, text = read_xml(decode(body, options.content_type))
    else:
        title, text = "", decode(body, options.content_type)
    text = plain_text(text)[: options.max_chars].strip("\n")
    if not text.strip():
        raise Unreadable("no_text", "there is no readable text in this document")
    method = "pdf" if kind == "pdf" else "text"
    return PageText(title=one_line(title, TITLE_CHARS), text=text, links=_written_out(text), method=method)


def _written_out(text: str) -> tuple[Link, ...]:
    """Addresses that stand in the text itself."""
    found = ((match.start(), match[0].rstrip(_BEHIND)) for match in _URL.finditer(text))
    return tuple(Link(start=start, end=start + len(url), url=url) for start, url in found if len(url) > len("https://"))
