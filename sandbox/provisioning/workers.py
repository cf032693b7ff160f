"""Threads for blocking work that are still there when a program ends."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class LastingWorkers(ThreadPoolExecutor):
    """The threads of an ordinary executor take no work any more when the handlers of `atexit` run, which is where many
    Jupyter programs end their kernels, and no new ones can be started then. (An event loop takes only a subclass.)"""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._tasks: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        for _ in range(number):
            threading.Thread(target=self._work, name="toolablate kernels", daemon=True).start()

    def submit(self, fn: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        future: Future[_T] = Future()
        self._tasks.put((future, lambda: fn(*args, **kwargs)))
        return future

    def _work(self) -> None:
        while True:
            future, task = self._tasks.get()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(task())
                except BaseException as error:  # noqa: BLE001 - it belongs to whoever awaits the future
                    future.set_exception(error)
