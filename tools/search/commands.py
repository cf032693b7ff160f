"""Words of a query that a service takes for commands, which would ask another engine or send us elsewhere."""

import re
from functools import lru_cache


def without_commands(query: str, marks: str) -> str:
    """The query with these marks taken from the beginnings of its words; as it is where nothing else is in it."""
    return _marked(marks).sub("", query).strip() or query


@lru_cache
def _marked(marks: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S)[{re.escape(marks)}]+")
