"""Where agents run: on an event loop of their own, so that what blocks it never keeps the trial's loop from answering,
and in threads that know their trial."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import Context, ContextVar, copy_context
from functools import cache
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

# Whether it is an agent's code that runs, or what it started.
_OF_AGENT: ContextVar[bool] = ContextVar("of_agent", default=False)


@cache
def agents_loop() -> asyncio.AbstractEventLoop:
    """One for all agents of this process, in a thread that lasts as long: their clients keep connections."""
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_OwnThreads())
    threading.Thread(target=loop.run_forever, name="agents", daemon=True).start()
    return loop


def on_agents_loop(work: Coroutine[Any, Any, T]) -> "asyncio.Future[T]":
    """Runs it there; the future is one of the loop that runs now."""

    async def marked() -> T:
        _OF_AGENT.set(True)
        return await without_exit(work)

    return asyncio.wrap_future(asyncio.run_coroutine_threadsafe(marked(), agents_loop()))


async def without_exit(work: Coroutine[Any, Any, T]) -> T:
    """An exit that a coroutine raises would end the loop, and with it all agents."""
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"it ended in {type(error).__name__}") from None


class _OwnThreads(ThreadPoolExecutor):
    """A thread for each call: those of agents wait for each other, and one that hangs must not keep the process."""

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        future: Future[T] = Future()
        context = copy_context()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(context.run(fn, *args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - it is the caller's
                future.set_exception(error)

        # None of the agent's own: it ends with the call.
        _start(threading.Thread(target=run, name="agent", daemon=True))
        return future


# Python gives a new thread no context, so that the calls in it would belong to no trial.


_start: Any = threading.Thread.start
_submit: Any = ThreadPoolExecutor.submit
_started: WeakSet[threading.Thread] = WeakSet()


@cache
def give_threads_context() -> None:
    """From now on, the threads and pools that an agent uses have its context, as its tasks do; others are as before.

    Once, and never taken back: what others put in the place of these methods meanwhile may call them."""
    threading.Thread.start = _start_with_context  # type: ignore[method-assign]
    ThreadPoolExecutor.submit = _submit_with_context  # type: ignore[method-assign, assignment]


def in_thread_of_agent() -> bool:
    """Whether this runs in a thread that an agent started, which may outlive its trial."""
    return threading.current_thread() in _started


def _start_with_context(self: threading.Thread) -> None:
    if _OF_AGENT.get():
        context, run = copy_context(), self.run
        self.run = lambda: context.run(run)  # type: ignore[method-assign]
        _started.add(self)
    _start(self)


def _submit_with_context(self: ThreadPoolExecutor, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
    if not _OF_AGENT.get():
        future: Future[T] = _submit(self, fn, *args, **kwargs)
        return future
    # The pool's own thread, which others may use after this call, has none.
    carried: Future[T] = Context().run(_submit, self, copy_context().run, fn, *args, **kwargs)
    return carried
