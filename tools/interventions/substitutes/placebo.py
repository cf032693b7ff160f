"""The real tool is called, and what it found is swapped for what it gives under another question."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from toolablate.tools.interventions.intervention import Call, InterventionSetting, Options, Proceed, changed
from toolablate.tools.interventions.substitutes.fitting import (
    NOT_TO_BE_HAD,
    Substitute,
    SubstitutePage,
    code_substitute,
    cut,
    is_ours,
    left,
    listing_substitute,
    own_substitute,
    page_substitute,
)
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import TrialPlaceboSources
from toolablate.tools.search.ranked_results import canonical_url
from toolablate.tools.text import one_line
from toolablate.tools.tool import NO_OUTPUT, Listed, PageAsked, PageView, PrintedOutput, ToolResult
from toolablate.traces.errors import InternalError, ToolError

FOREIGN = "unchanged: a page under another question already"
_OPENS = {"browser_find": "browser_open", "browser.find": "browser.open"}


@dataclass(frozen=True, slots=True)
class ShownAddresses:
    """What had been shown when a call began, as canonical addresses: by substitutes, and what was really found."""

    shown: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()

    def lead_astray(self, url: str) -> bool:
        """Whether what is there is under another question, and has nothing to do with this one."""
        return (address := canonical_url(url)) in self.shown and address not in self.found


class Browsing:
    """One trial's pages, by the ids that the browser gave them. A page keeps what it is for the whole trial, and which
    one stands in for it depends neither on the call that came first nor on what it asked for."""

    def __init__(self, seed: str, sources: TrialPlaceboSources, withheld: Withheld) -> None:
        self._seed = seed
        self._sources = sources
        self._withheld = withheld
        self.addresses = ShownAddresses()
        self._foreign: set[str] = set()
        self._standing: dict[str, SubstitutePage] = {}
        self._settling: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def found(self, urls: Iterable[str]) -> frozenset[str]:
        """Addresses that the real search has found; gives them as they are kept."""
        found = frozenset(map(canonical_url, urls))
        self.addresses = replace(self.addresses, found=self.addresses.found | found)
        return found

    def shows(self, urls: Iterable[str]) -> None:
        """Addresses that a substitute shows: what they lead to is under another question already."""
        shown = self.addresses.shown.union(map(canonical_url, urls))
        self.addresses = replace(self.addresses, shown=shown)

    async def seen(
        self, result: ToolResult, view: PageView, tool: str, begun: ShownAddresses
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

    async def _settle(self, view: PageView, tool: str, begun: ShownAddresses) -> None:
        if self._is_foreign(view, begun) and (left(view, self._withheld) or not view.lines):
            self._foreign.add(view.page.id)
            return
        seed = f"{self._seed} placebo page {view.page.id}"
        opens = _OPENS.get(tool, tool)
        standing = await page_substitute(
            view.page, view.asked.url, begun.found, opens, seed, self._sources, self._withheld
        )
        if standing is not None:
            self._standing[view.page.id] = standing

    def _is_foreign(self, view: PageView, begun: ShownAddresses) -> bool:
        """Named by a substitute, or reached by a link of a page that was."""
        asked = view.asked
        if asked.url is not None:
            return begun.lead_astray(asked.url)
        return (
            asked.link is not None
            and asked.page_id in self._foreign
            and canonical_url(view.page.url) not in begun.found
        )

    async def _of(self, standing: SubstitutePage, asked: PageAsked) -> tuple[ToolResult, str]:
        # A pattern may take seconds on a large page.
        return await asyncio.to_thread(standing.shown, asked), standing.source


_ADDRESS_CHARS = 300
_ADDRESS = re.compile(r"[\w+.-]*://\S*")
_BEHIND_ADDRESS = ".,:;!?'\")]}>"


class Placebo:
    """Time, cost, state and the kind of outcome are those of the real tool; of what it found nothing is left but what
    the tool says in words of its own, and the arguments that it repeats. Raises ToolError where no other result can be
    had: what is real is never shown for want of another."""

    def __init__(self, options: Options, setting: InterventionSetting) -> None:
        self._setting = setting
        self._opened: tuple[TrialPlaceboSources, Withheld, Browsing] | None = None

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        sources, withheld, browsing = self._trial()
        # Calls that are made at once begin in their order, and end in any.
        begun = browsing.addresses
        result = await proceed()
        seed = f"{self._setting.seed} placebo {call.number}"
        match result.parsed:
            case Listed(entries=()):
                return _without_parsed(result)
            case Listed() as real:
                own = browsing.found(entry.url for entry in real.entries)
                substitute = await listing_substitute(real, begun.found | own, call.tool, seed, sources, withheld)
                browsing.shows(substitute.urls if substitute else ())
            case PageView() as view:
                return await self._page(call, result, view, begun)
            case PrintedOutput() as printed:
                if result.output == NO_OUTPUT:
                    return _without_parsed(result)
                substitute = code_substitute(result, printed, call.tool, seed, sources, withheld)
            case None if call.template.form != "plain":
                return _our_words(result, call)
            case None:
                if result.output == call.template.nothing(call.arguments) or is_ours(result):
                    return result
                substitute = self._inspected(
                    own_substitute(result, call.tool, seed, sources, withheld), call.tool, sources
                )
        if substitute is None:
            raise _no_source(call.tool)
        return _swapped(result, substitute)

    async def _page(self, call: Call, result: ToolResult, view: PageView, begun: ShownAddresses) -> ToolResult:
        _, _, browsing = self._trial()
        shown = await browsing.seen(result, view, call.tool, begun)
        if shown is None:
            raise _no_source(call.tool)
        of_page, detail = shown
        kept = replace(of_page, lookup=result.lookup, artifacts=(), changes=result.changes)
        return changed(_without_parsed(kept), "placebo", detail)

    def _inspected(self, substitute: Substitute | None, tool: str, sources: TrialPlaceboSources) -> Substitute | None:
        """With what a guard would have noticed, had the tool itself said it."""
        if substitute is None or tool not in self._setting.outside:
            return substitute
        inspection = sources.inspect(tool, substitute.output)
        return None if inspection.blocked else replace(substitute, markers=inspection.markers)

    def _trial(self) -> tuple[TrialPlaceboSources, Withheld, Browsing]:
        """Taking a question apart can wait until its first call."""
        if self._opened is None:
            question, sources = self._setting.question, self._setting.placebo_sources
            if question is None or sources is None:
                raise InternalError("placebo: the trial's question and its sources are not known")
            withheld = Withheld(question)
            self._opened = sources, withheld, Browsing(self._setting.seed, sources, withheld)
        return self._opened


def _swapped(result: ToolResult, substitute: Substitute) -> ToolResult:
    """Markers and artifacts of what was real are no more shown."""
    shown = replace(result, output=substitute.output, markers=substitute.markers, artifacts=())
    return changed(_without_parsed(shown), "placebo", substitute.source or "unchanged")


def _without_parsed(result: ToolResult) -> ToolResult:
    return replace(result, parsed=None)


def _our_words(result: ToolResult, call: Call) -> ToolResult:
    """What is wrong with a call, or that a page is not to be had, stays, unless it names an address that the call does
    not: where a page has moved to."""
    if result.status == "ok":
        raise InternalError(f"placebo: {call.tool} does not say what of its output is its own")
    arguments = (argument for argument in call.arguments.values() if isinstance(argument, str))
    named = {address for argument in arguments for address in _addresses(one_line(argument, _ADDRESS_CHARS))}
    if _addresses(result.output) <= named:
        return result
    return changed(replace(result, output=NOT_TO_BE_HAD), "placebo", "words of the call left out")


def _addresses(text: str) -> set[str]:
    """Each as far as the next blank, without the punctuation of what stands around it."""
    return {address.rstrip(_BEHIND_ADDRESS) for address in _ADDRESS.findall(text)}


def _no_source(tool: str) -> ToolError:
    return ToolError(
        f"placebo: every result of {tool} under another question is the real one or says the answer or a choice",
        hint='name a store of an earlier run with more questions: [placebo] store = "pilot.sqlite"',
        code="no_placebo_source",
    )
