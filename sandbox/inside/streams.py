"""What is written to the descriptors of standard output and error themselves, as by programs that a cell starts."""

import codecs
import contextlib
import os
import select
import sys
import threading

from ipykernel.iostream import OutStream

_PIPE_BYTES = 1 << 20
"""The most that a pipe holds."""


class Stream(OutStream):
    """Shows it whole, in the cell that wrote it, in characters that no pause of the writer cuts in two.

    ipykernel reads the descriptor in a thread, whose turn on a busy machine comes when the cell has ended: here whoever
    flushes the stream, as a kernel does at the end of a cell, takes along what is there.
    """

    def _setup_stream_redirects(self, name: str) -> None:
        self._taking = threading.RLock()  # a handler of a signal may flush, too
        self._characters = codecs.getincrementaldecoder("utf-8")("replace")
        super()._setup_stream_redirects(name)  # type: ignore[no-untyped-call]
        assert self._fid is not None
        # A handler of a signal that flushes may have taken what was there.
        os.set_blocking(self._fid, False)

    def _watch_pipe_fd(self) -> None:
        try:
            while self._should_watch and self._is_there(None) and self._take():
                pass
        except Exception:  # noqa: BLE001 - shown when the stream is closed
            self._exc = sys.exc_info()

    def flush(self) -> None:
        # What a forked child would take of it is its parent's.
        if self._should_watch and self._is_master_process():  # type: ignore[no-untyped-call]
            with contextlib.suppress(OSError):
                self._take()
        super().flush()  # type: ignore[no-untyped-call]

    def _take(self) -> bool:
        """False where nobody can write any more."""
        assert self._fid is not None
        with self._taking:
            if not self._is_there(0):
                return True
            try:
                said = os.read(self._fid, _PIPE_BYTES)
            except BlockingIOError:
                return True
            if self._should_watch:
                self.write(self._characters.decode(said))
            return bool(said)

    def _is_there(self, milliseconds: int | None) -> bool:
        assert self._fid is not None
        there = select.poll()
        there.register(self._fid, select.POLLIN)
        return bool(there.poll(milliseconds))
