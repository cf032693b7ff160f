"""Draws that one more candidate leaves alone, unless it is drawn itself; and when two texts are the same."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from toolablate.tools.guards.normal import normal_text
from toolablate.traces.records import digest_text

T = TypeVar("T")


def ranked(candidates: Iterable[T], seed: str, key: Callable[[T], str]) -> list[T]:
    """The candidates in an order drawn by the seed: that of the digests of their keys with it."""
    return sorted(candidates, key=lambda candidate: digest_text(f"{seed}\n{key(candidate)}"))


def same_words(text: str) -> str:
    """What texts have in common that differ in blanks, case and width alone."""
    return " ".join(normal_text(text).casefold().split())
