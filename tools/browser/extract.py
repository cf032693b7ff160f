"""From the bytes of a reply to the text of a page."""

import codecs
import logging
import re

from toolablate.tools.browser.fetch import Fetched
from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.plain import one_line, plain_text

TITLE_CHARS = 200

# What it could not extract is told to the model; where nobody asked for logs, it must not be written over the terminal.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_META_CHARSET = re.compile(r"<meta\b[^>]*\bcharset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(x[0-9a-f]+|[0-9]+);?", re.IGNORECASE)
_HTML_START = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype|html|head|body)", re.IGNORECASE | re.DOTALL)
# Codecs of Python's that no page is written in, and some of which take quadratic time.
_NO_CHARSETS = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined"})
_TEXT_TYPES = ("application/json", "application/xml", "application/javascript", "application/x-ndjson")


def page_of(fetched: Fetched) -> Page:
    """The readable text of a reply. Raises PageUnreadableError where it is no text, or there is none."""
    media = fetched.content_type.partition(";")[0].strip().lower() or "application/octet-stream"
    if media in ("text/html", "application/xhtml+xml") or _HTML_START.match(fetched.body[:2_000]):
        title, text = _from_html(fetched)
    else:
        title, text = "", _from_text(fetched, media)
    if not text.strip():
        raise PageUnreadableError(f"{fetched.url}: there is no readable text on this page", code="no_text")
    return Page.of(fetched.url, one_line(title, TITLE_CHARS) or fetched.url, text)


def _from_text(fetched: Fetched, media: str) -> str:
    if media.startswith("text/") or media in _TEXT_TYPES:
        text = _decode(fetched)
        if "\0" not in text[:10_000]:
            return text
    raise PageUnreadableError(
        f"{fetched.url} is no text: {one_line(media, 80)}, {len(fetched.body):,} bytes", code="not_text"
    )


def _decode(fetched: Fetched) -> str:
    """By the declared charset if the bytes are valid in it, else by what they look like."""
    declared = _CHARSET.search(fetched.content_type) or _META_CHARSET.search(fetched.body[:2_000].decode("latin-1"))
    for charset in (declared[1] if declared else "utf-8-sig", "utf-8-sig"):
        try:
            if codecs.lookup(charset).name not in _NO_CHARSETS:
                return fetched.body.decode(charset)
        except (LookupError, UnicodeError):
            continue
    from trafilatura.utils import decode_file

    return decode_file(fetched.body)


def _from_html(fetched: Fetched) -> tuple[str, str]:
    """Title and text. The main content, or where trafilatura finds none, all there is."""
    import trafilatura
    from trafilatura.settings import Document

    # With one control character in it, trafilatura gives up the whole page.
    html = plain_text(_REFERENCE.sub(_without_controls, _decode(fetched)))
    tree = trafilatura.load_html(html)
    if tree is None:
        return "", ""
    title = (tree.findtext(".//title") or "").strip()
    document = trafilatura.bare_extraction(
        tree, url=fetched.url, favor_recall=True, include_comments=True, include_tables=True
    )
    if isinstance(document, Document) and document.text and document.text.strip():
        comments = f"\n\n{document.comments}" if document.comments else ""
        return title or document.title or "", f"{document.text}{comments}"
    return title, trafilatura.html2txt(html)


def _without_controls(reference: re.Match[str]) -> str:
    digits = reference[1].lower()
    # Longer ones are beyond Unicode, and Python refuses to read numbers of thousands of digits.
    number = 0 if len(digits) > 10 else int(digits[1:], 16) if digits.startswith("x") else int(digits)
    return "" if (number < 32 and chr(number) not in "\t\n\r") or number == 127 else reference[0]
