import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from toolablate.traces.errors import InternalError
from toolablate.viewer.index import Index
from toolablate.viewer.keeping.scope import Scope

_LOOK_SECONDS = 0.05
_SOON_SECONDS = 2.0


class Keeper:
    """Within it a process of its own keeps an index up to date with its store (see `keeping`)."""

    def __init__(self, scope: Scope, index: Index) -> None:
        self._scope, self._index = scope, index
        self._leaving = False
        self._ending = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "toolablate.viewer.keeping.keeping"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already, which is told below
            told = {"index": str(self._index.path), "scope": self._scope.to_json()}
            self._process.stdin.write(json.dumps(told) + "\n")
            self._process.stdin.flush()
        self._watching = threading.Thread(target=self._watch, daemon=True)
        self._watching.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._leaving = True
        self._process.kill()
        self._watching.join()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()

    def wait_for_tables(self, tell: Callable[[str], None]) -> None:
        """Until the first tables are there, which takes seconds where many trials were never viewed; `tell` is told so.
        Raises InternalError where the process has ended without making them."""
        told, began = "", time.monotonic()
        while not self._index.filled():
            if time.monotonic() - began > _SOON_SECONDS:
                said = self._index.trouble() or f"Reading {self._scope.store} for the first time ..."
                if said != told:
                    tell(said)
                told = said
            if self._process.poll() is not None:
                self._watching.join()
                raise InternalError(
                    f"What makes the tables of {self._scope.store} has ended: {self._ending}",
                    hint="Try again; if that does not help, please report it.",
                    code="view",
                )
            time.sleep(_LOOK_SECONDS)

    def _watch(self) -> None:
        assert self._process.stdout is not None
        said, code = self._process.stdout.read().strip(), self._process.wait()
        by = f"was ended by signal {-code}" if code < 0 else f"ended with {code}"
        self._ending = said or f"their process {by}"
        if not self._leaving:
            self._index.put_last_trouble(
                f"these tables are not kept up to date until the viewer is started again: {self._ending}"
            )
