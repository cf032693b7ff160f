"""How many requests may be in flight: grown by replies, halved by refusals."""

import math
from dataclasses import dataclass, field

FEW = 8
# Each reply lets two more in while nothing is known of the limit, so that the number triples from round to round.
FAST = 2.0
# Near a limit that was met, each reply lets so much of a place more in: one request in 25 tries whether there is more.
SLOW = 0.04
# After a halving it is back at this part of where the limit was met within a round or two.
RECOVERED = 0.8
# A limit that was met, and is not met again this far beyond it, is none any more.
PASSED = 1.25


@dataclass(slots=True)
class Window:
    """`most` is the most that there may ever be; `size` what is allowed now, at least 1.

    A refusal halves it. Requests that were sent before that can tell nothing new: each carries the `generation` in
    which it was sent, and only those of the present one count. This is the additive increase and multiplicative
    decrease of TCP (RFC 5681), with a threshold below which it grows fast.
    """

    most: int
    generation: int = 0
    size: float = field(init=False)
    _threshold: float = math.inf
    _met_at: float = math.inf
    _replied: bool = True

    def __post_init__(self) -> None:
        self.size = float(min(FEW, self.most))

    @property
    def places(self) -> int:
        return int(self.size)

    @property
    def is_opening(self) -> bool:
        """Whether no limit has been met so far, and there is room for more."""
        return self.generation == 0 and self.size < self.most

    def grow(self, generation: int, *, full: bool) -> None:
        """A reply came; `full` tells that all places were taken."""
        self._replied = True
        if not full or generation != self.generation:
            return
        if self.size < self._threshold:
            self.size = min(self.size + FAST, self._threshold, self.most)
        else:
            passed = self.size > self._met_at * PASSED + 1
            self.size = min(self.size + (FAST if passed else SLOW), self.most)

    def close(self, generation: int) -> bool:
        """A request met nobody; False where that is no news. One at a time is to try now."""
        if generation != self.generation:
            return False
        self.generation += 1
        self.size = 1.0
        return True

    def shrink(self, generation: int) -> bool:
        """A request was refused; False where that is no news."""
        if generation != self.generation:
            return False
        self.generation += 1
        # An outage, in which nothing is replied, says nothing of where the limit is.
        if self._replied:
            met_slowly = self.size > self._threshold
            self._met_at = self.size
            self._threshold = max(1.0, self.size * (RECOVERED if met_slowly else 0.5))
        self._replied = False
        self.size = max(1.0, self.size / 2)
        return True
