"""What a worker is told of what has one owner, the driver. It is sent once, and loads little."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolablate.agents import ModelSource
from toolablate.experiments.environment.web import OpenedWeb, server_address
from toolablate.experiments.plans.plan import Plan
from toolablate.experiments.plans.sections import RepliesSection
from toolablate.traces.records import Model, ServedModel

if TYPE_CHECKING:
    from toolablate.tools.mcp import McpServer


@dataclass(frozen=True, slots=True)
class Lent:
    """What workers are told of what the driver has. `search` is the provider's name, "" where each worker searches by
    itself, if at all; `listings` are of MCP servers, by name; `replies` tells that they are recorded."""

    search: str = ""
    pages: bool = False
    listings: Mapping[str, bytes] = field(default_factory=dict)
    replies: bool = False

    async def web(self, plan: Plan) -> OpenedWeb:
        from toolablate.experiments.cluster.proxies import RemotePages, RemoteSearch

        return OpenedWeb(
            search=RemoteSearch(self.search) if self.search else None,
            pages=RemotePages() if self.pages else None,
            mcp=await self._servers(plan) if self.listings else {},
        )

    async def _servers(self, plan: Plan) -> "dict[str, McpServer]":
        from toolablate.experiments.cluster.proxies import RemoteCalls
        from toolablate.tools.mcp import McpServer

        there = [section for section in plan.mcp if section.name in self.listings]
        servers = [McpServer(each.name, server_address(each), RemoteCalls(self.listings[each.name])) for each in there]
        for server in servers:
            await server.list()
        return {server.name: server for server in servers}

    def unrecorded(self, plan: Plan) -> Plan:
        """What the driver records is asked here as if nothing did."""
        return plan.model_copy(update={"replies": RepliesSection()}) if self.replies else plan

    def recording(self, sources: Mapping[str, ModelSource], models: Iterable[Model]) -> Mapping[str, ModelSource]:
        """The `sources` of these models, which are asked as `unrecorded` says."""
        if not self.replies:
            return sources
        from toolablate.experiments.cluster.proxies import RemotelyRecordedSource

        recorded = {
            model.name: RemotelyRecordedSource(sources[model.name], model)
            for model in models
            if isinstance(model, ServedModel)
        }
        return {**sources, **recorded}
