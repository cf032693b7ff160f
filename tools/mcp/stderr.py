"""What a server wrote on its error output last: kept short, since nobody bounds what it writes."""

import os
import threading
from typing import TextIO

from toolablate.tools.plain import one_line

_KEPT_BYTES = 4_000


class StderrTail:
    """A file for a child to write to, drained by a thread, of which only the end is kept."""

    def __init__(self) -> None:
        self._reading, writing = os.pipe()
        self.file: TextIO = os.fdopen(writing, "w")
        self._tail = b""
        self._thread = threading.Thread(target=self._drain, name="stderr of an MCP server", daemon=True)
        self._thread.start()

    def last_line(self) -> str:
        lines = [line for line in self._tail.decode("utf-8", "replace").splitlines() if line.strip()]
        return one_line(lines[-1], 300) if lines else ""

    def close(self) -> None:
        """Ends the drain where no process holds the other end any more."""
        self.file.close()

    def _drain(self) -> None:
        try:
            while piece := os.read(self._reading, 65_536):
                self._tail = (self._tail + piece)[-_KEPT_BYTES:]
        finally:
            os.close(self._reading)
