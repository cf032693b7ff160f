"""Draws that one more candidate leaves alone, unless it is drawn itself."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from toolablate.traces.records import digest_text

T = TypeVar("T")


def ranked(candidates: Iterable[T], seed: str, key: Callable[[T], str]) -> list[T]:
    """The candidates in an order drawn by the seed: that of the digests of their keys with it."""
    return sorted(candidates, key=lambda candidate: digest_text(f"{seed}\n{key(candidate)}"))
