"""Ctrl-C, also while pydantic works."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from pydantic_core import PydanticSerializationError


@contextmanager
def heeding_interrupts() -> Iterator[Callable[[], None]]:
    """Raises KeyboardInterrupt at once, and again where what is yielded is called, and at the end.

    Whatever is raised while pydantic calls back, it may take for an error of its own, or for a union's member that does
    not fit, and go on with the next.
    """
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True
        signal.default_int_handler(number, frame)

    def heed() -> None:
        if pressed:
            raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
    try:
        yield heed
        heed()
    except PydanticSerializationError:
        heed()
        raise
    finally:
        if before is signal.default_int_handler:
            signal.signal(signal.SIGINT, before)
