"""How long a request waited for its turn: told past whatever lies between the one who waits and the one who counts."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Waited:
    seconds: float = 0.0


_WAITED: ContextVar[Waited | None] = ContextVar("waited", default=None)


@contextmanager
def counting_waits() -> Iterator[Waited]:
    """Counts what is noted inside, also in tasks that are started there."""
    waited = Waited()
    token = _WAITED.set(waited)
    try:
        yield waited
    finally:
        _WAITED.reset(token)


def note_wait(seconds: float) -> None:
    waited = _WAITED.get()
    if waited is not None:
        waited.seconds += seconds
