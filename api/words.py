"""What a caller may give as one word or several, and errors that speak of these words."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from toolablate.traces.errors import ToolablateError

# What stands in a command to copy is left alone.
_OPTION = re.compile(r"toolablate [^;,`\n]*|(?<![\w-])--([a-z][a-z-]*[a-z])")


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
            _OPTION.sub(lambda found: _word(found, others), said) for said in (error.message, error.hint)
        )
        error.args = (error.message,)
        raise


def _word(found: re.Match[str], others: Mapping[str, str]) -> str:
    option = found[1]
    return others.get(option, option.replace("-", "_")) if option else found[0]
