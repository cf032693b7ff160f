"""How long a request waited for its turn: told past whatever lies between the one who waits and the one who counts."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Waited:
    """`in_line` tells that the last wait has not ended, or ended without a place; `why` for what it was."""

    seconds: float = 0.0
    in_line: bool = False
    why: str = ""


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


def note_in_line() -> None:
    """The request, which another sends as well, has not been sent."""
    waited = _WAITED.get()
    if waited is not None:
        waited.in_line = True


# Is told when the request of this task has been written whole.
_SENT: ContextVar[Callable[[], None] | None] = ContextVar("sent", default=None)


@contextmanager
def telling_when_sent(sent: Callable[[], None]) -> Iterator[None]:
    """Tells it of requests that are made inside, by clients that `watched_sending` is asked by."""
    token = _SENT.set(sent)
    try:
        yield
    finally:
        _SENT.reset(token)


def watched_sending() -> Callable[[], None] | None:
    """Who is to be told when this task's request has been written, if anyone is."""
    return _SENT.get()


# Whether what waits for a reply keeps the replies of others from coming.
_BLOCKING: ContextVar[bool] = ContextVar("blocking", default=False)


@contextmanager
def blocking(blocks: bool) -> Iterator[None]:
    """Tasks that are started inside must not wait for others to give up their place, where this `blocks` them."""
    token = _BLOCKING.set(blocks or _BLOCKING.get())
    try:
        yield
    finally:
        _BLOCKING.reset(token)


def is_blocking_others() -> bool:
    return _BLOCKING.get()


@contextmanager
def in_line(why: str = "for its turn") -> Iterator[None]:
    """Notes how long its inside waits for a place, by the loop's clock; `why` goes on "waited"."""
    waited = _WAITED.get() or Waited()
    loop = asyncio.get_running_loop()
    began = loop.time()
    waited.in_line, waited.why = True, why
    try:
        yield
        waited.in_line = False
    finally:
        waited.seconds += loop.time() - began
