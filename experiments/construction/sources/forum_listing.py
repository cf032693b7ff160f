"""Threads on a listing page of a forum, whatever its program: the links of one form whose texts say most."""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TypeAlias
from urllib.parse import urlsplit, urlunsplit

import lxml.html  # type: ignore[import-untyped]
from lxml.etree import ParserError  # type: ignore[import-untyped]

from toolablate.experiments.construction.sources.apart import OF_A_PAGE, apart
from toolablate.tools.extraction.kinds import decode
from toolablate.tools.web import FetchError, HttpClient, follow
from toolablate.tools.web.policy import WebPolicy
from toolablate.tools.web.urls import normal_url
from toolablate.traces.errors import InputError

MOST_PAGES = 100
_SESSION = frozenset({"sid", "s", "phpsessid", "highlight"})
_FEWEST_THREADS = 3
_NEXT = re.compile(
    r"(?:next(?: page)?|older(?: threads| topics)?|weiter|nächste(?: seite)?|suivante?|下一[页頁])?\W*", re.I
)
_ARROWS = frozenset("›»→>")
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_\u4e00-\u9fff]{2,}")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

Link: TypeAlias = lxml.html.HtmlElement


@dataclass(frozen=True, slots=True)
class Listed:
    """`last` is the latest day that the listing has for it in a form for machines (`<time datetime>`), None without."""

    url: str
    title: str
    last: date | None


def read_listing(page: str, url: str) -> tuple[list[Listed], str | None]:
    """The threads on it, and the next page."""
    return threads_on(page, url), next_page(page, url)


def threads_on(page: str, url: str) -> list[Listed]:
    """In the order of the page, each once; [] where no links are alike. `url` is the page's own, in normal form."""
    root = _root(page)
    if root is None:
        return []
    for around in list(root.iter("nav", "footer", "select")):
        around.drop_tree()
    groups: dict[str, dict[str, Link]] = defaultdict(dict)
    for link in root.iter("a"):
        address = _address(link, url)
        # What has the listing's own form lists threads, too.
        if address is not None and _said(link) and _form(address) != _form(url):
            longest = groups[_form(address)].get(address)
            if longest is None or len(_said(link)) > len(_said(longest)):
                groups[_form(address)][address] = link
    group = max(groups.values(), key=lambda links: _worth(list(links.values())), default={})
    if _worth(list(group.values())) <= 0:
        return []
    links = set(group.values())
    return [Listed(address, _said(link), _last(link, links)) for address, link in group.items()]


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


def _said(link: Link) -> str:
    return " ".join(link.text_content().split())


def _worth(links: Sequence[Link]) -> float:
    """Signs of what links say, where they say different things in several words: names of people, dates and numbers of
    pages are short or the same."""
    titles = {_said(link) for link in links}
    wordy = [title for title in titles if len(_WORD.findall(title)) >= 2 or len(_CHINESE.findall(title)) >= 5]
    if len(wordy) < _FEWEST_THREADS or len(wordy) < 0.6 * len(links):
        return 0.0
    return float(sum(map(len, wordy)))


def _last(link: Link, links: set[Link]) -> date | None:
    """In the largest block around a link that has no other thread's."""
    block = link
    while (above := block.getparent()) is not None and not any(
        each in links for each in above.iter("a") if each is not link
    ):
        block = above
    return max(filter(None, (_day(each.get("datetime") or "") for each in block.iter("time"))), default=None)


def _day(written: str) -> date | None:
    try:
        return datetime.fromisoformat(written.strip().replace("Z", "+00:00")).date()
    except ValueError:
        return None


def _says_next(link: Link) -> bool:
    text = _said(link)
    return bool(text) and bool(_NEXT.fullmatch(text)) and (text[0].isalpha() or text in _ARROWS)


async def listed_threads(
    listing: str, client: HttpClient, policy: WebPolicy, since: date | None = None
) -> AsyncIterator[Listed]:
    """The threads of a listing and of the pages behind it, each once; with `since` those that are known to have been
    written in from that day on. Raises FetchError."""
    seen, page = set[str](), normal_url(listing)
    async with apart(OF_A_PAGE) as reader:
        for _ in range(MOST_PAGES):
            fetched = await follow(page, client, policy)
            html = decode(fetched.body, fetched.content_type)
            try:
                listed, onward = await reader.call(fetched.url, read_listing, html, fetched.url)
            except InputError as error:
                raise FetchError(error.message, code="too_large") from None
            found = [each for each in listed if each.url not in seen]
            for each in found:
                seen.add(each.url)
                if since is None or (each.last is not None and each.last >= since):
                    yield each
            if onward is None or not found:
                return
            page = onward
