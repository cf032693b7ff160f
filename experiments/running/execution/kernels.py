"""Who may have a kernel: a plan's kernels are shared out among the models that have trials left which need one."""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager


class KernelShares:
    """`left` is how many trials that need a kernel each model has, `at_once` how many of its trials can run at the same
    time.

    An equal share, rounded down, is kept for each of these models, so that those which hang hold up no other; of it no
    more than the model can use. What is not kept is lent, trial by trial. Where there are fewer kernels than models
    they take turns with one each, and those that hang can hold up the others until their trials end or are given up.
    """

    def __init__(self, kernels: int, left: Mapping[str, int], at_once: Mapping[str, int] | None = None) -> None:
        self._kernels = kernels
        self._at_once = at_once or {}
        self._left = Counter(left)
        self._held: Counter[str] = Counter()
        # The one that was served longest ago comes first.
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {model: deque() for model in left}

    @asynccontextmanager
    async def place(self, model: str) -> AsyncIterator[None]:
        """For as long as a trial lasts; a model's trials are served in the order in which they came."""
        called = asyncio.get_running_loop().create_future()
        self._waiting[model].append(called)
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
        while self._held.total() < self._kernels and (model := self._next()) is not None:
            self._held[model] += 1
            self._waiting[model].popleft().set_result(None)
            self._waiting[model] = self._waiting.pop(model)

    def _next(self) -> str | None:
        """The one that holds the fewest of those that wait and may have a place."""
        for waiting in self._waiting.values():
            while waiting and waiting[0].done():
                waiting.popleft()
        kept = self._kept()
        free = self._kernels - self._held.total()
        may = (
            model for model, waiting in self._waiting.items() if waiting and (kept[model] > 0 or free > kept.total())
        )
        return min(may, key=self._held.__getitem__, default=None)

    def _kept(self) -> Counter[str]:
        """How many kernels are kept for each model that has not got its share."""
        needing = {model: left for model, left in self._left.items() if left > 0}
        share = max(1, self._kernels // max(len(needing), 1))
        lacking = {
            model: min(share, left, self._at_once.get(model, left)) - self._held[model]
            for model, left in needing.items()
        }
        return Counter({model: lacks for model, lacks in lacking.items() if lacks > 0})
