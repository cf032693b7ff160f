import json
from typing import Any

SHOWN_CHARS = 80


class LineError(ValueError):
    """What is wrong with one line of a question file, without its place."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def shown(value: Any) -> str:
    """A value as it stands in the file, cut short; what is no printable character is escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    start = "".join(map(_escaped, text[:SHOWN_CHARS]))
    return start if len(text) <= SHOWN_CHARS else f"{start}..."


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]
