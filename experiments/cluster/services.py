"""At the driver, what has one owner: a web that is live or recorded, MCP servers, the file of recorded replies. Trials
on workers ask for it; what answers them is what a run on one machine uses."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from toolablate.agents.pacing import LetGo
from toolablate.agents.replies import JOINS, AskedRequest, KeptReply, ResponseCache
from toolablate.experiments.cluster.lent import Lent
from toolablate.experiments.cluster.messages import Asks, crossing
from toolablate.experiments.environment.environment import needed, servers_needed
from toolablate.experiments.environment.web import OpenedWeb, Tell, offline, open_web, silent
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.sections import RepliesSection
from toolablate.tools import PageUnreadableError
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Condition, Lookup, ServedModel

if TYPE_CHECKING:
    from pydantic import JsonValue

    from toolablate.tools.browser import PageSource
    from toolablate.tools.mcp import Connection, McpServer
    from toolablate.tools.search import SearchSource


CLOSE_SECONDS = 10.0
"""For an ended trial's connection to a server."""


@dataclass(frozen=True, slots=True)
class Services:
    """What the driver has that workers have not."""

    search: "SearchSource | None" = None
    pages: "PageSource | None" = None
    mcp: "Mapping[str, McpServer]" = field(default_factory=dict)
    replies: "Turns | None" = None

    def lent(self) -> Lent:
        listings = {name: server.listing for name, server in self.mcp.items()}
        name = self.search.name if self.search else ""
        return Lent(name, self.pages is not None, listings, self.replies is not None)


async def open_services(
    plan: Plan, conditions: Sequence[Condition], stack: AsyncExitStack, *, tell: Tell, warn: Tell
) -> Services:
    """Of what these conditions need that which has one owner; the stack closes it. Raises what `open_web` and
    `ResponseCache` raise."""
    replies = await open_turns(plan, stack)
    parts = needed(conditions) & of_one_owner(plan)
    web = await open_web(plan, parts, stack, servers=servers_needed(conditions), tell=tell) if parts else OpenedWeb()
    for warning in web.warnings:
        warn(warning)
    return Services(web.search, web.pages, web.mcp, replies)


def of_one_owner(plan: Plan) -> frozenset[str]:
    """Of `search`, `pages` and `mcp` what the driver has: all but what each worker reads from files of its own."""
    if plan.web.mode == "replay":
        return frozenset()
    return frozenset({"mcp"}) if offline(plan) else frozenset({"search", "pages", "mcp"})


async def open_turns(plan: Plan, stack: AsyncExitStack) -> "Turns | None":
    """Where the plan records replies. Raises what `ResponseCache` raises."""
    if not _records_replies(plan):
        return None
    return Turns(await stack.enter_async_context(ResponseCache(plan.replies.file, write=True)))


async def lent_to_be(plan: Plan, conditions: Sequence[Condition]) -> Lent:
    """As a run would lend it, without anything that it would record into. Raises what `open_services` raises."""
    web = plan.web.model_copy(update={"mode": "live"}) if plan.web.mode == "record" else plan.web
    recording_nothing = plan.model_copy(update={"web": web, "replies": RepliesSection()})
    async with AsyncExitStack() as stack:
        services = await open_services(recording_nothing, conditions, stack, tell=silent, warn=silent)
        return replace(services.lent(), replies=_records_replies(plan))


def _records_replies(plan: Plan) -> bool:
    return plan.replies.mode == "record" and any(isinstance(model, ServedModel) for model in plan.models)


class Turns:
    """Attempts that ask a model the same at the same time: one asks, and the others get its reply. Who has waited for
    two that got none asks by itself."""

    def __init__(self, cache: ResponseCache) -> None:
        self.cache = cache
        self._out: dict[str, asyncio.Future[None]] = {}

    async def take(self, asked: AskedRequest) -> tuple[KeptReply | None, bool]:
        """What is kept; else None, and whether that is a turn that has to be given back, by `over`."""
        for _ in range(JOINS):
            kept, under_way = self.cache.get(asked), self._out.get(asked.name)
            if kept is not None:
                return kept, False
            if under_way is None:
                self._out[asked.name] = asyncio.get_running_loop().create_future()
                return None, True
            await asyncio.shield(under_way)
        return self.cache.get(asked), False

    def over(self, name: str) -> None:
        self._out.pop(name).set_result(None)


Begun = Callable[[], Awaitable[object]]
"""What was asked for, once it is awaited."""


class Desk:
    """Where one attempt asks for what the driver has. Its connections and turns are its own, and end with it."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._connections: dict[str, Connection] = {}
        self._turns: set[str] = set()
        self._keeping: set[asyncio.Task[KeptReply]] = set()

    def begin(self, request: Asks) -> Begun:
        has = self._services
        given: tuple[Any, ...] = request.arguments
        match request.service:
            case "search" if has.search is not None:
                return partial(has.search.find, *given)
            case "pages" if has.pages is not None:
                return partial(has.pages.read, *given)
            case "mcp":
                return partial(self._call, *given)
            case "turn" if has.replies is not None:
                return partial(self._turn, has.replies, *given)
            case "keep" if has.replies is not None:
                # A reply is paid for: it is kept, whatever becomes of who had it.
                keeping = asyncio.create_task(self._keep(has.replies, *given))
                self._keeping.add(keeping)
                return partial(asyncio.shield, keeping)
            case "pass":
                self._pass(*given)
                return _nothing
        return partial(_no_service, request.service)

    async def _call(self, server: str, tool: str, arguments: "Mapping[str, JsonValue]") -> tuple[bytes | None, Lookup]:
        if server not in self._connections:
            there = {each.identity: each for each in self._services.mcp.values()}
            self._connections[server] = there[server].connect()
        return await self._connections[server].call(tool, arguments)

    async def _turn(self, replies: Turns, asked: AskedRequest) -> KeptReply | None:
        kept, holds = await replies.take(asked)
        if holds:
            self._turns.add(asked.name)
        return kept

    async def _keep(self, replies: Turns, asked: AskedRequest, kept: KeptReply) -> KeptReply:
        try:
            return await replies.cache.keep(asked, kept)
        finally:
            self._pass(asked.name)

    def _pass(self, name: str) -> None:
        if name in self._turns and self._services.replies is not None:
            self._turns.remove(name)
            self._services.replies.over(name)

    async def close(self) -> None:
        await asyncio.gather(*self._keeping, return_exceptions=True)
        for name in list(self._turns):
            self._pass(name)
        for connection in self._connections.values():
            # The trial has ended; what its server makes of that is no part of it.
            with suppress(Exception):
                async with asyncio.timeout(CLOSE_SECONDS):
                    await connection.close()


async def _nothing() -> None:
    """For who waits for no answer."""


async def _no_service(name: str) -> object:
    raise InternalError(f"the driver has no {name}")


async def answer_of(begun: Begun) -> object:
    """What came of it, or the error that it ended with, as it can be sent."""
    try:
        return await begun()
    except (PageUnreadableError, LetGo) as error:
        return error
    except Exception as error:  # noqa: BLE001 - a bug in a provider must cost one trial, and be seen
        return crossing(error)
