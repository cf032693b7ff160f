"""Tables as CSV, safe to open in a spreadsheet."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# A spreadsheet would run what begins like this as a formula, also behind blanks and in the wide letters of East Asia.
_FORMULA = re.compile("[\\s\x00-\x20\u200b\ufeff]*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\t\r]")


def csv_text(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """A header and a line for each row, of which what is lacking or None is empty. A text that could be a formula
    begins with an apostrophe; one with a line break is in quotes. Raises ValueError for a name that is no column."""
    return "".join(_line(columns, row) for row in ({name: name for name in columns}, *rows))


def ends(name: str, interval: tuple[float | None, float | None] | None) -> dict[str, float | None]:
    """An interval as two columns."""
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


def _line(columns: Sequence[str], row: Mapping[str, Any]) -> str:
    out = io.StringIO()
    # The writer puts in quotes what its own line ending is made of, and a lone \r breaks a row as well as \n does.
    csv.DictWriter(out, columns, lineterminator="\r\n").writerow({name: _inert(value) for name, value in row.items()})
    return out.getvalue().removesuffix("\r\n") + "\n"


def _inert(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value
