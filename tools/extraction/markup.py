"""From HTML to text: trafilatura's choice of the main content, and resiliparse's where that finds too little."""

import logging
import re
import unicodedata
from functools import cache
from typing import Any

from toolablate.tools.extraction.charsets import decode
from toolablate.tools.extraction.depth import flattened
from toolablate.tools.extraction.head import description_of, published_at, title_of
from toolablate.tools.extraction.joiners import joiners_back, joiners_hidden
from toolablate.tools.extraction.linking import links_in
from toolablate.tools.extraction.options import ExtractionOptions
from toolablate.tools.extraction.outline import Outline, key_of, outline
from toolablate.tools.extraction.threads import posts_of
from toolablate.tools.extraction.unreadable import Unreadable
from toolablate.tools.plain import one_line, plain_text
from toolablate.traces.records import PageText

TITLE_CHARS = 200
MOST_ELEMENTS = 30_000
"""Trafilatura is not asked about larger pages: it would take seconds."""

# Where nobody asked for logs, what it could not extract must not be written over the terminal.
logging.getLogger("trafilatura").addHandler(logging.NullHandler())

_DEEPEST = 200
"""libxml2 drops what lies deeper than 255, and flattening is not exact to the level."""
_REFERENCE = re.compile(r"&#(x[0-9a-f]+|[0-9]+);?", re.IGNORECASE)
_PROSE = {False: 40, True: 16}
"""Word characters of a stretch of text that is longer than entries of menus; of Chinese and Japanese fewer."""
_KEPT_SHARE = 0.8
_FRAMES = re.compile(r"</?(frameset|frame|noframes)\b[^>]*>", re.IGNORECASE)
_SOURCE = re.compile(r"\bsrc\s*=\s*[\"']?([^\s\"'<>]+)", re.IGNORECASE)
_LOOK, _DENSE_SHARE = 20_000, 0.3


def read_html(body: bytes, options: ExtractionOptions) -> PageText:
    """Raises Unreadable (`no_text`, `too_deep`)."""
    # With one control character in it, trafilatura gives up the whole page.
    html = joiners_hidden(plain_text(_REFERENCE.sub(_without_controls, decode(body, options.content_type))))
    html = _FRAMES.sub(_frame, html)
    html, tree, page = _parsed(html, min(options.max_depth, _DEEPEST))
    title = one_line(title_of(tree), TITLE_CHARS) if tree is not None else ""
    date = published_at(tree) if tree is not None else ""
    text, method = _text(html, tree, page)
    text = plain_text(unicodedata.normalize("NFC", text))[: options.max_chars].strip("\n")
    if not text.strip():
        raise Unreadable("no_text", "there is no readable text on this page")
    links = links_in(text, page, _absolute(page, options.url))
    return PageText(title=joiners_back(title), text=joiners_back(text), links=links, method=method, published_at=date)


def _parsed(html: str, most: int) -> tuple[str, Any, Outline]:
    """The page with no element deeper than `most`, its tree and outline."""
    from trafilatura import load_html

    tree = load_html(html)
    page = Outline() if tree is None else outline(tree)
    if page.depth <= most:
        return html, tree, page
    html = flattened(html, most)
    tree = load_html(html)
    page = Outline() if tree is None else outline(tree)
    if page.depth > _DEEPEST + 50:
        raise Unreadable("too_deep", f"its elements are nested more than {most} deep")
    return html, tree, page


def _text(html: str, tree: Any, page: Outline) -> tuple[str, str]:
    """The text, and what found it."""
    posts = posts_of(html, tree) if tree is not None else ""
    main = whole = ""
    if tree is not None and page.elements <= MOST_ELEMENTS:
        main, all_of_it = _by_trafilatura(tree, page)
        main, whole = ("", main) if all_of_it else (main, "")
    if _leaves_out_only_scraps(posts, main):
        return posts, "resiliparse"
    if main:
        return main, "trafilatura"
    other = _by_resiliparse(html)
    if _leaves_out_only_scraps(other, whole):
        return other, "resiliparse"
    if whole:
        return whole, "trafilatura"
    other = _by_resiliparse(html, whole=True)
    return (other, "resiliparse") if other.strip() else (description_of(tree), "description")


def _leaves_out_only_scraps(chosen: str, found: str) -> bool:
    """Whether a choice of another kind has nearly all the prose that trafilatura found.

    Where it does not, trafilatura's is kept: what is wanted beside some scraps is worth more than a clean text without.
    """
    kept, lines = key_of(chosen), [key_of(line) for line in found.split("\n")]
    least = _PROSE[_is_dense("".join(lines))]
    prose = [line for line in lines if len(line) >= least] or lines
    return bool(kept) and sum(len(line) for line in prose if line in kept) >= _KEPT_SHARE * sum(map(len, prose))


def _is_dense(key: str) -> bool:
    """Whether it is Chinese or Japanese, which say the same in fewer characters."""
    start = key[:_LOOK]
    return sum("\u3040" <= character <= "\u9fff" for character in start) > _DENSE_SHARE * len(start)


def _by_trafilatura(tree: Any, page: Outline) -> tuple[str, bool]:
    """With the settings of its own published evaluation; and whether it took all there is, for want of a choice."""
    import trafilatura

    document: Any = trafilatura.bare_extraction(
        tree, include_comments=False, include_tables=True, include_formatting=False, config=_config(_is_dense(page.key))
    )
    if document is None:
        return "", False
    # Only then is there a single paragraph of many lines, one for each text node.
    paragraphs = list(document.body)
    whole = len(paragraphs) == 1 and paragraphs[0].tag == "p" and "\n" in (paragraphs[0].text or "")
    return document.text.strip(), whole


@cache
def _config(dense: bool) -> Any:
    """Trafilatura's own, which asks for 250 characters."""
    from trafilatura.settings import use_config

    config = use_config()
    if dense:
        config.set("DEFAULT", "MIN_EXTRACTED_SIZE", "100")
    return config


def _by_resiliparse(html: str, *, whole: bool = False) -> str:
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(html, preserve_formatting=True, main_content=not whole, alt_texts=whole, noscript=whole)


def _absolute(page: Outline, url: str) -> dict[str, str]:
    """By href, the http(s) addresses that links lead to; jumps inside the page lead nowhere."""
    base = _joined(url, page.base) or url if page.base else url
    here = url.partition("#")[0]
    found: dict[str, str] = {}
    for href in {anchor.href for anchor in page.anchors}:
        target = _joined(base, href)
        address, jump, _ = target.partition("#")
        if target.startswith(("http://", "https://")) and not (jump and address == here):
            found[href] = target
    return found


def _joined(base: str, href: str) -> str:
    from ada_url import join_url, normalize_url

    try:
        return join_url(base, href) if base else normalize_url(href)
    except ValueError:
        return ""


def _frame(tag: re.Match[str]) -> str:
    """A page of frames is what it offers to those without, and links to its parts."""
    source = _SOURCE.search(tag[0]) if tag[1].lower() == "frame" else None
    return f'<p><a href="{source[1]}">{source[1]}</a></p>' if source else ""


def _without_controls(reference: re.Match[str]) -> str:
    digits = reference[1].lower()
    # Longer ones are beyond Unicode, and Python refuses to read numbers of thousands of digits.
    number = 0 if len(digits) > 10 else int(digits[1:], 16) if digits.startswith("x") else int(digits)
    return "" if (number < 32 and chr(number) not in "\t\n\r") or number == 127 else reference[0]
