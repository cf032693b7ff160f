"""Keeps what waits to be indexed small.

tantivy queues up to 10,000 documents for its indexing thread, whatever their length, and does not tell how many wait.
But a thread that has nothing left to do sleeps, and the kernel tells that.
"""

import time
from pathlib import Path

MAX_CHARS = 2_000_000
"""So much text may wait; about a tenth of a second's work."""

_THREAD = "thrd-tantivy-in"  # The kernel keeps 15 characters of `thrd-tantivy-index0`.
_PAUSE_SECONDS = 0.002
_LONGEST_WAIT_SECONDS = 60.0


class Backlog:
    def __init__(self) -> None:
        self._chars = 0

    def wait_for_room(self, chars: int) -> None:
        """Waits until all is indexed, if the next text were too much. Where that cannot be told it does not wait."""
        if self._chars + chars > MAX_CHARS and self._chars:
            until = time.monotonic() + _LONGEST_WAIT_SECONDS
            while _is_busy() and time.monotonic() < until:
                time.sleep(_PAUSE_SECONDS)
            self._chars = 0
        self._chars += chars


def _is_busy() -> bool:
    try:
        return any(_runs(thread) for thread in Path("/proc/self/task").iterdir())
    except OSError:
        return False


def _runs(thread: Path) -> bool:
    try:
        name, _, state = (thread / "stat").read_text().partition("(")[2].rpartition(") ")
    except OSError:
        # It ended meanwhile.
        return False
    return name == _THREAD and not state.startswith("S")
