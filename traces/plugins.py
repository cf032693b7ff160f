"""What packages register as entry points: by name, and what is wrong with one, told with its package."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from toolablate.traces.errors import InputError, ToolablateError

if TYPE_CHECKING:
    from importlib.metadata import Distribution, EntryPoint

OURS = "toolablate"
UNKNOWN = "an unknown package"
MISSING = "the entry points of toolablate are missing: install the checkout again (pip install -e .)"


def by_name(group: str) -> "dict[str, tuple[EntryPoint, ...]]":
    """The entry points of a group, ours first; more than one where several packages claim a name."""
    from importlib.metadata import entry_points

    points: dict[str, tuple[EntryPoint, ...]] = {}
    for point in sorted(entry_points(group=group), key=lambda point: package(point) != OURS):
        points[point.name] = (*points.get(point.name, ()), point)
    return points


def package(point: "EntryPoint") -> str:
    return _name_of(point.dist) or UNKNOWN


@lru_cache
def _name_of(distribution: "Distribution | None") -> str:
    """Kept, since it is read from a file each time, and asked for with each trace that is attributed."""
    # The metadata of a distribution may be empty: it has neither name nor version then.
    return (distribution and distribution.name) or ""


def package_and_version(point: "EntryPoint") -> str:
    return " ".join(filter(None, [package(point), point.dist.version if point.dist else ""]))


def only(points: "Sequence[EntryPoint]", said: str) -> "EntryPoint":
    """The entry point of a name. Raises InputError, which begins with `said`, where several packages claim it."""
    if len(points) > 1:
        raise _claimed_twice(points, said)
    return points[0]


def refuse_built_in(points: "Sequence[EntryPoint]", said: str) -> None:
    """Raises InputError, which begins with `said`, where packages claim a name that toolablate itself gives to what is
    no entry point."""
    if points:
        raise _claimed_twice(points, said, OURS)


def _claimed_twice(points: "Sequence[EntryPoint]", said: str, *others: str) -> InputError:
    return InputError(
        f"{said} is claimed by several packages: {' and '.join(sorted([*map(package, points), *others]))}",
        hint="uninstall all but one of them, or have one rename its entry point",
        code="claimed_twice",
    )


def is_not(expected: str, found: object) -> str:
    """What is said of an object that is of another type: "is not a tool: it is an int"."""
    return f"is not {_article(expected)}: it is {_article(type(found).__name__)}"


def _article(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in tuple('aeiou') else 'a'} {noun}"


def having(*names: str) -> Callable[[object], bool]:
    """Whether something is an object with these attributes, and no class."""
    return lambda found: not isinstance(found, type) and all(hasattr(found, name) for name in names)


Said = str | Callable[[], str]
"""How an error begins. One that is slow to make is a function, called for an error alone."""


def checked(
    said: Said,
    make: Callable[[], Any],
    fits: Callable[[Any], bool] = lambda _: True,
    expected: str = "",
    *,
    code: str,
    hint: str = "",
    passing: tuple[type[Exception], ...] = (),
) -> Any:
    """What a package's `make` returns. Raises InputError, which begins with `said`, where it fails, exits or returns
    what is not `expected`; errors of the types `passing` tell it themselves."""
    with told(said, code=code, hint=hint, passing=passing):
        found = make()
        why = "" if fits(found) else f"{expected} is expected, found {found!r}"
    if why:
        raise _error(InputError, said, why, hint, code)
    return found


@contextmanager
def told(
    said: Said,
    *,
    code: str,
    hint: str = "",
    passing: tuple[type[Exception], ...] = (),
    kind: type[ToolablateError] = InputError,
) -> Iterator[None]:
    """Around what a package does. Raises an error of the `kind`, which begins with `said`, where it fails or exits."""
    try:
        yield
    except passing:
        raise
    except (Exception, SystemExit) as error:
        raise _error(kind, said, f"{type(error).__name__}: {error}", hint, code) from error


async def close(said: Said, closing: Callable[[], Awaitable[None]], warn: Callable[[str], None]) -> None:
    """Closes what a package opened. Where that fails `warn` hears of it: what was done with it stays done."""
    try:
        with told(lambda: f"{_begin(said)} cannot be closed", code="not_closed"):
            await closing()
    except InputError as error:
        warn(error.message)


def _error(kind: type[ToolablateError], said: Said, why: str, hint: str, code: str) -> ToolablateError:
    from toolablate.traces.terminal_text import one_line

    return kind(f"{_begin(said)}: {one_line(why)}", hint=hint, code=code)


def _begin(said: Said) -> str:
    return said if isinstance(said, str) else said()
