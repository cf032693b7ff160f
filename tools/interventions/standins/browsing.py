"""What a trial with placebos has opened: pages that are under other questions already, and pages that stand in."""

import asyncio
from collections.abc import Iterable, Mapping

from pydantic import JsonValue

from toolablate.tools.browser.find import PatternError
from toolablate.tools.browser.page import Page
from toolablate.tools.browser.view import no_match
from toolablate.tools.donors import TrialDonors
from toolablate.tools.interventions.standins.echo import echoes
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted
from toolablate.tools.interventions.standins.pages import View, cut, found, page_stand_in, shown
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.search.envelope import canonical_url

FOREIGN = "unchanged: a page under another question already"


class Browsing:
    """One trial's pages, by the ids that the browser gave them. A page keeps what it is for the whole trial."""

    def __init__(self, donors: TrialDonors, withheld: Withheld) -> None:
        self._donors = donors
        self._withheld = withheld
        self._leads_to: set[str] = set()
        self._foreign: set[str] = set()
        self._standing: dict[str, tuple[str, Page]] = {}

    def leads_to(self, urls: Iterable[str]) -> None:
        """Addresses that a stand-in has shown: what they lead to is under another question already."""
        self._leads_to.update(map(canonical_url, urls))

    async def opened(self, output: str, given: Mapping[str, JsonValue], tool: str, wanted: Wanted) -> StandIn | None:
        view = View.read(output)
        if view is None:
            return None
        if view.page_id not in self._standing and self._is_foreign(view, given):
            clean = cut(view, given, self._withheld)
            if clean is not None:
                self._foreign.add(view.page_id)
                return StandIn(clean.written(), FOREIGN if clean == view else f"{FOREIGN}, but for what is withheld")
        if view.page_id not in self._standing:
            page = await page_stand_in(view, given, tool, wanted, self._donors, self._withheld)
            if page is None:
                return None
            # Another call may have opened the same page meanwhile.
            self._standing.setdefault(view.page_id, page)
        source, page_shown = self._standing[view.page_id]
        line, count = given.get("line", given.get("loc")), given.get("num_lines")
        first = max(line, 0) if isinstance(line, int) else 0
        lines = count if isinstance(count, int) and count > 0 else None
        return StandIn(shown(page_shown, view.page_id, first, lines), source)

    async def found(self, output: str, given: Mapping[str, JsonValue]) -> StandIn | None:
        page_id = _page_id(given)
        pattern, regex = str(given["pattern"]), given.get("regex") is True
        if page_id in self._standing:
            source, page = self._standing[page_id]
            try:
                text = await asyncio.to_thread(found, page, page_id, pattern, regex=regex)
            except PatternError:
                text = no_match(pattern, f"[{page_id}]")
            return StandIn(text, source)
        view = View.read(output)
        clean = cut(view, given, self._withheld) if view else None
        if clean is not None:
            return StandIn(clean.written(), FOREIGN if clean == view else f"{FOREIGN}, but for what is withheld")
        says = view is not None or self._withheld.holds(output, echoes(given))
        return StandIn(no_match(pattern, f"[{page_id}]") if says else output, FOREIGN)

    def _is_foreign(self, view: View, given: Mapping[str, JsonValue]) -> bool:
        """Named by a stand-in, opened before as such, or reached by a link of such a page."""
        named = next((given[name] for name in ("url", "id") if isinstance(given.get(name), str)), None)
        if isinstance(named, str) and not named.isdigit():
            return canonical_url(named) in self._leads_to or view.page_id in self._foreign
        return _page_id(given) in self._foreign or view.page_id in self._foreign


def _page_id(given: Mapping[str, JsonValue]) -> str:
    """As the browser has it: gpt-oss may give back an id of digits as a number."""
    cursor = given.get("page_id", given.get("cursor"))
    return f"{cursor:08}" if isinstance(cursor, int) else str(cursor or "")
