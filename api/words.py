"""What a caller may give as one word or several, and errors that speak of these words."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from toolablate.traces.errors import ToolablateError

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")


def several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


@contextmanager
def worded(**others: str) -> Iterator[None]:
    """Errors name options as Python does: `--max-cost` is `max_cost`; `others` are those that have another name here.
    Also a decorator."""
    try:
        yield
    except ToolablateError as error:
        error.message, error.hint = (
            _OPTION.sub(lambda found: others.get(found[1], found[1].replace("-", "_")), said)
            for said in (error.message, error.hint)
        )
        error.args = (error.message,)
        raise
