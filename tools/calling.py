"""Calls of functions of the user's own, plain or async, that hold up nobody and end nothing but themselves."""

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from toolablate.traces.errors import ToolError

Outcome = tuple[Any, BaseException | None]
"""What a function gave, or what it raised."""


async def outcome_of(function: Callable[..., Any], *positional: Any, **named: Any) -> Outcome:
    """A plain function runs in a thread of its own; where it never returns, that thread is left behind.

    Raises ToolError where no thread can be started.
    """
    if inspect.iscoroutinefunction(function):
        return await _awaited(function(*positional, **named))
    value, error = await _in_own_thread(partial(function, *positional, **named), function.__name__)
    if error is None and inspect.isawaitable(value):
        return await _awaited(value)
    return value, error


async def _in_own_thread(function: Callable[[], Any], name: str) -> Outcome:
    """Not in a pool: a function that hangs would keep a place in it from all other trials, and the process from
    ending, since pools are joined at exit and daemon threads are not."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(outcome: Outcome) -> None:
        if not done.done():
            done.set_result(outcome)

    def run() -> None:
        outcome = context.run(_outcome, function)
        # The loop is closed where the run ended without this call; nobody waits for the outcome then.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(deliver, outcome)

    try:
        threading.Thread(target=run, name=f"function {name}", daemon=True).start()
    except RuntimeError as error:
        raise ToolError(f"no thread could be started for {name!r}: {error}", code="no_thread", retryable=True) from None
    return await done


def _outcome(function: Callable[[], Any]) -> Outcome:
    # Caught inside the thread: a StopIteration cannot pass through a future, and neither sys.exit() nor an interrupt
    # that the function raises by itself may end the run. A real one is delivered to the main thread alone.
    try:
        return function(), None
    except BaseException as error:  # noqa: BLE001 - what a user's function raises is an outcome
        return None, error


async def _awaited(waiting: Awaitable[Any]) -> Outcome:
    try:
        return await waiting, None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as above; cancellation is no Exception and passes
        return None, error
