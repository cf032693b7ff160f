"""What a caller may give: words of the right types, one or several, and errors that speak of these words."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import cache, wraps
from numbers import Integral
from typing import Any, ParamSpec, TypeVar, cast, get_type_hints

from toolablate.traces.errors import InputError, ToolablateError
from toolablate.traces.terminal_text import one_line

P = ParamSpec("P")
T = TypeVar("T")

_MODULE = re.compile(r"\b[a-z_]+\.")
# What stands in a command to copy is left alone.
_OPTION = re.compile(r"toolablate [^;,`\n]*|(?<![\w-])--([a-z][a-z-]*[a-z])")


def several(given: str | Sequence[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def offered(**others: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """A function of the public interface: a word of another type is refused with InputError, and its errors are
    `worded`."""

    def of(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def checked(*arguments: P.args, **words: P.kwargs) -> T:
            with worded(**others):
                require_types(function, *arguments, **words)
                return function(*arguments, **words)

        @wraps(function)
        async def checked_async(*arguments: P.args, **words: P.kwargs) -> Any:
            with worded(**others):
                require_types(function, *arguments, **words)
                return await cast(Any, function)(*arguments, **words)

        return cast(Callable[P, T], checked_async) if inspect.iscoroutinefunction(function) else checked

    return of


def require_types(function: Callable[..., Any], *arguments: object, **words: object) -> None:
    """Raises InputError for one that is not of the type that the function declares, TypeError for one it does not
    have."""
    from pydantic import ValidationError

    given = inspect.signature(function).bind(*arguments, **words).arguments
    for name, (adapter, declared) in _types(function).items():
        if name in given:
            value = given[name]
            try:
                # Whole numbers of numpy are as good.
                adapter.validate_python(
                    int(value) if isinstance(value, Integral) and not isinstance(value, bool) else value
                )
            except ValidationError:
                found = one_line(repr(value), max_chars=60)
                raise InputError(f"{name}: should be {declared}; found {found}", code="usage") from None


@cache
def _types(function: Callable[..., Any]) -> dict[str, tuple[Any, str]]:
    """By word, what tells whether a value is of its type, and the type as it is written; without those of several."""
    from pydantic import ConfigDict, InstanceOf, TypeAdapter

    parameters = inspect.signature(function).parameters
    try:
        hints = get_type_hints(function)
    except NameError:  # a type of a library that is imported where it is needed only
        hints = {name: each.annotation for name, each in parameters.items() if not isinstance(each.annotation, str)}

    def adapter(hint: Any) -> Any:
        # A dataclass has a configuration of its own.
        if is_dataclass(hint):
            return TypeAdapter(InstanceOf[hint])
        return TypeAdapter(hint, config=ConfigDict(strict=True, arbitrary_types_allowed=True))

    return {
        name: (adapter(hints[name]), _MODULE.sub("", inspect.formatannotation(hints[name])))
        for name, each in parameters.items()
        if hints.get(name, each.empty) is not each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    }


@contextmanager
def worded(**others: str) -> Iterator[None]:
    """Errors name options as Python does: `--max-cost` is `max_cost`; `others` are those with another name here."""
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
