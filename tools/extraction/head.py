"""What a page says of itself: its title, and when it was published."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

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
