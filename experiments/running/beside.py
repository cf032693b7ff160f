"""What goes on beside a run: beats that show it, and Ctrl-C."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import datetime

from toolablate.agents import Line
from toolablate.agents.pacing import pressures
from toolablate.experiments.running.runner import StopSwitch
from toolablate.experiments.running.slowness import waits
from toolablate.experiments.running.watcher import Watcher
from toolablate.traces.errors import StoreError
from toolablate.traces.store import Recorder


@asynccontextmanager
async def beating(
    watcher: Watcher, lines: Mapping[str, Line], recorder: Recorder, standing: Callable[[], Sequence[str]]
) -> AsyncIterator[None]:
    """Every second the watcher is told what is waited for, and the store how far it is, by what `standing` gives."""
    beats = asyncio.create_task(_beat(watcher, lines, recorder, standing))
    try:
        yield
    finally:
        beats.cancel()


async def _beat(
    watcher: Watcher, lines: Mapping[str, Line], recorder: Recorder, standing: Callable[[], Sequence[str]]
) -> None:
    told: tuple[str, ...] = ()
    while True:
        await asyncio.sleep(1)
        slow = waits(pressures(lines.values()), datetime.now())
        watcher.slowed(slow)
        now = (*standing(), *slow)
        if now != told:
            # A store that cannot be written ends the run by itself.
            with suppress(StoreError):
                recorder.waits_for(told := now)
        watcher.beat()


@contextmanager
def interruptible(stop: StopSwitch, watcher: Watcher, lines: Mapping[str, Line]) -> Iterator[None]:
    """Ctrl-C once: no new trial or grading is started, and none waits for its first reply's turn. Ctrl-C again, or
    SIGTERM: those in flight are cancelled too; they are not finished, so the next run does them again."""
    loop = asyncio.get_running_loop()
    running = asyncio.current_task()
    assert running is not None

    def interrupt() -> None:
        if stop.stopped:
            running.cancel()
        else:
            watcher.stopping()
            for line in lines.values():
                line.let_go()
        stop.stop()

    def terminate() -> None:
        stop.stop()
        running.cancel()

    loop.add_signal_handler(signal.SIGINT, interrupt)
    loop.add_signal_handler(signal.SIGTERM, terminate)
    try:
        yield
    except asyncio.CancelledError:
        if not stop.stopped:
            raise
    finally:
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
