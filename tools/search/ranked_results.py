"""From a provider's reply to the results of an envelope: ranking, dates, robot checks; the same rules for all."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from toolablate.tools.search.provider import SearchQuery
from toolablate.traces.records import SearchResult, clean_text

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), start=1
    )
}
_PART_OF_ISO = re.compile(r"\d{4}(-(0[1-9]|1[0-2]))?", re.ASCII)
_MAIL = re.compile(r"([a-z]{3}, )?\d{1,2} [a-z]{3} \d{4} \d{1,2}:\d{2}.*", re.IGNORECASE)
_MONTH_FIRST = re.compile(r"(?P<month>[a-z]{3,9})\.? (?P<day>\d{1,2}),? (?P<year>\d{4})", re.IGNORECASE)
_DAY_FIRST = re.compile(r"(?P<day>\d{1,2})\.? (?P<month>[a-z]{3,9})\.?,? (?P<year>\d{4})", re.IGNORECASE)
_CHINESE = re.compile(r"(?P<year>\d{4})\s*年\s*(?P<month>\d{1,2})\s*月\s*(?P<day>\d{1,2})\s*日")
_AGO = re.compile(
    r"(?P<count>\d{1,6}|an?) (?P<unit>second|sec|minute|min|hour|day|week|month|year)s? ago", re.IGNORECASE
)
_CHINESE_AGO = re.compile(r"(?P<count>\d{1,6})\s*(?P<unit>秒|分钟|小时|天|日|周|个月|年)\s*前")
_DAYS_AGO = {"today": 0, "yesterday": 1, "今天": 0, "昨天": 1, "前天": 2}

_DAY = 86_400
_SECONDS = {
    unit: seconds
    for units, seconds in (
        (("second", "sec", "秒"), 1),
        (("minute", "min", "分钟"), 60),
        (("hour", "小时"), 3_600),
        (("day", "天", "日"), _DAY),
        (("week", "周"), 7 * _DAY),
        (("month", "个月"), 30 * _DAY),
        (("year", "年"), 365 * _DAY),
    )
    for unit in units
}


def read_date(text: str, fetched_at: datetime) -> tuple[str, bool]:
    """ISO 8601, and whether it was reckoned from an age ("3 days ago"); empty where the text cannot be read.

    Times are UTC; a time without a zone is taken as UTC. Ages give a day, months as 30 and years as 365 days.
    """
    text = " ".join(text.split())[:100]
    try:
        day = _from_age(text, fetched_at)
        return (day.isoformat(), True) if day else (_absolute(text), False)
    except (ValueError, OverflowError):
        return "", False


def earliest_day(published_at: str) -> date | None:
    """The first day on which something dated so can have been published; None where there is no date."""
    match len(published_at):
        case 4:
            return date(int(published_at), 1, 1)
        case 7:
            return date.fromisoformat(f"{published_at}-01")
        case length if length >= 10:
            return date.fromisoformat(published_at[:10])
    return None


def _absolute(text: str) -> str:
    if _PART_OF_ISO.fullmatch(text):
        return text if int(text[:4]) else ""
    if match := _MONTH_FIRST.fullmatch(text) or _DAY_FIRST.fullmatch(text):
        month = _MONTHS.get(match["month"][:3].lower(), 0)
        return date(int(match["year"]), month, int(match["day"])).isoformat()
    if match := _CHINESE.match(text):
        return date(int(match["year"]), int(match["month"]), int(match["day"])).isoformat()
    return _moment(parsedate_to_datetime(text) if _MAIL.fullmatch(text) else datetime.fromisoformat(text))


def _moment(moment: datetime) -> str:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    if moment == datetime(moment.year, moment.month, moment.day):
        return moment.date().isoformat()
    return f"{moment.isoformat(timespec='seconds')}Z"


def _from_age(text: str, fetched_at: datetime) -> date | None:
    if (days := _DAYS_AGO.get(text.lower())) is not None:
        return (fetched_at - timedelta(days=days)).date()
    match = _AGO.fullmatch(text) or _CHINESE_AGO.fullmatch(text)
    if match is None:
        return None
    count = int(match["count"]) if match["count"].isdigit() else 1
    return (fetched_at - timedelta(seconds=count * _SECONDS[match["unit"].lower()])).date()


_WEB_ADDRESS = re.compile(r"https?://[^\s/?#]\S*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ProviderResult:
    """One result as a provider gave it. `published_from` names the field that `published` was read from."""

    url: str
    title: str = ""
    snippet: str = ""
    published: str = ""
    published_from: str = ""


@dataclass(frozen=True, slots=True)
class RankedResults:
    """The results to hand out, and how many more there were that `before` leaves out."""

    results: tuple[SearchResult, ...]
    left_out: int = 0


def ranked(findings: Iterable[ProviderResult], asked: SearchQuery, fetched_at: datetime) -> RankedResults:
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
    return RankedResults(tuple(kept[: asked.max_results]), left_out)


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


def _distinct(findings: Iterable[ProviderResult], fetched_at: datetime) -> Iterator[SearchResult]:
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


def _result(finding: ProviderResult, url: str, canonical: str, fetched_at: datetime) -> SearchResult:
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


# Tells pages that take us for a robot, which many services send with status 200.


# DuckDuckGo's own word for it is "anomaly"; `challenge-platform` and `turnstile` are Cloudflare's.
_WORDS = ("anomaly-modal", "captcha", "challenge-platform", "unusual traffic", "are you a robot", "not a robot")
_BUILT_OF = re.compile(r"anomaly-modal|captcha|challenge-platform|cf-turnstile", re.IGNORECASE)
_ATTRIBUTES = ("id", "class", "name", "src", "action")
# `sorry` is Google's.
_ADDRESS = re.compile(r"captcha|/sorry/", re.IGNORECASE)
# Checks are small pages.
_CHECKED_CHARS = 500_000


def is_robot_check(text: str, query: str) -> bool:
    """Whether a page that holds no results is a robot check and no answer to the query."""
    root = _parsed(text[:_CHECKED_CHARS])
    if root is None:
        return False
    if any(_BUILT_OF.search(value) for value in _building(root)):
        return True
    said, asked = _plain(" ".join(root.itertext())), _plain(query)
    return any(word in said and word not in asked for word in _WORDS)


def leads_to_robot_check(location: str) -> bool:
    """Whether a redirect goes there; the address's own query does not count, which may hold ours."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return False
    return _ADDRESS.search(f"{parts.netloc}{parts.path}") is not None


def _parsed(text: str) -> Any:
    """The root of a page, or None where there is no markup and no text."""
    from lxml.etree import HTMLParser, LxmlError, fromstring  # type: ignore[import-untyped]

    parser = HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    except LxmlError:
        return None


def _building(root: Any) -> Iterator[str]:
    """What a page is built of, without the queries of addresses."""
    for element in root.iter():
        for name in _ATTRIBUTES:
            value = element.get(name)
            if value:
                yield re.split(r"[?#]", value, maxsplit=1)[0]


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
