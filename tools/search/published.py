"""Reads when a page is said to have been published. A hint: providers guess, and pages lie."""

import re
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

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
