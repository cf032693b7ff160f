"""Where in a file of published tables something stands: a TOML parser does not tell."""

import re
from dataclasses import dataclass
from pathlib import Path

from toolablate.traces.errors import InputError

SHOWN_CHARS = 80
_TABLE = re.compile(r"\s*\[\[\s*table\s*\]\]")


@dataclass(frozen=True, slots=True)
class Place:
    """One table of a file, or its top where `number` is None."""

    path: Path
    lines: tuple[str, ...]
    number: int | None = None

    def error(self, message: str, *, key: str = "", row: int | None = None, hint: str = "") -> InputError:
        """`row` is the line of a text of rows, counted from 0."""
        where = self.line(key) + (0 if row is None else row)
        return InputError(f"{self.path}:{where}: {message}", hint=hint, code="bad_table")

    def line(self, key: str = "") -> int:
        """From 1; that of the table's heading where the key is not found."""
        start, end = self._section()
        wanted = re.compile(
            rf"""\s*\[*\s*["']?{re.escape(key)}["']?\s*[=.\]]|\s*\[\s*table\.["']?{re.escape(key)}["']?\s*\]"""
        )
        found = (at for at in range(start, end) if key and wanted.match(self.lines[at]))
        return next(found, start) + 1

    def _section(self) -> tuple[int, int]:
        headings = [at for at, line in enumerate(self.lines) if _TABLE.match(line)]
        if self.number is None:
            return 0, headings[0] if headings else len(self.lines)
        if self.number >= len(headings):
            return 0, len(self.lines)
        after = headings[self.number + 1 :]
        return headings[self.number], after[0] if after else len(self.lines)


def quoted(value: object) -> str:
    """A value in quotes, with what cannot be printed as escapes, cut short."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
