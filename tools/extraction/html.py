"""From HTML to text: trafilatura's main content, and resiliparse's where that finds too little."""

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from typing import Any

from toolablate.tools.extraction.kinds import ExtractionOptions, Unreadable, decode
from toolablate.tools.extraction.links import PageOutline, key_of, links_in, outline
from toolablate.tools.text import one_line, plain_text
from toolablate.traces.records import PageText

_DATES = (
    "article:published_time", "og:article:published_time", "datepublished", "date", "pubdate", "publishdate",
    "publish-date", "publish_date", "dc.date", "dc.date.issued", "dcterms.created", "dcterms.issued",
    "parsely-pub-date", "sailthru.date", "citation_publication_date", "citation_date", "og:release_date",
    "weibo: article:create_at",
)  # fmt: skip
_JSON_DATE = re.compile(r'"datePublished"\s*:\s*"([^"\\]{4,40})"')
_DAY = re.compile(
    r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?(?:[T ]+(\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)


def title_of(tree: Any) -> str:
    """By its <title>, else by what it gives to others, else by its first heading."""
    title = tree.find(".//head/title")
    title = tree.find(".//title") if title is None else title
    found = ["".join(title.itertext())] if title is not None else []
    found += [content for name, content in _metas(tree) if name in ("og:title", "twitter:title")]
    found += ["".join(heading.itertext()) for heading in tree.iterfind(".//h1")]
    return next((text.strip() for text in found if text.strip()), "")


def description_of(tree: Any) -> str:
    """What a page says that it is about, empty where it does not."""
    metas = [] if tree is None else _metas(tree)
    return next((said for name, said in metas if name in ("description", "og:description") and said.strip()), "")


def published_at(tree: Any) -> str:
    """As ISO 8601, empty where it is not said in a way that can be read. A hint, as all that a page says of itself."""
    metas = dict(reversed([*_metas(tree)]))
    said = [metas[name] for name in _DATES if name in metas]
    for script in tree.iterfind(".//script[@type='application/ld+json']"):
        said += _JSON_DATE.findall(script.text or "")
    for element in tree.iter("time"):
        if element.get("pubdate") is not None or element.get("itemprop") == "datePublished":
            said.append(element.get("datetime") or "".join(element.itertext()))
    return next(filter(None, map(_iso, said)), "")


def _metas(tree: Any) -> Iterator[tuple[str, str]]:
    for meta in tree.iter("meta"):
        name = meta.get("property") or meta.get("name") or meta.get("itemprop") or ""
        yield name.lower(), meta.get("content") or ""


def _iso(text: str) -> str:
    found = _DAY.search(text.strip()[:60])
    if not found:
        return ""
    year, month, day, clock, zone = found.groups()
    written = f"{year}-{month:0>2}-{day:0>2}" + (f"T{clock}{zone or ''}" if clock else "")
    try:
        datetime.fromisoformat(written)
    except ValueError:
        return ""
    return written


# Zero-width joiners that are spelling, brought past extractors that drop every invisible character.


_JOINER = re.compile("(?<=[\u0600-\u08ff\u0900-\u0dff\u2600-\u27bf\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]")
_JOINER_REFERENCE = re.compile("&(?:(zwnj|#8204|#x200c)|zwj|#8205|#x200d);", re.IGNORECASE)
# Letters of a script that no page is written in.
_STAND_INS = {"\u200c": "\U00010300", "\u200d": "\U00010301"}
_BACK = str.maketrans({stand_in: joiner for joiner, stand_in in _STAND_INS.items()})


def joiners_hidden(html: str) -> str:
    """With a letter in the place of each joiner."""
    html = _JOINER_REFERENCE.sub(lambda reference: "\u200c" if reference[1] else "\u200d", html)
    return _JOINER.sub(lambda joiner: _STAND_INS[joiner[0]], html.translate(_BACK))


def joiners_back(text: str) -> str:
    """What `joiners_hidden` hid, character by character, so that places in the text stay what they are."""
    return text.translate(_BACK)


# The posts of threads in forums and of questions with answers, on the systems that most of them run on.


# What every thread of a system has in its source, and where its posts are; {name} tests for a class.
_SYSTEMS: tuple[tuple[tuple[str, ...], str], ...] = (
    # XenForo
    (('id="XF"', 'data-template="thread_view', "bbWrapper"), "//*[{message-body}]//*[{bbWrapper}]"),
    # vBulletin
    (("vBulletin", "showthread", "post_message_"), "//*[starts-with(@id, 'post_message_')]"),
    # phpBB
    (('id="phpbb"', "viewtopic", "postbody"), "//*[{postbody}]//div[{content}]"),
    # Discourse
    (('content="Discourse', "crawler-post"), "//*[{topic-body}]//*[{post}]"),
    # Stack Exchange
    (("schema.org/QAPage", "js-post-body", "postcell", "answercell"), "//*[{js-post-body}]"),
    # Hacker News
    (('op="item"', "hnmain", "athing", "commtext"), "//*[{commtext} or {toptext}]"),
    # Reddit
    (("comments-page", "data-fullname", "usertext-body"), "//*[{usertext-body}]//*[{md}]"),
    # Discuz
    (("Discuz!", "viewthread", "postmessage_"), "//td[starts-with(@id, 'postmessage_')]"),
    # Tieba
    (("贴吧", "p_postlist", "j_d_post_content"), "//*[{d_post_content}]"),
    # Zhihu
    (("知乎", "QuestionHeader", "AnswerItem"), "//*[{QuestionRichText}] | //*[{AnswerItem}]//*[{RichContent-inner}]"),
    # V2EX
    (("V2EX", "topic_content", "reply_content"), "//*[{topic_content} or {reply_content}]"),
    # SegmentFault
    (("思否", "answer-item", "article-content"), "//article[{article-content}]"),
)


def posts_of(html: str, tree: Any) -> str:
    """The text of the posts, in order; empty where the page is no thread that is known, or has one post only."""
    for marks, path in _SYSTEMS:
        if all(mark in html for mark in marks):
            texts = [text for post in _outermost(tree.xpath(_with_classes(path))) if (text := _post_text(post))]
            if len(texts) > 1:
                return "\n\n".join(texts)
    return ""


def _with_classes(path: str) -> str:
    opened = path.replace("{", "contains(concat(' ', normalize-space(@class), ' '), ' ")
    return opened.replace("}", " ')")


def _outermost(elements: list[Any]) -> list[Any]:
    known = set(elements)
    return [element for element in elements if not any(around in known for around in element.iterancestors())]


def _post_text(post: Any) -> str:
    from lxml.html import tostring  # type: ignore[import-untyped]
    from resiliparse.extract.html2text import extract_plain_text

    return extract_plain_text(tostring(post, encoding="unicode", with_tail=False), preserve_formatting=True).strip()


# Deep nesting taken out of HTML before anything recursive reads it.


_TAG = re.compile(r"<!--.*?(?:-->|\Z)|<(/?)([a-zA-Z][^\s/>]*)[^>]*>?", re.DOTALL)
_RAW_NAMES = ("script", "style", "textarea", "title", "xmp", "noframes")
_RAW_ENDS = {name: re.compile(rf"</{name}\b", re.IGNORECASE) for name in _RAW_NAMES}
_VOID = frozenset(
    {"area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link"}
    | {"meta", "param", "source", "track", "wbr"}
)
_INLINE = frozenset(
    {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd"}
    | {"label", "mark", "q", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "var"}
)
_HOLDERS = (_INLINE - {"a"}) | {"article", "aside", "center", "div", "fieldset", "form", "main", "nav", "section"}
# An element of the key ends those of its value that are still open around it.
_ENDS: dict[str, frozenset[str]] = {
    "li": frozenset({"p", "li"}),
    "p": frozenset({"p"}),
    "dt": frozenset({"p", "dt", "dd"}),
    "dd": frozenset({"p", "dt", "dd"}),
    "tr": frozenset({"p", "td", "th", "tr"}),
    "td": frozenset({"p", "td", "th"}),
    "th": frozenset({"p", "td", "th"}),
    "option": frozenset({"option"}),
}


def flattened(html: str, most: int) -> str:
    """`html` with no element deeper than `most`, in linear time: the text of what is taken out stays.

    What only holds others goes first, so that paragraphs and lists stay what they are.
    """
    kept: list[str] = []
    around = _Around(most)
    end = 0
    while found := _TAG.search(html, end):
        kept.append(html[end : found.start()])
        end = found.end()
        name = (found[2] or "").lower()
        if not name or name in _VOID:
            kept.append(found[0])
        elif found[1]:
            kept.append(found[0] if around.leave(name) else _gap(name))
        else:
            shown = around.enter(name)
            raw_end = _RAW_ENDS[name].search(html, end) if name in _RAW_ENDS else None
            inside = html[end : raw_end.start()] if raw_end else ""
            end += len(inside)
            kept.append(found[0] + inside if shown else _gap(name))
    kept.append(html[end:])
    return "".join(kept)


def _gap(name: str) -> str:
    return "" if name in _INLINE else " "


class _Around:
    """The elements that are open at a place, and which of them are kept."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: list[tuple[str, bool]] = []
        self._counts: Counter[str] = Counter()
        self._kept = 0

    def enter(self, name: str) -> bool:
        """Whether the element is kept."""
        ended = _ENDS.get(name, frozenset())
        while self._open and self._open[-1][0] in ended:
            self._pop()
        kept = self._kept < (self._most // 2 if name in _HOLDERS else self._most)
        self._open.append((name, kept))
        self._counts[name] += 1
        self._kept += kept
        return kept

    def leave(self, name: str) -> bool:
        """Whether the element that ends was kept; what was left open inside ends with it."""
        if not self._counts[name]:
            return False
        while True:
            last, kept = self._pop()
            if last == name:
                return kept

    def _pop(self) -> tuple[str, bool]:
        last, kept = self._open.pop()
        self._counts[last] -= 1
        self._kept -= kept
        return last, kept


# From HTML to text: trafilatura's choice of the main content, and resiliparse's where that finds too little.


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


def _parsed(html: str, most: int) -> tuple[str, Any, PageOutline]:
    """The page with no element deeper than `most`, its tree and outline."""
    from trafilatura import load_html

    tree = load_html(html)
    page = PageOutline() if tree is None else outline(tree)
    if page.depth <= most:
        return html, tree, page
    html = flattened(html, most)
    tree = load_html(html)
    page = PageOutline() if tree is None else outline(tree)
    if page.depth > _DEEPEST + 50:
        raise Unreadable("too_deep", f"its elements are nested more than {most} deep")
    return html, tree, page


def _text(html: str, tree: Any, page: PageOutline) -> tuple[str, str]:
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


def _by_trafilatura(tree: Any, page: PageOutline) -> tuple[str, bool]:
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


def _absolute(page: PageOutline, url: str) -> dict[str, str]:
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
