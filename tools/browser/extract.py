"""From the bytes of a reply to the text of a page."""

import re

from toolablate.tools.browser.fetch import Fetched
from toolablate.tools.browser.page import Page, PageUnreadableError
from toolablate.tools.plain import one_line

TITLE_CHARS = 200

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
_HTML_START = re.compile(rb"\s*(?:<!--.*?-->\s*)?<(?:!doctype|html|head|body)", re.IGNORECASE | re.DOTALL)
_TEXT_TYPES = ("application/json", "application/xml", "application/javascript", "application/x-ndjson")


def page_of(fetched: Fetched) -> Page:
    """The readable text of a reply. Raises PageUnreadableError where it is no text, or there is none."""
    media = fetched.content_type.partition(";")[0].strip().lower() or "application/octet-stream"
    if media in ("text/html", "application/xhtml+xml") or _HTML_START.match(fetched.body[:2_000]):
        title, text = _from_html(fetched)
    elif (media.startswith("text/") or media in _TEXT_TYPES) and b"\0" not in fetched.body[:10_000]:
        title, text = "", _decode(fetched)
    else:
        raise PageUnreadableError(
            f"{fetched.url} is no text: {one_line(media, 80)}, {len(fetched.body):,} bytes", code="not_text"
        )
    if not text.strip():
        raise PageUnreadableError(f"{fetched.url}: there is no readable text on this page", code="no_text")
    return Page.of(fetched.url, one_line(title, TITLE_CHARS) or fetched.url, text)


def _decode(fetched: Fetched) -> str:
    """By the declared charset if the bytes are valid in it, else by what they look like."""
    declared = _CHARSET.search(fetched.content_type)
    for charset in (declared[1] if declared else "utf-8-sig", "utf-8-sig"):
        try:
            return fetched.body.decode(charset)
        except (LookupError, UnicodeError):
            continue
    from trafilatura.utils import decode_file

    return decode_file(fetched.body)


def _from_html(fetched: Fetched) -> tuple[str, str]:
    import trafilatura
    from trafilatura.settings import Document

    tree = trafilatura.load_html(_decode_html(fetched))
    if tree is None:
        return "", ""
    document = trafilatura.bare_extraction(
        tree, url=fetched.url, favor_recall=True, include_comments=True, include_tables=True
    )
    title = (tree.findtext(".//title") or "").strip()
    if isinstance(document, Document) and document.text and document.text.strip():
        comments = f"\n\n{document.comments}" if document.comments else ""
        return title or document.title or "", f"{document.text}{comments}"
    return title, trafilatura.html2txt(_decode_html(fetched))


def _decode_html(fetched: Fetched) -> str | bytes:
    # Without a charset in the header, a <meta> inside the page may name it.
    return _decode(fetched) if _CHARSET.search(fetched.content_type) else fetched.body
