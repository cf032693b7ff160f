"""How what is imported is called."""

from toolablate.traces.plain import one_line

_CHARS = 200


def name_of(text: str, otherwise: str) -> str:
    """A name for a table: one line without controls, `otherwise` where nothing is left of it."""
    return one_line(text, max_chars=_CHARS) or otherwise
