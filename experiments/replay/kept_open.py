"""What is opened once for many batches, as far as they need it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Generic, TypeVar

N = TypeVar("N")
T = TypeVar("T")


class KeptOpen(Generic[N, T]):
    """What is opened where it is first needed, and open until it is closed. Where it was opened for less than is needed
    now, it is closed and opened for all so far: two at once could not both write one archive."""

    def __init__(self, open_for: Callable[[Sequence[N], AsyncExitStack], Awaitable[T]]) -> None:
        self._open_for = open_for
        self._needs: dict[str, N] = {}
        self.opened: list[T] = []
        self._stack = AsyncExitStack()

    async def fit_for(self, needs: Mapping[str, N]) -> T:
        """`needs` are by what tells them apart. What cannot be opened is not among the needs of the next time."""
        if not self.opened or not needs.keys() <= self._needs.keys():
            wanted = {**self._needs, **needs}
            await self.close()
            async with AsyncExitStack() as stack:
                self.opened = [await self._open_for(tuple(wanted.values()), stack)]
                self._needs, self._stack = wanted, stack.pop_all()
        return self.opened[0]

    async def close(self) -> None:
        self._needs, self.opened = {}, []
        await self._stack.aclose()
