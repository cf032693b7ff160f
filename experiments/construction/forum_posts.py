"""The posts of a forum thread, read from its page: by structured data, else by the blocks that repeat.

An article extractor keeps one text and loses half of a thread. A thread is the reverse: blocks of one form, in each of
which most of the text is unlike that of the others.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import count

import lxml.html  # type: ignore[import-untyped]
from lxml.etree import ParserError  # type: ignore[import-untyped]

from toolablate.traces.errors import InputError

_DROPPED = ("script", "style", "template", "svg", "iframe", "select", "textarea", "button", "head", "nav")
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "dd",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "li",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
_MOST_NODES = 200_000


def posts_of(page: str) -> list[str]:
    """The text of each post, in the order of the page; lines where the page breaks them. [] where nothing repeats.

    Raises InputError for a page without elements, or with more than 200,000."""
    try:
        root = lxml.html.document_fromstring(page.replace("\0", ""))
    except (ParserError, ValueError):
        raise InputError("the page has no elements", code="empty_page") from None
    drop_what_is_no_text(root)
    nodes = [each for each in root.iter() if isinstance(each.tag, str)]
    if len(nodes) > _MOST_NODES:
        raise InputError(
            f"the page has {len(nodes):,} elements", hint=f"at most {_MOST_NODES:,}", code="page_too_large"
        )
    marked = _marked(root)
    found = marked if len(marked) > 1 else _best(nodes) or marked
    return [text for element in found if (text := text_of(element))]


def drop_what_is_no_text(root: lxml.html.HtmlElement) -> None:
    for element in list(root.iter(*_DROPPED)):
        element.drop_tree()


def _marked(root: lxml.html.HtmlElement) -> list[lxml.html.HtmlElement]:
    """By schema.org's microdata."""
    return [*root.xpath("//*[@itemprop='text' or @itemprop='articleBody' or @itemprop='commentText']")]


# Blocks of one form.

# What forums call what was written, and what they call what stands around it.
_WRITTEN = re.compile(r"(?:post|message|msg|comment|reply|answer|content|body|text|cooked|entry|prose)(?:s|text|body)?")
_AROUND = re.compile(
    r"(?:sig|signature|quote|user|author|profile|avatar|member|related|similar|side|sidebar|nav|navigation|foot|footer|"
    r"head|header|menu|meta|info|details|title|button|tool|like|react|share|edit|ad|ads|advert|breadcrumb|poll|online)s?"
)
_APART = re.compile(r"(?:.*[-_])?(?:signature|sig|(?:block|forum|bbcode)?-?quoted?(?:box|[-_]+.*)?)")
_SIGNATURE = re.compile(r"(?:.*[-_])?(?:signature|sig)")
_BLANK = "\0"
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\s\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese put no blanks between their words, of which most have two signs."""
_NEAR = 0.7
"""Of the best group's worth: of those that come so near it the one is taken of whose text most is worth something."""

Group = Sequence[lxml.html.HtmlElement]


def _names(element: lxml.html.HtmlElement) -> list[str]:
    """Its classes, without numbers, which differ from post to post; none of a comment."""
    if not isinstance(element.tag, str):
        return []
    return sorted({re.sub(r"\d+", "#", each.lower()) for each in (element.get("class") or "").split()})


def _groups(nodes: Sequence[lxml.html.HtmlElement]) -> Iterator[tuple[str, Group]]:
    """Elements of one tag that share their classes, one class or their place, of which none is within another; two at
    least, each group once. What is quoted, a signature or beside the thread is no member."""
    by_form: defaultdict[str, list[lxml.html.HtmlElement]] = defaultdict(list)
    ids: defaultdict[lxml.html.HtmlElement | None, int] = defaultdict(count().__next__)
    places = {child: place for each in nodes for place, child in enumerate(each)}
    for each in nodes:
        if each.tag not in _BLOCKS or each.tag in ("hr", "p", "blockquote") or _is_around(each):
            continue
        names, above = _names(each), each.getparent()
        for form in {" ".join(names), *names}:
            by_form[f"{each.tag} {form}"].append(each)
        if re.search(r"\d", each.get("id") or ""):
            by_form[f"{each.tag} {re.sub(r'[0-9a-f]*[0-9][0-9a-f]*', '#', each.get('id'))}"].append(each)
        # Pages without classes: the children of one element, and what has one place in each of these.
        by_form[f"{each.tag} #{ids[above]}"].append(each)
        if above is not None and above.getparent() is not None:
            by_form[f"{each.tag} #{ids[above.getparent()]} {above.tag} {places[each]}"].append(each)
    known = set()
    for form, group in by_form.items():
        members = set(group)
        outer = tuple(each for each in group if not any(above in members for above in each.iterancestors()))
        if len(outer) > 1 and outer not in known:
            known.add(outer)
            yield form, outer


def _is_around(element: lxml.html.HtmlElement) -> bool:
    return any(
        each.tag in ("blockquote", "aside", "footer") or any(map(_APART.fullmatch, _names(each)))
        for each in (element, *element.iterancestors())
    )


def _best(nodes: Sequence[lxml.html.HtmlElement]) -> Group:
    worth = {group: _worth(form, group) for form, group in _groups(nodes)}
    best = max(worth, key=lambda group: worth[group], default=())
    if not best or worth[best] <= 0:
        return ()
    near = [group for group, value in worth.items() if value >= _NEAR * worth[best]]
    return max(near, key=lambda group: worth[group] / sum(len(each.text_content()) for each in group))


def _worth(form: str, group: Group) -> float:
    """Signs of text of its own, less those that several blocks repeat: a block with a panel on its writer is worth less
    than what was written. Single words and links alone say little."""
    parts = [_parts(each) for each in group]
    # Numbers differ from panel to panel: "Posts: 7", "Joined: 3 May 2019".
    members = Counter(text for own in parts for text in {_DIGITS.sub("#", text) for text, _ in own})
    times = Counter(text for own in parts for text, _ in own)
    common = max(2.0, 0.2 * len(group))
    worth = 0.0
    for own in parts:
        for text, linked in own:
            if members[_DIGITS.sub("#", text)] > common:
                worth -= 3 * len(text) + 5
            elif times[text] > common:
                worth -= len(text)
            else:
                worth += 0.1 * len(text) if linked or len(_WORD.findall(text)) < 4 else len(text)
    if worth <= 0:
        return worth
    words = re.split(r"[^a-z]+", form.partition(" ")[2])
    hint = 1.3 if any(map(_WRITTEN.fullmatch, words)) else 1.0
    return worth * _evenness(parts) * (0.4 * hint if any(map(_AROUND.fullmatch, words)) else hint)


def _evenness(parts: Sequence[Sequence[tuple[str, bool]]]) -> float:
    """1 - 1/n of the effective number n of blocks by the logarithms of their lengths: what holds the whole thread
    stands beside little, and counts as one."""
    sizes = [math.log1p(sum(len(text) for text, _ in own)) for own in parts]
    squares = sum(size * size for size in sizes)
    return 1 - squares / sum(sizes) ** 2 if squares else 0.0


def _parts(element: lxml.html.HtmlElement) -> list[tuple[str, bool]]:
    """Its stretches of text, and whether each is a link's."""
    links = {" ".join(link.text_content().split()) for link in element.iter("a")}
    return [(said, said in links) for text in element.itertext() if (said := " ".join(text.split()))]


def _is_below(element: lxml.html.HtmlElement) -> bool:
    """What stands below a post: a signature, what can be done with it."""
    return element.tag == "footer" or any(_SIGNATURE.fullmatch(name) for name in _names(element))


def text_of(element: lxml.html.HtmlElement) -> str:
    """Its text, with an end of line where a block begins or ends."""
    pieces: list[str] = []

    def walk(node: lxml.html.HtmlElement, mark: str = "* ") -> None:
        block = node.tag in _BLOCKS
        if block or node.tag == "br":
            pieces.append("\n")
        if node.tag == "li":
            pieces.append(mark)
        if isinstance(node.tag, str):
            pieces.append(_flat(node.text, node))
            number = 0
            for child in node:
                number += child.tag == "li"
                if not _is_below(child):
                    walk(child, f"{number}. " if node.tag == "ol" else "* ")
                pieces.append(_flat(child.tail, node))
        if block:
            pieces.append("\n")

    walk(element)
    lines = (line.strip(" ") for line in re.sub(" +", " ", "".join(pieces)).split("\n"))
    # Blanks in programs and tables of plain text mean something.
    kept = (line.replace(_BLANK, " ").rstrip() for line in lines)
    return "\n".join(line for line in kept if line)


def _flat(text: str | None, parent: lxml.html.HtmlElement) -> str:
    if text is None:
        return ""
    preformatted = any(each.tag == "pre" for each in (parent, *parent.iterancestors()))
    return text.replace(" ", _BLANK) if preformatted else re.sub(r"\s+", " ", text)
