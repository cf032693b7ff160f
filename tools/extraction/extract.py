"""The text and the links of a document."""

import re

from toolablate.tools.extraction.charsets import decode
from toolablate.tools.extraction.feeds import read_xml
from toolablate.tools.extraction.kinds import kind_of
from toolablate.tools.extraction.markup import TITLE_CHARS, read_html
from toolablate.tools.extraction.options import ExtractionOptions
from toolablate.tools.extraction.pdf import read_pdf
from toolablate.tools.extraction.unreadable import Unreadable
from toolablate.tools.plain import one_line, plain_text
from toolablate.traces.records import Link, PageText

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
