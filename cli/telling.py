"""What several commands say beside their results."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

STOPPED = "Stopped; what was finished is kept, and the same command goes on from there."


@contextmanager
def stopped_cleanly() -> Iterator[None]:
    """Ends the program after Ctrl-C, where what is done is done for good."""
    try:
        yield
    except KeyboardInterrupt:
        from rich.console import Console

        Console(stderr=True).print(STOPPED, soft_wrap=True)
        raise SystemExit(1) from None


def warn(warning: str) -> None:
    """On stderr, and nothing where there is nothing to warn of."""
    from rich.console import Console

    if warning:
        Console(stderr=True).print(f"Warning: {warning}", style="yellow", markup=False, soft_wrap=True)


def tell_left_out(console: "Console", count: int) -> None:
    """Of trials that the run in question did not call for."""
    from toolablate.reports.terminal import counted

    if count:
        more = counted(count, "more trial")
        console.print(f"The store holds {more}, which this run did not call for: see --run", soft_wrap=True)
