"""What a result repeats of its own call: the model has written it, so that it tells nothing new."""

from collections.abc import Mapping

from pydantic import JsonValue

from toolablate.tools.plain import one_line
from toolablate.tools.search.envelope import canonical_url

_SHOWN_CHARS = 200


def echoes(given: Mapping[str, JsonValue]) -> set[str]:
    """The texts of a call's arguments, as tools repeat them."""
    texts = [value for value in given.values() if isinstance(value, str)]
    lines = {line for text in texts for line in (text, one_line(text, _SHOWN_CHARS))}
    return {form for line in lines for form in (line, repr(line)[1:-1]) if form.strip()}


def is_named(url: str, given: Mapping[str, JsonValue]) -> bool:
    """Whether the call itself names this address."""
    named = (given.get("url"), given.get("id"))
    return any(isinstance(each, str) and canonical_url(each) == canonical_url(url) for each in named)
