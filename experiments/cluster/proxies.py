"""What has one owner, the driver: the web that is live or recorded. Trials on workers ask the driver for it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from toolablate.agents.pacing import LetGo
from toolablate.experiments.cluster.lines import ASKING
from toolablate.experiments.cluster.messages import Asks
from toolablate.experiments.cluster.worker import crossing
from toolablate.experiments.environment.environment import needed
from toolablate.experiments.environment.web import OpenedWeb, Tell, offline, open_web
from toolablate.experiments.plans.plan import Plan
from toolablate.tools import PageUnreadableError
from toolablate.traces.errors import InternalError
from toolablate.traces.records import Condition

if TYPE_CHECKING:
    from toolablate.tools.browser import Page, PageSource
    from toolablate.tools.search import SearchOutcome, SearchQuery, SearchSource

# On a worker: as what is there on one machine.


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
class Lent:
    """What workers are told of what the driver has. `search` is the provider's name, "" where each worker searches by
    itself, if at all."""

    search: str = ""
    pages: bool = False

    def web(self) -> OpenedWeb:
        return OpenedWeb(
            search=RemoteSearch(self.search) if self.search else None,
            pages=RemotePages() if self.pages else None,
        )


# At the driver.


@dataclass(frozen=True, slots=True)
class Services:
    """What the driver has that workers have not: the very objects that a run on one machine uses."""

    search: "SearchSource | None" = None
    pages: "PageSource | None" = None

    def lent(self) -> Lent:
        return Lent(self.search.name if self.search else "", self.pages is not None)


async def open_services(
    plan: Plan, conditions: Sequence[Condition], stack: AsyncExitStack, *, tell: Tell, warn: Tell
) -> Services:
    """Of what these conditions need that which has one owner; the stack closes it. Raises InputError as `open_web`."""
    if plan.web.mode == "replay":
        return Services()
    parts = needed(conditions) & (frozenset() if offline(plan) else {"search", "pages"})
    web = await open_web(plan, parts, stack, tell=tell)
    for warning in web.warnings:
        warn(warning)
    return Services(web.search, web.pages)


Begun = Callable[[], Awaitable[object]]
"""What was asked for, once it is awaited."""


class Desk:
    """Where one attempt asks for what the driver has."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def begin(self, asked: Asks) -> Begun:
        services = self._services
        match asked.service:
            case "search" if services.search is not None:
                return partial(services.search.find, *asked.arguments)  # type: ignore[arg-type]
            case "pages" if services.pages is not None:
                return partial(services.pages.read, *asked.arguments)  # type: ignore[arg-type]
        return partial(_no_service, asked.service)

    async def close(self) -> None:
        """Whatever the attempt had opened is closed."""


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
