"""The real tool is called, and what it found is swapped for what it gives under another question."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from toolablate.tools.corpus import DOCUMENT_TOOLS
from toolablate.tools.interventions.intervention import Call, InterventionSetting, Proceed, changed
from toolablate.tools.interventions.substitutes import PlaceboOptions
from toolablate.tools.interventions.substitutes.fitting import (
    NOT_TO_BE_HAD,
    SHORT,
    Substitute,
    SubstitutePage,
    at_most,
    code_substitute,
    cut,
    is_ours,
    left,
    listing_substitute,
    own_substitute,
    page_substitute,
    resized,
    similar,
)
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import TrialPlaceboSources
from toolablate.tools.search.ranked_results import canonical_url
from toolablate.tools.text import one_line
from toolablate.tools.tool import NO_OUTPUT, Listed, PageAsked, PageView, PrintedOutput, ToolResult
from toolablate.traces.errors import InternalError, ToolError

FOREIGN = "unchanged: a page under another question already"
_OPENS = {"browser_find": "browser_open", "browser.find": "browser.open", "document_find": "document_open"}


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

    def __init__(self, seed: str, sources: TrialPlaceboSources, withheld: Withheld, most: int | None) -> None:
        self._seed = seed
        self._most = most
        self._sources = sources
        self._withheld = withheld
        self.addresses = ShownAddresses()
        self._foreign: set[str] = set()
        self._standing: dict[str, SubstitutePage] = {}
        self._settling: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._instead_of: dict[str, str] = {}

    def found(self, urls: Iterable[str]) -> frozenset[str]:
        """Addresses that the real search has found; gives them as they are kept."""
        found = frozenset(map(canonical_url, urls))
        self.addresses = replace(self.addresses, found=self.addresses.found | found)
        return found

    def shows(self, urls: Sequence[str], real: Sequence[str]) -> None:
        """Addresses that a substitute shows: what they lead to is under another question already. Each stands in the
        place of a `real` one."""
        shown = self.addresses.shown.union(map(canonical_url, urls))
        self.addresses = replace(self.addresses, shown=shown)
        for url, replaced in zip(urls, cycle(real), strict=False):
            self._instead_of.setdefault(canonical_url(url), replaced)

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
        seed, opens = f"{self._seed} placebo page {view.page.id}", _OPENS.get(tool, tool)
        if self._is_foreign(view, begun) and (left(view, self._withheld) or not view.lines):
            standing = await self._of_real_length(view, opens, seed)
            if standing is None:
                self._foreign.add(view.page.id)
        else:
            real = replace(view.page, chars=at_most(view.page.chars, self._most))
            standing = await page_substitute(
                real, view.asked.url, begun.found, opens, seed, self._sources, self._withheld
            )
        if standing is not None:
            self._standing[view.page.id] = standing

    async def _of_real_length(self, view: PageView, tool: str, seed: str) -> SubstitutePage | None:
        """A page that a list under another question led to, as long as what the real list has at that place. None where
        it is about as long already, or that length is not known."""
        replaced = self._instead_of.get(canonical_url(view.asked.url or ""))
        real = await self._sources.page(replaced) if replaced and self._most is None else None
        chars = at_most(view.page.chars if real is None else len(real.text), self._most)
        if max(chars, view.page.chars) <= SHORT or similar(chars, view.page.chars):
            return None
        whole = await self._sources.page(view.page.url)
        if whole is None:
            return None
        return await resized(view, chars, whole, tool, seed, self._sources, self._withheld)

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
_DRAWS = 8


class Placebo:
    """Time, cost, state and the kind of outcome are those of the real tool; of what it found nothing is left but what
    the tool says in words of its own, and the arguments that it repeats. Raises ToolError where no other result can be
    had: what is real is never shown for want of another."""

    def __init__(self, options: PlaceboOptions, setting: InterventionSetting) -> None:
        self._setting = setting
        self._most = options.chars
        self._opened: dict[bool, tuple[TrialPlaceboSources, Withheld, Browsing]] = {}

    async def apply(self, call: Call, proceed: Proceed) -> ToolResult:
        sources, withheld, browsing = self._trial(call.tool)
        # Calls that are made at once begin in their order, and end in any.
        begun = browsing.addresses
        result = await proceed()
        seed = f"{self._setting.seed} placebo {call.number}"
        match result.parsed:
            case Listed(entries=()):
                return _without_parsed(result)
            case Listed() as real:
                own = browsing.found(entry.url for entry in real.entries)
                known = begun.found | own
                substitute = await listing_substitute(real, known, call.tool, seed, sources, withheld, self._most)
                browsing.shows(substitute.urls if substitute else (), [entry.url for entry in real.entries])
            case PageView() as view:
                return await self._page(call, result, view, begun)
            case PrintedOutput() as printed:
                if result.output == NO_OUTPUT:
                    return _without_parsed(result)
                substitute = code_substitute(result, printed, call.tool, seed, sources, withheld, self._most)
            case None if call.template.form != "plain":
                return _our_words(result, call)
            case None:
                if result.output == call.template.nothing(call.arguments) or is_ours(result):
                    return result
                # What a guard blocks is drawn again.
                draws = (seed, *(f"{seed} again {number}" for number in range(1, _DRAWS)))
                most = self._most
                drawn = (own_substitute(result, call.tool, each, sources, withheld, most) for each in draws)
                substitute = next(filter(None, (self._inspected(each, call.tool, sources) for each in drawn)), None)
        if substitute is None:
            raise _no_source(call.tool)
        return _swapped(result, substitute, self._most)

    async def _page(self, call: Call, result: ToolResult, view: PageView, begun: ShownAddresses) -> ToolResult:
        _, _, browsing = self._trial(call.tool)
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

    def _trial(self, tool: str) -> tuple[TrialPlaceboSources, Withheld, Browsing]:
        """Taking a question apart can wait until its first call. Documents of questions are apart from the web."""
        of_documents = tool in DOCUMENT_TOOLS
        if of_documents not in self._opened:
            question, sources = self._setting.question, self._setting.placebo_sources
            if question is None or sources is None:
                raise InternalError("placebo: the trial's question and its sources are not known")
            sources = sources.of_documents() if of_documents else sources
            withheld = Withheld(question)
            browsing = Browsing(self._setting.seed, sources, withheld, self._most)
            self._opened[of_documents] = sources, withheld, browsing
        return self._opened[of_documents]


def _swapped(result: ToolResult, substitute: Substitute, most: int | None) -> ToolResult:
    """Markers and artifacts of what was real are no more shown."""
    output = substitute.output
    if most is not None and len(output) > most:
        output = output[:most].rpartition("\n")[0] or output[:most].rpartition(" ")[0] or output[:most]
    shown = replace(result, output=output, markers=substitute.markers, artifacts=())
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
