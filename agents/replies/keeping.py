"""What a recording of replies has to be to those who ask: here, or at the driver of a cluster."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from toolablate.agents.pacing.waits import Waited
from toolablate.agents.replies.recorded import AskedRequest, Came, KeptReply
from toolablate.tools.recorded.lookups import SingleFlight


class Keeping(ABC):
    """Keeps replies, and knows what is asked just now."""

    def __init__(self) -> None:
        self.flight: SingleFlight[Came] = SingleFlight()
        """What is being asked just now, so that who asks the same at the same time shares the one reply."""
        self._asking: dict[str, Waited] = {}

    @abstractmethod
    def get(self, asked: AskedRequest) -> KeptReply | None:
        """What is kept for a request and its repeat, as far as that is known at once."""

    @abstractmethod
    async def keep(self, asked: AskedRequest, kept: KeptReply) -> KeptReply:
        """What counts for that request from now on: what was there before, else this. When it returns, that is on the
        disk. One who is cancelled meanwhile leaves it to be written."""

    @asynccontextmanager
    async def turn(self, asked: AskedRequest) -> AsyncIterator[KeptReply | None]:
        """Inside of it the endpoint is asked, unless a reply is given that another has had meanwhile elsewhere."""
        yield None

    @contextmanager
    def asking(self, name: str, waited: Waited) -> Iterator[None]:
        """While what goes by that name is asked; `waited` tells whether it is still in line."""
        self._asking[name] = waited
        try:
            yield
        finally:
            del self._asking[name]

    def is_out(self, name: str) -> bool:
        """Whether a request of that name has been sent and not been answered."""
        waited = self._asking.get(name)
        return waited is not None and not waited.in_line
