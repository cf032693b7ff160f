"""The other ways in which a day is written that is told with the name of its month."""

import re
from collections.abc import Iterator
from itertools import product

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_MONTH = rf"(?P<month>{'|'.join(f'{name[:3]}(?:{name[3:]}|t)?' for name in _MONTHS)})\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})"
_DATES = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (rf"{_MONTH} {_DAY},? {_YEAR}", rf"(?:the )?{_DAY}(?: of)? {_MONTH},? {_YEAR}")
)


def other_dates(text: str) -> Iterator[str]:
    """Nothing for a text that is no such date."""
    found = next((match for date in _DATES if (match := date.fullmatch(text.strip()))), None)
    if found is None:
        return
    number = next(n for n, name in enumerate(_MONTHS, start=1) if name.startswith(found["month"][:3].lower()))
    day, year = int(found["day"]), found["year"]
    for name, ordinal in product((_MONTHS[number - 1], _MONTHS[number - 1][:3]), ("", "st", "nd", "rd", "th")):
        yield from (f"{name} {day}{ordinal} {year}", f"{day}{ordinal} {name} {year}")
        yield f"{day}{ordinal} of {name} {year}"
    for month, on in product((f"{number:02}", str(number)), (f"{day:02}", str(day))):
        yield from (f"{year}-{month}-{on}", f"{on}.{month}.{year}", f"{month}/{on}/{year}", f"{year}年{month}月{on}日")
