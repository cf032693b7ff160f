"""The posts of a forum thread, read from its page: by structured data, else by the blocks that repeat.

An article extractor keeps one text and loses half of a thread. A thread is the reverse: blocks of one form, in each of
which most of the text is unlike that of the others.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, islice, takewhile
from urllib.parse import unquote

import lxml.html  # type: ignore[import-untyped]
from lxml.etree import ParserError  # type: ignore[import-untyped]
from lxml.html import HtmlElement as Element
from lxml.html.defs import block_tags  # type: ignore[import-untyped]

from toolablate.experiments.construction.personal_data import without_personal_data
from toolablate.experiments.construction.sources.notation import scripted
from toolablate.traces.errors import InputError

_STRUCK = ("s", "strike", "del")
_DROPPED = ("script", "style", "template", "svg", "iframe", "select", "textarea", "button", "head", "nav", *_STRUCK)
_UNSAID_STYLE = re.compile(r"display\s*:\s*none|line-through", re.IGNORECASE)
_NAMED_BLOCKS = block_tags - {"del", "ins"} | {
    *("article", "aside", "details", "figure", "footer", "header", "main", "section", "summary")
}
_MOST_NODES = 200_000


def _is_block(tag: object) -> bool:
    """Elements of a page's own, whose tags have a hyphen, are what newer forums make posts of."""
    return isinstance(tag, str) and (tag in _NAMED_BLOCKS or "-" in tag)


Group = Sequence[Element]
Sums = Mapping[Element, int]


def posts_of(page: str) -> list[str]:
    """The text of each post, in the order of the page; lines where the page breaks them. [] where nothing repeats.

    Raises InputError for a page without elements, or with more than 200,000."""
    try:
        root = lxml.html.document_fromstring(page.replace("\0", ""))
    except (ParserError, ValueError):
        raise InputError("the page has no elements", code="empty_page") from None
    title = _said(root.findtext(".//title") or "")
    drop_what_is_not_said(root)
    nodes = [each for each in root.iter() if isinstance(each.tag, str)]
    if len(nodes) > _MOST_NODES:
        raise InputError(
            f"the page has {len(nodes):,} elements", hint=f"at most {_MOST_NODES:,}", code="page_too_large"
        )
    prose = _sums(nodes, lambda text: len(text) if _is_prose(text) else 0)
    marked = _marked(root)
    found = marked if len(marked) > 1 else _best(nodes, prose) or marked
    if sum(prose[each] for each in found) < prose[nodes[0]] / 2 and _between_rules(root):
        nodes = [each for each in root.iter() if isinstance(each.tag, str)]
        prose = _sums(nodes, lambda text: len(text) if _is_prose(text) else 0)
        found = _best(nodes, prose)
    only = [] if len(marked) > 1 else _only_post(nodes, found, marked, prose)
    if only:
        return [text for text in map(_text, only) if text]
    opening = [_text(each) for each in _opening(nodes, found, title, prose)]
    return [text for text in [*opening, *_without_frame(list(map(_text, found)))] if text]


def _between_rules(root: Element) -> bool:
    """Where old pages put posts side by side with a rule between two, each is made a block. Whether there are any."""
    found = [each for each in root.iter() if len(each.findall("hr")) > 1]
    for parent in found:
        blocks = [lxml.html.Element("div")]
        parent.text, blocks[0].text = None, parent.text
        for child in list(parent):
            if child.tag == "hr":
                child.addprevious(blocks[-1])
                blocks.append(lxml.html.Element("div"))
                child.tail, blocks[-1].text = None, child.tail
            else:
                blocks[-1].append(child)
        parent.append(blocks[-1])
        heads = [head for head in map(_head_of, blocks) if head is not None]
        # A line in bold that nearly all begin with has who wrote it, and when.
        for head in heads if len(heads) > 0.8 * sum(bool(_said(block.text_content())) for block in blocks) else ():
            head.drop_tree()
    return bool(found)


def _head_of(block: Element) -> Element | None:
    """What is bold, or a title, and has a line of its own before all that is said in the block."""
    for child in block:
        if _said(block.text or "") or child.tag in ("br", "hr"):
            return None
        if _said(child.text_content()):
            after = child.getnext()
            alone = not _said(child.tail or "") and after is not None and after.tag in ("br", "p")
            return child if alone and child.tag in ("b", "strong", "font", "h3", "h4", "h5") else None
        if _said(child.tail or ""):
            return None
    return None


def _text(element: Element) -> str:
    """phpBB 2 and vBulletin 3 begin a signature with a line of underscores, mails with two hyphens."""
    return re.split(r"(?m)^(?:_{8,}|--)$(?=(?:\n.*){1,6}\Z)", text_of(element), maxsplit=1)[0].rstrip("\n")


_ADDRESS_BEHIND = re.compile(r" \((?:https?:)?//\S+\)\Z")


def _without_frame(posts: list[str]) -> list[str]:
    """What nearly all posts end with is the forum's: "Reply"."""
    # The address of a "Reply" differs from post to post.
    bare = [_ADDRESS_BEHIND.sub("", post) for post in posts]
    last = Counter(post.rpartition("\n")[2] for post in bare).most_common(1)
    if not last or last[0][1] <= max(2, 0.8 * len(posts)) or not re.search(r"\w\w", last[0][0]):
        return posts
    frame = last[0][0]
    both = zip(posts, bare, strict=True)
    return [ends.removesuffix(frame).rstrip("\n") if ends.endswith(frame) else post for post, ends in both]


def drop_what_is_not_said(root: Element) -> None:
    """Nor what a reader does not see, or sees struck out."""
    for element in list(root.iter(*_DROPPED)):
        element.drop_tree()
    for element in root.xpath(".//*[@hidden or @style][not(self::body)]"):
        if "hidden" in element.attrib or _UNSAID_STYLE.search(element.get("style", "")):
            element.drop_tree()


def _marked(root: Element) -> list[Element]:
    """By schema.org's microdata; none is within another."""
    marked = "@itemprop='text' or @itemprop='articleBody' or @itemprop='commentText'"
    return [*root.xpath(f"//*[{marked}][not(ancestor::*[{marked}])]")]


# The first post, and what is in one block only.

# What engines call the text of one post, by class or id: "post_message_7", "postbody", "bbWrapper".
_BODY = re.compile(
    r"(?:js-|p-|lia-|ips|md-)?(?:forum|thread|user|entry|single)?[-_]?(?:post|message|msg|comment|question|topic)[-_]*"
    r"(?:body|content|contents|text|msg|message|inner|prose)(?:[-_]*#)?"
    r"|msg_#|cooked|bbwrapper|s-prose|usertext-body|ipstype_richtext|markdown-body|entry-content"
)
_POST = re.compile(r"(?:forum|thread)?[-_]?(?:post|message|msg|comment)[-_]*#?")


def _only_post(nodes: Sequence[Element], found: Group, marked: Group, prose: Sums) -> Group:
    """The post of a thread that has one only, where the page says plainly which block it is; what else repeats there
    are then parts of the page. () where it does not, or where there may be others."""
    around = _around(nodes)
    talking = [each for each in nodes if _is_block(each.tag) and prose[each] and each not in around]
    named = [each for each in talking if any(map(_BODY.fullmatch, _called(each)))]
    loosely = [each for each in talking if each.tag == "article" or any(map(_POST.fullmatch, _called(each)))]
    for group in (marked, _innermost(named), _innermost(loosely)):
        if len(group) == 1:
            only = _narrowed(group[0], prose)
            within = {only, *only.iterancestors()}
            others = [each for each in found if each not in within and only not in each.iterancestors()]
            words = re.split(r"[^a-z]+", " ".join(name for each in others for name in _called(each)))
            if any(map(_WRITTEN.fullmatch, words)):
                return ()
            places = {each: place for place, each in enumerate(nodes)}
            # No reply stands before the first post: what stands before and behind it is the page's frame.
            frame = {places[each] < places[only] for each in others} == {False, True} and all(
                prose[each] < prose[only] for each in others
            )
            in_one = len(others) < len(found) or not found
            return [only] if in_one or frame or prose[only] > sum(prose[each] for each in others) else ()
        if group:
            return ()
    return ()


def _called(element: Element) -> list[str]:
    own = re.sub(r"\d+", "#", (element.get("id") or "").lower())
    return [*_names(element), *([own] if own else [])]


def _innermost(group: Sequence[Element]) -> list[Element]:
    above = {other for each in group for other in each.iterancestors()}
    return [each for each in group if each not in above]


def _opening(nodes: Sequence[Element], found: Sequence[Element], title: str, prose: Sums) -> list[Element]:
    """The first post, where its form is another than that of the replies: the block between the thread's title and the
    first reply that has most of the prose there."""
    above = set(found[0].iterancestors()) if found else set()
    before = list(takewhile(lambda each: each is not found[0], nodes)) if found else []
    named, begin = max(((_titled(each, title), place) for place, each in enumerate(before)), default=(0, 0))
    between = {each for each in before[begin + 1 :] if each not in above} if named > 3 else set()
    tops = [each for each in between if each.getparent() not in between]
    most = max(tops, key=lambda each: prose[each], default=None)
    if most is None or prose[most] < 0.75 * sum(prose[each] for each in tops):
        return []
    # Of rows that differ in numbers alone ("3 likes for post 7"), one counts.
    said = {_DIGITS.sub("#", text) for text, linked in _parts(most) if not linked and _is_prose(text)}
    # "Asked 5 months ago, modified today, viewed 23k times" is no sentence.
    is_post = sum(map(len, said)) >= _LEAST_OPENING and any(map(_SENTENCE.search, said))
    return [_narrowed(most, prose)] if is_post else []


def _titled(element: Element, title: str) -> int:
    """How many signs of the page's title stand in it."""
    own = [_said(text or "") for text in (element.text, *(child.tail for child in element))]
    known = (each if each in title else title for each in own if each in title or title in each)
    return max(map(len, known), default=0)


def _narrowed(element: Element, prose: Sums) -> Element:
    """The innermost block that has nearly all of its prose."""
    least, inner = 0.9 * prose[element], element
    while inner is not None and inner.tag != "p":
        element = inner if _is_block(inner.tag) else element
        inner = next((child for child in inner if prose.get(child, 0) >= least), None)
    return element


def _sums(nodes: Sequence[Element], weight: Callable[[str], int]) -> Sums:
    """The weight of the text in each element; that of links counts nothing."""
    sums: dict[Element, int] = {}
    for each in reversed(nodes):
        within = sum(weight(child.tail or "") + sums.get(child, 0) for child in each)
        sums[each] = 0 if each.tag == "a" else weight(each.text or "") + within
    return sums


def _is_prose(text: str) -> bool:
    return len(_WORD.findall(text)) >= 4


# Blocks of one form.

# What forums call what was written, and what they call what stands around it.
_WRITTEN = re.compile(
    r"(?:post|message|msg|comment|reply|answer|content|body|text|cooked|entry|prose)"
    r"(?:s|text|body|msg|message|content)?"
)
_AROUND = re.compile(
    r"(?:sig|signature|quote|user|author|profile|avatar|member|related|similar|side|sidebar|nav|navigation|foot|footer|"
    r"head|header|menu|meta|info|details|title|button|tool|like|react|share|edit|ad|ads|advert|breadcrumb|poll|online)s?"
)
_APART = re.compile(r"(?:.*[-_])?(?:signature|sig|(?:block|forum|bbcode)?-?quoted?(?:box|[-_]+.*)?)")
_SIGNATURE = re.compile(r"(?:.*[-_])?(?:signature|sig)")
_BLANK = "\0"
_SIGN = re.compile(r"[^\W_]")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]{1,2}|[^\s\u3040-\u30ff\u3400-\u9fff]+")
"""Chinese and Japanese put no blanks between their words, of which most have two signs."""
_SENTENCE = re.compile(r"[.?!…][\"'”’)]*(?:\s|$)|[。？！]")
_LEAST_OPENING = 60
"""Signs."""
_OFTEN = 2
"""Times."""
_NEAR, _NEAR_WITHIN = 0.8, 0.33
"""Of the best group's worth: of those that come so near it the one is taken of whose text most is worth something. What
is named as what was written, each in another block of the best, may be further from it: in threads of three posts the
cards of users and remarks are no more alike than posts."""


def _names(element: Element) -> list[str]:
    """Its classes, without numbers, which differ from post to post; none of a comment."""
    if not isinstance(element.tag, str):
        return []
    return sorted({re.sub(r"\d+", "#", each.lower()) for each in (element.get("class") or "").split()})


def _groups(nodes: Sequence[Element]) -> Iterator[tuple[str, Group]]:
    """Elements of one tag that share their classes, one class or their place, of which none is within another; two at
    least, each group once, and the name it has. What is quoted, a signature or beside the thread is no member."""
    by_form: defaultdict[str | tuple[object, ...], list[Element]] = defaultdict(list)
    ids: defaultdict[Element | None, int] = defaultdict(count().__next__)
    places = {child: place for each in nodes for place, child in enumerate(each)}
    around = _around(nodes)
    for each in nodes:
        if not _is_block(each.tag) or each.tag in ("hr", "p", "blockquote") or each in around:
            continue
        names, above = _names(each), each.getparent()
        for form in dict.fromkeys([" ".join(names), *names]):
            by_form[f"{each.tag} {form}"].append(each)
        if re.search(r"\d", each.get("id") or ""):
            by_form[f"{each.tag} {re.sub(r'[0-9a-f]*[0-9][0-9a-f]*', '#', each.get('id'))}"].append(each)
        # Pages without classes: the children of one element, and what has one place in each of these.
        by_form[each.tag, ids[above]].append(each)
        if above is not None and above.getparent() is not None:
            by_form[each.tag, ids[above.getparent()], above.tag, places[each]].append(each)
        if not names:
            by_form[_path(each, places),].append(each)
    known = set()
    for key, group in by_form.items():
        members = set(group)
        outer = tuple(each for each in group if not any(above in members for above in each.iterancestors()))
        if len(outer) > 1 and outer not in known:
            known.add(outer)
            yield key if isinstance(key, str) else "", outer


def _path(element: Element, places: Mapping[Element, int]) -> str:
    """Its place in the nearest element with a class: tables within tables name their rows alone."""
    steps = []
    for each in islice((element, *element.iterancestors()), 6):
        names = _names(each)
        steps.append(f"{each.tag} {' '.join(names) or places.get(each, 0)}")
        if names:
            break
    return " in ".join(steps)


def _around(nodes: Sequence[Element]) -> set[Element]:
    """Quotes, signatures and what stands beside the thread, with all that is in them. None of these has half of the
    page's text, whatever its name."""
    sizes = _sums(nodes, len)
    around: set[Element] = set()
    for each in nodes:
        named = each.tag in ("blockquote", "aside", "footer") or any(map(_APART.fullmatch, _names(each)))
        if each.getparent() in around or (named and sizes[each] <= sizes[nodes[0]] / 2):
            around.add(each)
    return around


def _best(nodes: Sequence[Element], prose: Sums) -> Group:
    worth = {group: _worth(form, group) for form, group in _groups(nodes)}
    best = max(worth, key=lambda group: worth[group], default=())
    if not best or worth[best] <= 0:
        return ()
    near = [
        group
        for group, value in worth.items()
        if value >= (_NEAR_WITHIN if _are_named_within(group, best) else _NEAR) * worth[best]
    ]
    group = max(near, key=lambda group: worth[group] / sum(len(each.text_content()) for each in group))
    talking = [each for each in group if prose[each]]
    return [_narrowed(talking[0], prose)] if len(talking) == 1 else group


def _are_named_within(group: Group, best: Group) -> bool:
    members = set(best)
    above = [next((each for each in one.iterancestors() if each in members), None) for one in group]
    named = all(any(map(_WRITTEN.fullmatch, re.split(r"[^a-z]+", " ".join(_names(one))))) for one in group)
    return named and None not in above and len(set(above)) == len(group)


def _worth(form: str, group: Group) -> float:
    """Signs of text of its own, less those that several blocks repeat: a block with a panel on its writer is worth less
    than what was written. Single words and links alone say little."""
    parts = [_parts(each) for each in group]
    # Numbers differ from panel to panel: "Posts: 7", "Joined: 3 May 2019".
    members = Counter(text for own in parts for text in {_DIGITS.sub("#", text) for text, _ in own})
    times = Counter(text for own in parts for text, _ in own)
    talking = sum(any(_is_prose(text) and not linked for text, linked in own) for own in parts)
    common = max(2.0, 0.2 * talking)
    worth = 0.0
    for own in parts:
        # What a block says several times in one form is of panels on those who wrote within it, or of a log.
        often = Counter(_DIGITS.sub("#", text) for text, _ in own)
        for text, linked in own:
            if members[_DIGITS.sub("#", text)] > common:
                worth -= 3 * len(text) + 5
            elif times[text] > common:
                worth -= len(text)
            elif often[_DIGITS.sub("#", text)] > _OFTEN:
                continue
            elif linked or not _is_prose(text):
                worth += 0.1 * len(text)
            else:
                worth += len(text)
    if worth <= 0:
        return worth
    words = re.split(r"[^a-z]+", form.partition(" ")[2])
    hint = 1.3 if any(map(_WRITTEN.fullmatch, words)) else 1.0
    hint *= math.sqrt(talking / len(group))
    return worth * _evenness(parts) * (0.4 * hint if any(map(_AROUND.fullmatch, words)) else hint)


def _evenness(parts: Sequence[Sequence[tuple[str, bool]]]) -> float:
    """1 - 1/n of the effective number n of blocks by the logarithms of their lengths: what holds the whole thread
    stands beside little, and counts as one."""
    sizes = [math.log1p(sum(len(text) for text, _ in own)) for own in parts]
    squares = sum(size * size for size in sizes)
    return 1 - squares / sum(sizes) ** 2 if squares else 0.0


def _parts(element: Element) -> list[tuple[str, bool]]:
    """Its stretches of text with a letter or digit, and whether each is a link's."""
    links = {_said(link.text_content()) for link in element.iter("a")}
    return [(said, said in links) for text in element.itertext() if _SIGN.search(said := _said(text))]


def _said(text: str) -> str:
    return " ".join(text.split())


def _is_below(element: Element) -> bool:
    """What stands below a post: a signature, what can be done with it."""
    return element.tag == "footer" or any(_SIGNATURE.fullmatch(name) for name in _names(element))


PICTURE = "[picture]"
_CELL = "\t"
_QUOTE = re.compile(r"(?:(?:block|forum|bbcode)[-_]?)?quoted?(?:box|content|[-_]container)?|bbcodeblock--quote")
_NO_CONTENT = re.compile(r"emoji|smil(?:ey|ie)|emoticon|avatar|icons?\b|symbol|sprite|spacer|\brank", re.IGNORECASE)
_SMALL = 40
"""Pixels: emoticons, flags and icons."""


def text_of(element: Element, *, quotes_marked: bool = False) -> str:
    """Its text, with an end of line where a block begins or ends. A picture leaves a mark, cells of a row stand side by
    side, a link has its address behind it unless it says it; what is raised or lowered is written as `scripted` says.
    Lines that are quoted begin with "> " where that is wanted."""
    pieces: list[str] = []
    addresses: set[str] = set()

    def walk(node: Element, mark: str = "* ", quoted: bool = False, tabled: bool = False) -> None:
        quotes = quotes_marked and node is not element and not quoted and _is_quote(node, element)
        if tabled and (cells := _cells(node)):
            pieces.extend(("\n", _CELL.join(cells), "\n"))
            return
        begin = len(pieces)
        block = quotes or _is_block(node.tag)
        if block or node.tag == "br":
            pieces.append("\n")
        pieces.append(_mark_of(node, mark))
        if isinstance(node.tag, str):
            pieces.append(_flat(node.text, node))
            number = 0
            for child in node:
                number += child.tag == "li"
                if not _is_below(child):
                    mark = f"{number}. " if node.tag == "ol" else "* "
                    walk(child, mark, quoted or quotes, tabled or child.tag == "table")
                pieces.append(_flat(child.tail, node))
        if node.tag in _REWRITTEN:
            pieces[begin:] = [_rewritten(node, "".join(pieces[begin:]), pieces, begin, addresses)]
        if quotes:
            pieces[begin:] = ["\n", *(f"> {line}\n" for line in _lines("".join(pieces[begin:])) if line)]
        elif block:
            pieces.append("\n")

    walk(element, mark="")
    # Blanks in programs and tables of plain text mean something.
    kept = (line.replace(_BLANK, " ").rstrip() for line in _lines("".join(pieces)))
    return "\n".join(line for line in kept if line)


_SCRIPTS = {"sup": "^", "sub": "_"}
_REWRITTEN = {*_SCRIPTS, "a"}


def _rewritten(node: Element, said: str, pieces: list[str], begin: int, addresses: set[str]) -> str:
    return _link(node, said, addresses) if node.tag == "a" else _script(node, said, pieces, begin)


_NUMBER = re.compile(r"\s*[+\u2212-]?\d+\s*")
_BASE = re.compile(r"(?<![\w.,])(?:\d+(?:[.,]\d+)*|[^\W\d_]) +$")
_LONGEST_BASE = 40


def _script(node: Element, said: str, pieces: list[str], begin: int) -> str:
    """What is of several lines, or stands beside nothing, is small print; but a number behind a number or a single
    letter is of that, and the blank between them goes. What stands before is `pieces`, up to `begin`."""
    if not said:
        return said
    left, right = next((pieces[at][-1] for at in range(begin - 1, -1, -1) if pieces[at]), " "), (node.tail or " ")[0]
    if node.tag == "sup" and said.strip() == "o" and left.isdecimal():
        return "°"
    # What a sign follows without a blank is of that: "2 ¹⁴C".
    if left == " " and not right.isalnum() and _NUMBER.fullmatch(said) and _BASE.search(_end(pieces, begin)):
        _take_blanks(pieces, begin)
    elif "\n" in said.strip() or (left.isspace() and right.isspace()):
        return said
    return scripted(_SCRIPTS[node.tag], said, right)


def _end(pieces: Sequence[str], begin: int) -> str:
    """The last signs before `begin`: not all is joined for each script."""
    end = ""
    for at in range(begin - 1, -1, -1):
        if len(end) >= _LONGEST_BASE:
            break
        end = pieces[at][-_LONGEST_BASE:] + end
    return end


def _take_blanks(pieces: list[str], begin: int) -> None:
    for at in range(begin - 1, -1, -1):
        pieces[at] = pieces[at].rstrip(" ")
        if pieces[at]:
            break


_OF_THE_WEB = re.compile(r"(?:https?:)?//(?=\S)", re.IGNORECASE)
_LEFT_UNSAID = re.compile(r"^(?:https?:)?//(?:www\.)?|^www\.|/$")
_CUT = re.compile(r"\s*(?:\u2026|\.{3})\s*")


def _link(node: Element, said: str, told: set[str]) -> str:
    """With its address behind it, unless the text is one; in its place where it is the address cut short. Each address
    once, and none of pictures, of people, or within the forum where it is written so."""
    text, address = _said(said), (node.get("href") or "").strip()
    known = address in told or node.find(".//img") is not None
    if known or not _OF_THE_WEB.match(address) or not _SIGN.search(text):
        return said
    told.add(address)
    address = f"https:{address}" if address.startswith("//") else address
    shown, meant = (_LEFT_UNSAID.sub("", unquote(each).casefold()) for each in (text, address))
    begin, *end = _CUT.split(shown, maxsplit=1)
    if end and meant.startswith(begin) and meant.endswith(end[0]):
        return said.replace(said.strip(), address)
    rest = said.rstrip()
    says_it = meant in shown or _OF_THE_WEB.match(text)
    of_people = text.startswith("@") or without_personal_data(address) != address
    return said if says_it or of_people else f"{rest} ({address}){said[len(rest) :]}"


def _mark_of(node: Element, of_item: str) -> str:
    if node.tag == "img" and _is_content(node):
        return f" {PICTURE} "
    return of_item if node.tag == "li" else ""


def _cells(row: Element) -> list[str]:
    """The texts of a row's cells. None of what is no row of several, or has cells of several lines, as layout has."""
    cells = [each for each in row if each.tag in ("td", "th")] if row.tag == "tr" else []
    lines = (sum(1 for _ in islice(_breaks(cell), 2)) for cell in cells)
    return [text_of(cell) for cell in cells] if len(cells) > 1 and all(count <= 1 for count in lines) else []


def _breaks(cell: Element) -> Iterator[Element]:
    return (each for each in cell.iterdescendants() if each.tag == "br" or _is_block(each.tag))


def _lines(text: str) -> list[str]:
    return [line.strip(" ") for line in re.sub(" +", " ", text).split("\n")]


def _is_quote(node: Element, post: Element) -> bool:
    """What has all that the post says is none: vBulletin 4 makes each post a blockquote."""
    named = node.tag == "blockquote" or (_is_block(node.tag) and any(map(_QUOTE.fullmatch, _names(node))))
    return named and _said(node.text_content()) != _said(post.text_content())


def _is_content(picture: Element) -> bool:
    """Neither an emoticon nor what forums decorate posts with."""
    named = _NO_CONTENT.search(f"{picture.get('class', '')} {picture.get('src', '')[:500]}")
    sides = [int(side) for name in ("width", "height") if (side := picture.get(name, "")).isdecimal()]
    return not named and not any(side <= _SMALL for side in sides)


def _flat(text: str | None, parent: Element) -> str:
    if text is None:
        return ""
    preformatted = any(each.tag == "pre" for each in (parent, *parent.iterancestors()))
    return text.replace(" ", _BLANK) if preformatted else re.sub(r"\s+", " ", text)
