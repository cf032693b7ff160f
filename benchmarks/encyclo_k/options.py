"""The options of a question: sets of its statements, any of which could be the right one."""

from math import comb

from toolablate.benchmarks.encyclo_k.draws import Draws
from toolablate.benchmarks.encyclo_k.wording import MOST_STATEMENTS
from toolablate.traces.errors import InputError

DRAWS_OF_ONE = 200
DRAWS_OF_ALL = 200

Bounds = tuple[int, int]
"""The least and the most, both allowed."""


def draw_options(draws: Draws, statements: int, options: int, sizes: Bounds) -> list[frozenset[int]]:
    """So many sets of the places 0 .. statements - 1, of which none holds another; sizes are uniform over their range,
    as far as there is room for all.

    Which of them is right is drawn afterwards, and the truth of the statements follows from it: those of the right
    option are what is asked for, and all others are not. Then

    - only one option can be defended: it has all statements that are asked for and no other, while every other option
      has one that is not; so that neither "all that" nor "only such that" leads elsewhere;
    - how the options look says nothing about which is right: whatever the sets are, each is as likely.

    Raises InputError where so many such sets were not found.
    """
    for _ in range(DRAWS_OF_ALL):
        found: list[frozenset[int]] = []
        for size in [draws.between(sizes) for _ in range(options)]:
            if (drawn := _apart(draws, statements, size, found)) is None:
                break
            found.append(drawn)
        else:
            return found
    raise InputError(
        f"{options} options of {_range(sizes)} of {statements} statements, none of which holds another, were not found",
        hint="Ask for fewer options, more statements, or more statements in an option.",
        code="no_options",
    )


def _apart(draws: Draws, statements: int, size: int, found: list[frozenset[int]]) -> frozenset[int] | None:
    for _ in range(DRAWS_OF_ONE):
        drawn = frozenset(draws.several(range(statements), size))
        if not any(drawn <= other or other <= drawn for other in found):
            return drawn
    return None


def check_options(statements: Bounds, options: Bounds, combination: Bounds, letters: int) -> None:
    """Raises InputError for numbers that no question could have."""
    for name, (low, high), least, most in (
        ("statements per question", statements, 2, MOST_STATEMENTS),
        ("options", options, 2, letters),
        ("statements in an option", combination, 1, statements[0] - 1),
    ):
        if not least <= low <= high <= most:
            raise InputError(
                f"{name}: {low} to {high} is not possible",
                hint=f"Allowed are two whole numbers from {least} to {most}, the smaller first.",
                code="bad_range",
            )
    for size in range(combination[0], combination[1] + 1):
        if comb(statements[0], size) < options[1]:
            raise InputError(
                f"there are no {options[1]} different options of {size} out of {statements[0]} statements",
                hint="Ask for fewer options, or for more statements.",
                code="no_options",
            )


def _range(bounds: Bounds) -> str:
    return str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"
