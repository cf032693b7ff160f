"""Names of scorers: which are judges, and which grade again what another has graded."""

import re
from collections.abc import Iterable
from itertools import combinations

# The name of a model can hold whatever a user gives it, but what follows the last of these is ours.
_AGAIN = ",again="
_AFTER = re.compile(r"([1-9][0-9]*)((?:,[a-z]+=[a-z0-9]+)*\])")


def is_judge(scorer: str) -> bool:
    """Whether it is a model that grades, and so may grade the same answer in two ways."""
    return scorer.startswith("judge[")


def grading(scorer: str) -> tuple[str, int]:
    """The name of a judge's grading that counts, and which one this is: `judge[m@1a2b3c4d,again=2]` is grading 2 of
    `judge[m@1a2b3c4d]`. Any other scorer is grading 0 of itself."""
    before, _, after = scorer.rpartition(_AGAIN)
    found = _AFTER.fullmatch(after) if is_judge(before) else None
    return (before + found[2], int(found[1])) if found else (scorer, 0)


def ordered(scorers: Iterable[str], first: Iterable[str] = ()) -> list[str]:
    """Rules before judges; of each the scorers named `first` before the others; each judge's gradings together."""
    preferred = set(first)

    def place(scorer: str) -> tuple[bool, bool, str, int]:
        judge, number = grading(scorer)
        return is_judge(scorer), judge not in preferred, judge, number

    return sorted(scorers, key=place)


def scorer_pairs(scorers: Iterable[str]) -> list[tuple[str, str]]:
    """Each two scorers; a re-grading only beside the grading of its own judge, of which it says how sure it is."""
    return [
        (one, other)
        for one, other in combinations(scorers, 2)
        if grading(other)[1] == 0 == grading(one)[1] or (grading(one)[1] == 0 and grading(other)[0] == one)
    ]
