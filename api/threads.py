"""Work that blocks, from a script, a notebook or a coroutine.

What runs trials has an event loop of its own. A notebook has one that runs already, so the work goes into a thread
there; Ctrl-C, or the notebook's stop button, stops it as it does in a terminal.
"""

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from toolablate.experiments.running.launch import Presses

T = TypeVar("T")


def apart(work: Callable[[], T]) -> T:
    """Does it here, or where an event loop runs, in a thread that is waited for."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    presses = Presses()
    with ThreadPoolExecutor(1, "toolablate") as pool:
        future = _begun(pool, work, presses)
        while True:
            try:
                return future.result()
            except KeyboardInterrupt:
                if future.done():
                    raise
                presses.press()


async def apart_async(work: Callable[[], T]) -> T:
    """Does it in a thread, beside what else the loop does. Cancelled, it stops as at Ctrl-C, and is waited for."""
    presses, pool = Presses(), ThreadPoolExecutor(1, "toolablate")
    future = _begun(pool, work, presses)
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except asyncio.CancelledError:
        presses.press()
        while not future.done():
            # Cancelled again, it no longer waits for what is in flight.
            try:
                await asyncio.wait([asyncio.wrap_future(future)])
            except asyncio.CancelledError:
                presses.press()
        raise
    finally:
        pool.shutdown(wait=False)


def _begun(pool: ThreadPoolExecutor, work: Callable[[], T], presses: Presses) -> Future[T]:
    """In this context, so that what it displays belongs to the cell that began it."""

    def heeding() -> T:
        presses.taken()
        return work()

    return pool.submit(contextvars.copy_context().run, heeding)
