"""What a caller may give as one word or several."""

from collections.abc import Sequence


def several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
