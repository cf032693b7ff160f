"""What the server has seen of requests that were with it at once."""

from collections.abc import Iterator
from itertools import pairwise

from bench.runner.server import Watch


def most_at_once(watch: Watch) -> int:
    """The most requests that were with the server at one moment."""
    return max((count for _, count in _counts(watch)), default=0)


def filled(watch: Watch, wanted: int) -> float | None:
    """When `wanted` requests were first with the server; None where they never were."""
    return next((at for at, count in _counts(watch) if count >= wanted), None)


def occupied(watch: Watch, begin: float, end: float) -> float:
    """How many requests were with the server on average between two moments, of which `begin` is not the later one."""
    if end <= begin:
        return 0.0
    total = 0.0
    for (at, count), (following, _) in pairwise([*_counts(watch), (end, 0)]):
        total += count * max(0.0, min(following, end) - max(at, begin))
    return total / (end - begin)


def _counts(watch: Watch) -> Iterator[tuple[float, int]]:
    """From which moment on how many were there; a reply that left at the moment of a request left before it."""
    changes = sorted([(at, 1) for at in watch.came] + [(at, -1) for at in watch.left])
    count = 0
    for at, change in changes:
        count += change
        yield at, count
