"""What a trial with placebos has opened: pages that are under other questions already, and pages that stand in."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolablate.tools.donors import TrialDonors
from toolablate.tools.frame import PageAsked, PageView
from toolablate.tools.interventions.standins.pages import Standing, cut, left, page_stand_in
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.search.envelope import canonical_url
from toolablate.tools.tool import ToolResult

FOREIGN = "unchanged: a page under another question already"
_OPENS = {"browser_find": "browser_open", "browser.find": "browser.open"}


@dataclass(frozen=True, slots=True)
class Addresses:
    """What had been shown when a call began, as canonical addresses: by stand-ins, and what was really found."""

    shown: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()

    def lead_astray(self, url: str) -> bool:
        """Whether what is there is under another question, and has nothing to do with this one."""
        return (address := canonical_url(url)) in self.shown and address not in self.found


class Browsing:
    """One trial's pages, by the ids that the browser gave them. A page keeps what it is for the whole trial, and which
    one stands in for it depends neither on the call that came first nor on what it asked for."""

    def __init__(self, seed: str, donors: TrialDonors, withheld: Withheld) -> None:
        self._seed = seed
        self._donors = donors
        self._withheld = withheld
        self.addresses = Addresses()
        self._foreign: set[str] = set()
        self._standing: dict[str, Standing] = {}
        self._settling: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def found(self, urls: Iterable[str]) -> frozenset[str]:
        """Addresses that the real search has found; gives them as they are kept."""
        found = frozenset(map(canonical_url, urls))
        self.addresses = replace(self.addresses, found=self.addresses.found | found)
        return found

    def shows(self, urls: Iterable[str]) -> None:
        """Addresses that a stand-in shows: what they lead to is under another question already."""
        shown = self.addresses.shown.union(map(canonical_url, urls))
        self.addresses = replace(self.addresses, shown=shown)

    async def seen(
        self, result: ToolResult, view: PageView, tool: str, begun: Addresses
    ) -> tuple[ToolResult, str] | None:
        """What is shown instead, and where it comes from; `begun` is what had been shown when the call began. None
        where nothing is to be had."""
        asked, page_id = view.asked, view.page.id
        if asked.link is not None and asked.page_id in self._standing:
            # The page that stands in has no links; where those of the real one lead is nobody's to know.
            return await self._of(self._standing[asked.page_id], asked)
        async with self._settling[page_id]:
            if page_id not in self._standing and page_id not in self._foreign:
                await self._settle(view, tool, begun)
        if page_id in self._standing:
            return await self._of(self._standing[page_id], asked)
        if page_id not in self._foreign:
            return None
        clean = cut(view, result.output, self._withheld)
        detail = FOREIGN if clean == result.output else f"{FOREIGN}, but for what is withheld"
        return replace(result, output=clean), detail

    async def _settle(self, view: PageView, tool: str, begun: Addresses) -> None:
        if self._is_foreign(view, begun) and (left(view, self._withheld) or not view.lines):
            self._foreign.add(view.page.id)
            return
        seed = f"{self._seed} placebo page {view.page.id}"
        opens = _OPENS.get(tool, tool)
        standing = await page_stand_in(
            view.page, view.asked.url, begun.found, opens, seed, self._donors, self._withheld
        )
        if standing is not None:
            self._standing[view.page.id] = standing

    def _is_foreign(self, view: PageView, begun: Addresses) -> bool:
        """Named by a stand-in, or reached by a link of a page that was."""
        asked = view.asked
        if asked.url is not None:
            return begun.lead_astray(asked.url)
        return (
            asked.link is not None
            and asked.page_id in self._foreign
            and canonical_url(view.page.url) not in begun.found
        )

    async def _of(self, standing: Standing, asked: PageAsked) -> tuple[ToolResult, str]:
        # A pattern may take seconds on a large page.
        return await asyncio.to_thread(standing.shown, asked), standing.source
