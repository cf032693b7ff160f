"""Where in a plan's text something stands, for errors that are found after it was read."""

import re
from collections.abc import Sequence
from pathlib import Path

from toolablate.traces.errors import InputError

_TABLE = re.compile(r"\s*\[")


def located(error: InputError, file: Path | None, section: str, number: int) -> InputError:
    """The error with file and line of what its `key` names in the `number`th table (from 0) of a section; as it is
    where that is not written there as a table of TOML."""
    try:
        text = file.read_text(encoding="utf-8") if file else ""
    except (OSError, UnicodeDecodeError):
        text = ""
    line = line_of(text, section, number, error.key.split(".") if error.key else ())
    if not line:
        return error
    told = InputError(f"{file}, line {line}: {error.message}", hint=error.hint, code=error.code)
    told.key = error.key
    return told


def line_of(text: str, section: str, number: int, keys: Sequence[str]) -> int:
    """The line, from 1, of the innermost of nested keys that is there; that of the table's header where none is, 0
    where there is no such table."""
    lines = text.splitlines()
    headers = [place for place, line in enumerate(lines) if re.match(rf"\s*\[\[?\s*{section}\s*\]", line)]
    if number >= len(headers):
        return 0
    found = start = headers[number]
    inside = re.compile(rf"\s*\[\s*{section}\s*\.")
    for key in keys:
        for place in range(found, len(lines)):
            if place > start and _TABLE.match(lines[place]) and not inside.match(lines[place]):
                break
            if re.search(rf"""(?:^|[\s{{,.\[])["']?{re.escape(key)}["']?\s*(?:[=.\]])""", lines[place]):
                found = place
                break
    return found + 1
