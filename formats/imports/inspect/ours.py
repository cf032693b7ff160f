"""What an export of ours put into an Inspect log beside what Inspect itself knows, under one key of its metadata."""

from collections.abc import Mapping
from typing import Any

KEY = "toolablate"
COUNTED = "score"
"""What the scorers of a run are called together, where there are several; each score then has its own scorer's name."""


def ours(metadata: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Empty where another tool wrote the log."""
    found = (metadata or {}).get(KEY)
    return found if isinstance(found, Mapping) else {}


def place_of(kept: Mapping[str, Any]) -> tuple[int, int]:
    """Of a log's model and condition among those of the store that it was exported from. Raises ValueError."""
    place = kept.get("place", [0, 0])
    if not (isinstance(place, list) and [type(each) for each in place] == [int, int]):
        raise ValueError("its place among models and conditions is no pair of whole numbers")
    return place[0], place[1]


def scorers_of(kept: Mapping[str, Any]) -> tuple[str, ...]:
    """Those whose scores count in the store that a log was exported from. Raises ValueError."""
    scorers = kept["scorers"]
    if not (isinstance(scorers, list) and all(isinstance(each, str) for each in scorers)):
        raise ValueError("its scorers are no list of names")
    return tuple(scorers)
