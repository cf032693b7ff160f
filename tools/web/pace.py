"""How soon one host may be asked again."""

import asyncio
import math
from collections import OrderedDict

_IDLE_HOSTS = 1_000


class _Queue:
    """Those who wait for one host, first come, first served; `started` is when the last one had its turn."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0
        self.started = -math.inf
        self.delay = 0.0


class Pace:
    """Keeps the starts of requests to one host apart by `delay` seconds, in this process.

    Who is cancelled while waiting gives the turn to the next. Hosts are forgotten once they could be asked at once.
    """

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._queues: OrderedDict[str, _Queue] = OrderedDict()

    async def turn(self, host: str, delay: float = 0.0) -> None:
        """Waits until the host may be asked; by its own wish not sooner than `delay` seconds after the last time."""
        delay = max(delay, self._delay)
        if not delay:
            return
        queue = self._queues.setdefault(host, _Queue())
        self._queues.move_to_end(host)
        queue.waiting += 1
        try:
            async with queue.lock:
                loop = asyncio.get_running_loop()
                moment = max(queue.started + delay, loop.time())
                await asyncio.sleep(moment - loop.time())
                queue.started = max(moment, loop.time())
                queue.delay = delay
        finally:
            queue.waiting -= 1
            self._forget_idle()

    def _forget_idle(self) -> None:
        """Looks at the two that were asked longest ago, which in the long run is more than are added."""
        now = asyncio.get_running_loop().time()
        for _ in range(2 if len(self._queues) > _IDLE_HOSTS else 0):
            host, queue = next(iter(self._queues.items()))
            if queue.waiting or queue.started + queue.delay > now:
                self._queues.move_to_end(host)
            else:
                del self._queues[host]
