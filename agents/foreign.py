"""Parts of foreign JSON, of whatever form it is."""

from typing import Any


def text_of(value: object) -> str:
    """The text of a string, or of a list of content parts; anything else is no text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
    return ""


def dicts_in(value: object) -> list[dict[str, Any]]:
    """The objects of a list; anything else is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
