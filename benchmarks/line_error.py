import json
from typing import Any

SHOWN_CHARS = 80


class LineError(ValueError):
    """What is wrong with one line of a question file, without its place."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def shown(value: Any) -> str:
    """A value as it stands in the file, cut short."""
    text = json.dumps(value, ensure_ascii=True, default=str)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
