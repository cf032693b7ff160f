"""The options of a question: sets of its statements, any of which could be the right one."""

from itertools import combinations
from math import comb

from toolablate.benchmarks.encyclo_k.draws import Draws
from toolablate.traces.errors import InputError

ATTEMPTS = 1_000


def draw_options(draws: Draws, statements: int, options: int, sizes: tuple[int, int]) -> list[frozenset[int]]:
    """So many sets of places in 0 .. statements - 1, of which none holds another; sizes are uniform over their range.

    Which of them is right is drawn afterwards, and the truth of the statements follows from it: those of the right
    option are what is asked for, all others are not. Then

    - only one option can be defended: it is the only one with nothing but statements that are asked for, and it has all
      of these, so that neither "all that" nor "only such that" leads to another;
    - how the options look says nothing about which of them is right: each is as likely, whatever the sets are.

    Raises InputError where there are not so many such sets.
    """
    for _ in range(ATTEMPTS):
        found: list[frozenset[int]] = []
        for _ in range(ATTEMPTS):
            if len(found) == options:
                return found
            size = draws.between(sizes) if len(found) == 0 or drawn else size
            drawn = False
            candidate = frozenset(draws.several(range(statements), size))
            if not any(candidate <= other or other <= candidate for other in found):
                found.append(candidate)
                drawn = True
    raise InputError("", code="")


def hold_each_other(options: list[frozenset[int]]) -> bool:
    return any(one <= other or other <= one for one, other in combinations(options, 2))


def sets_of(statements: int, size: int) -> int:
    return comb(statements, size)
