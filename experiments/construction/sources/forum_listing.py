"""Threads on a listing page of a forum, whatever its program: the links of one form whose texts say most."""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import zip_longest
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

import lxml.html  # type: ignore[import-untyped]
from lxml.etree import ParserError  # type: ignore[import-untyped]

from toolablate.experiments.construction.sources.apart import OF_A_PAGE, apart
from toolablate.tools.extraction.kinds import decode
from toolablate.tools.text import one_line
from toolablate.tools.web import FetchError, HttpClient, follow
from toolablate.tools.web.policy import WebPolicy
from toolablate.tools.web.urls import normal_url
from toolablate.traces.errors import InputError

MOST_PAGES = 100
_SESSION = frozenset({"sid", "s", "phpsessid", "highlight"})
_FEWEST_THREADS = 3
_MOST_ROWS = 0.6
_ANY = ("*", "#")
_NEXT = re.compile(
    r"(?:next(?: page)?|older(?: threads| topics)?|weiter|nächste(?: seite)?|suivante?|下一[页頁])?\W*", re.I
)
_ARROWS = frozenset("›»→>")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_\u4e00-\u9fff]{2,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

Link: TypeAlias = lxml.html.HtmlElement
Addressed: TypeAlias = tuple[Link, str]


@dataclass(frozen=True, slots=True)
class Listed:
    """`last` is the latest day that the listing has for it in a form for machines (`<time datetime>`), None without."""

    url: str
    title: str
    last: date | None


@dataclass(frozen=True, slots=True)
class Form:
    """How a listing links to its threads: by addresses of one form, at one place of its rows. A link at that place
    counts too where its address has a word in place of a number or slug: `/t/valve`."""

    address: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """A page of one; `form` is None where no threads were recognised."""

    threads: tuple[Listed, ...]
    form: Form | None
    onward: str | None


def read_listing(page: str, url: str, known: tuple[str, Sequence[str]] | None = None) -> Listing:
    """`url` is the page's own, in normal form. `known` is the form of the pages before, as JSON has it: with it a last
    page of one or two threads is found, without it there have to be three."""
    form = None if known is None else Form(known[0], tuple(known[1]))
    root = _root(page)
    if root is None:
        return Listing((), form, None)
    for around in list(root.iter("nav", "footer", "select")):
        around.drop_tree()
    # What has the listing's own form lists threads, too.
    links = [
        (link, address)
        for link in root.iter("a")
        if (address := _address(link, url)) is not None and _said(link) and _form(address) != _form(url)
    ]
    if form is None and (form := _best(links, url)) is None:
        return Listing((), None, next_page(page, url))
    group = _group(links, form, url)
    threads = set(group.values())
    found = tuple(Listed(address, _said(link), _last(link, threads)) for address, link in group.items())
    return Listing(found, form, next_page(page, url))


def _best(links: Sequence[Addressed], url: str) -> Form | None:
    """The form of those links that say most."""
    candidates = [*_alike_in_numbers(links), *_alike_in_rows(links, url)]
    # The first of two that say as much.
    form, group = max(candidates, key=lambda each: _worth([*each[1].values()]), default=("", {}))
    if _worth([*group.values()]) <= 0:
        return None
    return Form(form, tuple(sorted(set(map(_place, group.values())))))


def _alike_in_numbers(links: Sequence[Addressed]) -> list[tuple[str, dict[str, Link]]]:
    """Links whose addresses differ in numbers and slugs, by their form."""
    groups: dict[str, list[Addressed]] = defaultdict(list)
    for link, address in links:
        groups[_form(address)].append((link, address))
    return [(form, _longest(group)) for form, group in groups.items()]


def _alike_in_rows(links: Sequence[Addressed], url: str) -> list[tuple[str, dict[str, Link]]]:
    """Links whose addresses differ in names, such as `/t/a.html` or `/t/kLmn`: they share a folder and their place in
    rows that say more than the link does, which entries of a menu do not."""
    groups: dict[tuple[str, str], list[Addressed]] = defaultdict(list)
    for link, address in links:
        form = _form_of_names(address)
        if form is not None and form != _form_of_names(url):
            groups[form, _place(link)].append((link, address))
    found = [(form, _longest(group)) for (form, _), group in groups.items()]
    return [(form, group) for form, group in found if _say_more(set(group.values()))]


def _group(links: Sequence[Addressed], form: Form, url: str) -> dict[str, Link]:
    """Each thread once, in the order of the page."""
    sure = [link for link, address in links if _form(address) == form.address]
    # Beside a thread's link its forum's or writer's may stand, of a form that differs as little.
    taken = {link.getparent() for link in sure}
    return _longest(
        [
            (link, address)
            for link, address in links
            if _form(address) == form.address
            or (
                _place(link) in form.places
                and link.getparent() not in taken
                and _differs_in_names(address, form.address)
                and not _differs_in_names(url, form.address)
            )
        ]
    )


def _longest(links: Iterable[Addressed]) -> dict[str, Link]:
    """By address the link that says most."""
    found: dict[str, Link] = {}
    for link, address in links:
        if address not in found or len(_said(link)) > len(_said(found[address])):
            found[address] = link
    return found


def next_page(page: str, url: str) -> str | None:
    """Of the listing: by `rel="next"`, else by what the link says."""
    root = _root(page)
    if root is None:
        return None
    links = [*root.xpath("//a[@href] | //link[@href]")]
    marked = [each for each in links if "next" in (each.get("rel") or "").lower().split()]
    for link in marked:
        address = _address(link, url)
        if address is not None and address != url:
            return address
    said: dict[str, set[str]] = defaultdict(set)
    for link in links:
        address = _address(link, url)
        if link.tag == "a" and _says_next(link) and address is not None and address != url:
            said[_form(address)].add(address)
    # Beside each thread there may be an arrow to its last post: those are several of one form.
    alone = [address for addresses in said.values() if len(addresses) == 1 for address in addresses]
    return alone[0] if len(alone) == 1 else None


def _root(page: str) -> lxml.html.HtmlElement | None:
    try:
        return lxml.html.document_fromstring(page.replace("\0", ""))
    except (ParserError, ValueError):
        return None


def _address(link: Link, url: str) -> str | None:
    """Where a link leads to on the same host, without fragment and session."""
    try:
        parts = urlsplit(normal_url(link.get("href") or "", url))
    except (FetchError, ValueError):
        return None
    if parts.netloc != urlsplit(url).netloc:
        return None
    query = "&".join(each for each in parts.query.split("&") if each.partition("=")[0].lower() not in _SESSION)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def _form(address: str) -> str:
    """What addresses of one kind of page share: numbers and slugs are left out."""
    parts = urlsplit(address)
    keys = [_DIGITS.sub("#", each.partition("=")[0]) for each in parts.query.split("&")]
    asked = "&".join(sorted("*" if "-" in key else key for key in keys))
    return "/".join(map(_form_of_segment, parts.path.split("/"))) + "?" + asked


def _form_of_segment(segment: str) -> str:
    if re.search(r"\.\d+$", segment):
        return "*"
    words = [each for each in re.split(r"[-_]", segment) if each.isalpha()]
    return "*" if len(words) > 1 else _DIGITS.sub("#", segment)


def _form_of_names(address: str) -> str | None:
    """The form where the last segment is any name; None without a folder."""
    path, mark, asked = _form(address).partition("?")
    folder, _, name = path.rpartition("/")
    return f"{folder}/*{mark}{asked}" if folder and name else None


def _differs_in_names(address: str, form: str) -> bool:
    """Whether an address has the form but for segments that are numbers or slugs there; they share a folder."""
    path, _, asked = _form(address).partition("?")
    wanted, _, wanted_asked = form.partition("?")
    pairs = [*zip_longest(path.split("/"), wanted.split("/"), fillvalue="")]
    named = [segment for segment in wanted.split("/") if segment and segment not in _ANY]
    return (
        asked == wanted_asked and bool(named) and all(one == other or (one and other in _ANY) for one, other in pairs)
    )


def _place(link: Link) -> str:
    """Where a link stands in any row: its ancestors, and the column that it is in."""
    steps = []
    for each in [link, *link.iterancestors()]:
        column = sum(1 for _ in each.itersiblings("td", "th", preceding=True)) if each.tag in ("td", "th") else ""
        steps.append(f"{each.tag}{column}")
    return "/".join(steps)


def _say_more(links: set[Link]) -> bool:
    """Whether most rows have words or figures beside the link."""
    more = sum(len(" ".join(_row(link, links).text_content().split())) > len(_said(link)) for link in links)
    return more >= _MOST_ROWS * len(links)


def _said(link: Link) -> str:
    return " ".join(link.text_content().split())


def _worth(links: Sequence[Link]) -> float:
    """Signs of what links say, where they say different things in several words: names of people, dates and numbers of
    pages are short or the same."""
    titles = {_said(link) for link in links}
    wordy = [title for title in titles if len(_WORD.findall(title)) >= 2 or len(_CHINESE.findall(title)) >= 5]
    if len(wordy) < _FEWEST_THREADS or len(wordy) < _MOST_ROWS * len(links):
        return 0.0
    return float(sum(map(len, wordy)))


def _last(link: Link, links: set[Link]) -> date | None:
    days = (_day(each.get("datetime") or "") for each in _row(link, links).iter("time"))
    return max(filter(None, days), default=None)


def _row(link: Link, links: set[Link]) -> Link:
    """The largest block around a link that has no other of them."""
    block = link
    while (above := block.getparent()) is not None and not any(
        each in links for each in above.iter("a") if each is not link
    ):
        block = above
    return block


def _day(written: str) -> date | None:
    try:
        return datetime.fromisoformat(written.strip().replace("Z", "+00:00")).date()
    except ValueError:
        return None


def _says_next(link: Link) -> bool:
    text = _said(link)
    return bool(text) and bool(_NEXT.fullmatch(text)) and (text[0].isalpha() or text in _ARROWS)


@dataclass(frozen=True, slots=True)
class ListedPage:
    """`found` threads that no page before has; `threads` are those of them that were asked for."""

    url: str
    found: int
    threads: tuple[Listed, ...]


async def listed_pages(
    listing: str, client: HttpClient, policy: WebPolicy, since: date | None = None
) -> AsyncIterator[ListedPage]:
    """A listing and the pages behind it, each thread once; with `since` those that are known to have been written in
    from that day on. Raises FetchError, also where the first page has no threads (`no_threads`)."""
    seen, page = set[str](), normal_url(listing)
    known: tuple[str, Sequence[str]] | None = None
    async with apart(OF_A_PAGE) as reader:
        for _ in range(MOST_PAGES):
            fetched = await follow(page, client, policy)
            html = decode(fetched.body, fetched.content_type)
            try:
                read = await reader.call(fetched.url, read_listing, html, fetched.url, known)
            except InputError as error:
                raise FetchError(error.message, code="document_limit") from None
            if read.form is None:
                told = f"{one_line(fetched.url, 300)}: no threads are recognised on this listing; name them as threads"
                raise FetchError(told, code="no_threads")
            known = read.form.address, read.form.places
            found = [each for each in read.threads if each.url not in seen]
            seen.update(each.url for each in found)
            late = [each for each in found if since is None or (each.last is not None and each.last >= since)]
            if found:
                yield ListedPage(fetched.url, len(found), tuple(late))
            if read.onward is None or not found:
                return
            page = read.onward
