"""From what a provider found to the results of an envelope: the same rules for every provider."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime

from toolablate.tools.search.provider import SearchQuery
from toolablate.tools.search.published import earliest_day, read_date
from toolablate.traces.records import SearchResult, clean_text

_WEB_ADDRESS = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Finding:
    """One result as a provider gave it. `published_from` names the field that `published` was read from."""

    url: str
    title: str = ""
    snippet: str = ""
    published: str = ""
    published_from: str = ""


@dataclass(frozen=True, slots=True)
class Ranking:
    """The results to hand out, and how many more there were that `before` leaves out."""

    results: tuple[SearchResult, ...]
    left_out: int = 0


def ranked(findings: Iterable[Finding], asked: SearchQuery, fetched_at: datetime) -> Ranking:
    """In the provider's order: web addresses only, each page once, none published on or after `before`.

    What has no date that can be read stays. Ranks count what is left.
    """
    kept: list[SearchResult] = []
    left_out = 0
    for result in _distinct(findings, fetched_at):
        if asked.before and _published_since(asked.before, result):
            left_out += 1
        else:
            kept.append(result.model_copy(update={"rank": len(kept) + 1}))
    return Ranking(tuple(kept[: asked.max_results]), left_out)


def raw_digest(raw: bytes) -> str:
    """SHA-256 of a reply's body, first 128 bits; empty for no body."""
    return hashlib.sha256(raw).hexdigest()[:32] if raw else ""


def canonical_url(url: str) -> str:
    """The normal form of an address, or the address as it is where it has none."""
    from toolablate.tools.web.exchange import FetchError
    from toolablate.tools.web.urls import normal_url

    try:
        return normal_url(url)
    except FetchError:
        return url


def _distinct(findings: Iterable[Finding], fetched_at: datetime) -> Iterator[SearchResult]:
    from toolablate.tools.web.urls import MAX_URL_CHARS

    seen: set[str] = set()
    for finding in findings:
        url = clean_text(finding.url.strip())
        # What is longer cannot be opened either.
        if len(url) > MAX_URL_CHARS or not _WEB_ADDRESS.fullmatch(url):
            continue
        canonical = canonical_url(url)
        if canonical not in seen:
            seen.add(canonical)
            yield _result(finding, url, canonical, fetched_at)


def _result(finding: Finding, url: str, canonical: str, fetched_at: datetime) -> SearchResult:
    published_at, from_age = read_date(finding.published, fetched_at)
    named = f"{finding.published_from} (relative)" if from_age else finding.published_from
    return SearchResult(
        rank=1,
        url=url,
        canonical_url=canonical,
        title=clean_text(finding.title),
        snippet=clean_text(finding.snippet),
        published_at=published_at,
        published_from=named if published_at else "",
    )


def _published_since(day: date, result: SearchResult) -> bool:
    published = earliest_day(result.published_at)
    return published is not None and published >= day
