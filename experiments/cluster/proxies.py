"""On a worker, what the driver has: as it is on one machine, and each use of it is asked of the driver."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from toolablate.agents import ChatModel, ModelSource
from toolablate.agents.replies import AskedRequest, Keeping, KeptReply, RecordedChat
from toolablate.experiments.cluster.lines import ASKING
from toolablate.traces.records import Condition, Lookup, Question, ServedModel

if TYPE_CHECKING:
    from pydantic import JsonValue

    from toolablate.tools.browser import Page
    from toolablate.tools.search import SearchOutcome, SearchQuery


@dataclass(frozen=True, slots=True)
class RemoteSearch:
    """A `SearchSource`."""

    name: str

    async def find(self, asked: "SearchQuery") -> "SearchOutcome":
        found: SearchOutcome = await ASKING.get().ask("search", asked)
        return found


class RemotePages:
    """A `PageSource`. A page crosses as the text that was read of it, which the extraction bounds."""

    async def read(self, url: str) -> "Page":
        page: Page = await ASKING.get().ask("pages", url)
        return page


@dataclass(frozen=True, slots=True)
class RemoteCalls:
    """The `Calls` of a server that the driver has listed, and is connected to."""

    listing: bytes

    async def call(
        self, server: str, tool: str, arguments: "Mapping[str, JsonValue]", live: object
    ) -> tuple[bytes | None, Lookup]:
        given: tuple[bytes | None, Lookup] = await ASKING.get().ask("mcp", server, tool, dict(arguments))
        return given

    async def tools(self, server: str, live: object) -> bytes:
        return self.listing


class RemoteReplies(Keeping):
    """For one trial: what one trial asks must not end with another. All of a run take turns at the driver."""

    def get(self, asked: AskedRequest) -> KeptReply | None:
        """Its turn will tell."""
        return None

    async def keep(self, asked: AskedRequest, kept: KeptReply) -> KeptReply:
        counts: KeptReply = await ASKING.get().ask("keep", asked, kept)
        return counts

    @asynccontextmanager
    async def turn(self, asked: AskedRequest) -> AsyncIterator[KeptReply | None]:
        asking, had = ASKING.get(), None
        try:
            had = await asking.ask("turn", asked)
            yield had
        finally:
            if had is None:
                asking.tell("pass", asked.name)


@dataclass(frozen=True, slots=True)
class RemotelyRecordedSource:
    """A `ModelSource` that asks `source` here, and has the replies kept by the driver."""

    source: ModelSource
    model: ServedModel

    def session(self, question: Question, condition: Condition, repeat: int) -> ChatModel:
        inner = self.source.session(question, condition, repeat)
        return RecordedChat(inner, self.model, RemoteReplies(), repeat)

    async def close(self) -> None:
        await self.source.close()
