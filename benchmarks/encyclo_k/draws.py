"""Draws that are the same in every version of Python: of a generator, only `random()` is promised to stay as it is."""

import random
from collections.abc import Sequence
from typing import TypeVar

Item = TypeVar("Item")


class Draws:
    """Seeded by a text; the same text draws the same."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed).random  # noqa: S311 - chance, not a secret

    def below(self, count: int) -> int:
        """From 0 to count - 1."""
        return int(self._random() * count)

    def between(self, bounds: tuple[int, int]) -> int:
        """Both ends included."""
        low, high = bounds
        return low + self.below(high - low + 1)

    def one(self, items: Sequence[Item]) -> Item:
        return items[self.below(len(items))]

    def several(self, items: Sequence[Item], count: int) -> list[Item]:
        """Different ones, in random order."""
        left = list(items)
        for place in range(count):
            other = place + self.below(len(left) - place)
            left[place], left[other] = left[other], left[place]
        return left[:count]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        return self.several(items, len(items))
