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
