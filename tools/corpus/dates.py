"""What can be read of a date that somebody wrote."""

import re
from datetime import date

_ISO = re.compile(r"\s*(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?![\d-])")


def day_number(published: str) -> int | None:
    """The first day that a date may mean (`2024` is the first of January), as `date.toordinal`; None if it is not
    ISO 8601."""
    match = _ISO.match(published)
    if match is None:
        return None
    year, month, day = (int(part or 1) for part in match.groups())
    try:
        return date(year, month, day).toordinal()
    except ValueError:
        return None
