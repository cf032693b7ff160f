"""Who may have a kernel: a plan's kernels are divided equally among the models that have trials left which need one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager


class KernelShares:
    """`left` is how many trials that need a kernel each model has. Where there are fewer kernels than models, one that
    hangs can hold up the others until it is given up."""

    def __init__(self, kernels: int, left: Mapping[str, int]) -> None:
        self._kernels = kernels
        self._left = Counter(left)
        self._held: Counter[str] = Counter()
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []

    @asynccontextmanager
    async def place(self, model: str) -> AsyncIterator[None]:
        """For as long as a trial lasts; served in the order in which they came, among those whose share is not used."""
        called = asyncio.get_running_loop().create_future()
        self._waiting.append((model, called))
        self._serve()
        try:
            await called
        except asyncio.CancelledError:
            if called.done() and not called.cancelled():
                self._held[model] -= 1
            self._serve()
            raise
        try:
            yield
        finally:
            self._held[model] -= 1
            self._serve()

    def done(self, model: str, trials: int = 1) -> None:
        """So many trials of a model ended or were given up; what it does not need is the others'."""
        self._left[model] -= trials
        self._serve()

    def _serve(self) -> None:
        models = sum(count > 0 for count in self._left.values())
        share = -(-self._kernels // max(models, 1))
        waiting, self._waiting = self._waiting, []
        for model, called in waiting:
            if called.done():
                continue
            if self._held.total() < self._kernels and self._held[model] < share:
                self._held[model] += 1
                called.set_result(None)
            else:
                self._waiting.append((model, called))
