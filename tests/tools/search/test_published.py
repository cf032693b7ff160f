from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolablate.tools.search.ranked_results import earliest_day, read_date

NOW = datetime(2024, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2023-11-16T01:36:32.547Z", "2023-11-16T01:36:32Z"),
        ("2023-11-16T01:36:32", "2023-11-16T01:36:32Z"),
        ("2023-11-16T01:36:32+02:00", "2023-11-15T23:36:32Z"),
        ("2023-11-16 00:00:00", "2023-11-16"),
        ("2023-11-16", "2023-11-16"),
        ("20231116", "2023-11-16"),
        ("2023-11", "2023-11"),
        ("2023", "2023"),
        ("Nov 16, 2023", "2023-11-16"),
        ("November 16, 2023", "2023-11-16"),
        ("Sept. 1, 2023", "2023-09-01"),
        ("16 Nov 2023", "2023-11-16"),
        ("1. January 2023", "2023-01-01"),
        ("Thu, 16 Nov 2023 10:00:00 GMT", "2023-11-16T10:00:00Z"),
        ("Thu, 16 Nov 2023 23:00:00 -0200", "2023-11-17T01:00:00Z"),
        ("2023年11月16日", "2023-11-16"),
        ("2023 年 1 月 6 日", "2023-01-06"),
    ],
)
def test_dates_become_iso(text: str, read: str) -> None:
    assert read_date(f"  {text}\n", NOW) == (read, False)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("3 days ago", "2024-02-27"),
        ("1 day ago", "2024-02-29"),
        ("a day ago", "2024-02-29"),
        ("13 hours ago", "2024-02-29"),
        ("An hour ago", "2024-03-01"),
        ("5 mins ago", "2024-03-01"),
        ("2 weeks ago", "2024-02-16"),
        ("2 months ago", "2024-01-01"),
        ("1 year ago", "2023-03-02"),
        ("yesterday", "2024-02-29"),
        ("Today", "2024-03-01"),
        ("3天前", "2024-02-27"),
        ("13 小时前", "2024-02-29"),
        ("2个月前", "2024-01-01"),
        ("昨天", "2024-02-29"),
    ],
)
def test_ages_are_reckoned_from_when_the_reply_came(text: str, day: str) -> None:
    assert read_date(text, NOW) == (day, True)


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2023-13-01", "2023-02-30", "0000", "01/02/2023", "Foo 3, 2023", "Feb 30, 2023", "3 days"),
        *("in 3 days", "999999 years ago", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "２０２３"),
        "2023年13月1日",
    ],
)
def test_what_cannot_be_read_is_no_date(text: str) -> None:
    assert read_date(text, NOW) == ("", False)


@given(st.text(max_size=120))
def test_no_text_breaks_it(text: str) -> None:
    read, _ = read_date(text, NOW)
    assert (earliest_day(read) is None) == (not read)


@given(st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)), st.integers(-14, 14))
def test_every_moment_keeps_its_day_in_utc(moment: datetime, hours: int) -> None:
    zoned = moment.replace(tzinfo=timezone(timedelta(hours=hours)))
    read, _ = read_date(zoned.isoformat(), NOW)
    assert earliest_day(read) == zoned.astimezone(UTC).date()


@pytest.mark.parametrize(
    ("published", "day"),
    [("2023", date(2023, 1, 1)), ("2023-05", date(2023, 5, 1)), ("2023-05-06T01:02:03Z", date(2023, 5, 6)), ("", None)],
)
def test_a_vague_date_counts_from_its_first_day(published: str, day: date | None) -> None:
    assert earliest_day(published) == day
