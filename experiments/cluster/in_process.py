"""Workers in the driver's own process: nothing of theirs is shared but what is pickled."""

import asyncio
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from toolablate.experiments.cluster.messages import ToDriver, ToWorker, WorkerLost
from toolablate.experiments.cluster.worker import Opener, Worker


class InProcess:
    """A `Channel`."""

    def __init__(self, opener: Opener, lines: Mapping[str, bool]) -> None:
        self.worker = Worker(opener, lines)
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running = asyncio.create_task(self.worker.run())

    async def put(self, messages: Sequence[ToWorker]) -> None:
        if self._lost.done():
            raise WorkerLost("it was ended")
        self.worker.put(pickle.loads(pickle.dumps(messages)))  # noqa: S301 - our own

    async def take(self) -> Sequence[ToDriver]:
        taking = asyncio.create_task(self.worker.take())
        try:
            either: set[asyncio.Future[Any]] = {taking, self._lost}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if self._lost.done():
                raise WorkerLost("it was ended")
            messages: Sequence[ToDriver] = pickle.loads(pickle.dumps(await taking))  # noqa: S301 - our own
            return messages
        finally:
            taking.cancel()

    def place(self) -> str:
        return "here"

    def kill(self) -> None:
        """As a worker that is killed: it says nothing more."""
        if not self._lost.done():
            self._lost.set_result(None)
        self._running.cancel()

    async def close(self) -> None:
        self.kill()
        await asyncio.gather(self._running, return_exceptions=True)
