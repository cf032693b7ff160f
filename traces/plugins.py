"""What packages register as entry points: by name, and what is wrong with one, told with its package."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from toolablate.traces.errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

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
    # The metadata of a distribution may be empty: it has neither name nor version then.
    return (point.dist and point.dist.name) or UNKNOWN


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


def checked(
    said: str | Callable[[], str],
    make: Callable[[], Any],
    fits: Callable[[Any], bool] = lambda _: True,
    expected: str = "",
    *,
    code: str,
    hint: str = "",
    passing: tuple[type[Exception], ...] = (),
) -> Any:
    """What a package's `make` returns. Raises InputError, which begins with `said`, where it fails, exits or returns
    what is not `expected`; errors of the types `passing` tell it themselves. A `said` that is slow to make is a
    function, called for an error alone."""
    cause: BaseException | None = None
    try:
        found = make()
        if fits(found):
            return found
        why = f"{expected} is expected, found {found!r}"
    except passing:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is told, and what is not of this package goes on
        why, cause = f"{type(error).__name__}: {error}", error
    from toolablate.traces.terminal_text import one_line

    begin = said if isinstance(said, str) else said()
    raise InputError(f"{begin}: {one_line(why)}", hint=hint, code=code) from cause
