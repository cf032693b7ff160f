"""Pages in place of those that a model opened, and what of a page that passes is left out."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterable
from dataclasses import dataclass, replace

from toolablate.tools.browser.find import PatternError
from toolablate.tools.browser.page import Page
from toolablate.tools.browser.view import bad_pattern, matches, no_match, no_such_link, window
from toolablate.tools.donors import TrialDonors, page_of, ranked
from toolablate.tools.frame import PageAsked, PageShown, PageView
from toolablate.tools.interventions.standins.fitting import LONGEST, distance, similar
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.search.envelope import canonical_url
from toolablate.tools.tool import ToolResult
from toolablate.traces.records import Marker

UNTITLED = "(no title)"

_MARK_NUMBER = re.compile(r"【\d+†")
_MOST_KEPT = 40


@dataclass(frozen=True, slots=True)
class Standing:
    """A page that stands in for a real one under its id; `source` names the question that it comes from."""

    page_id: str
    page: Page
    source: str
    markers: tuple[Marker, ...] = ()

    def shown(self, asked: PageAsked) -> ToolResult:
        """What the browser would say of it, and nothing that depends on the real page."""
        if asked.link is not None and asked.page_id == self.page_id:
            result = no_such_link(self.page, asked.link)
        elif asked.pattern is None:
            result = window(self.page, asked.line, asked.num_lines)
        else:
            try:
                result = matches(self.page, asked.pattern, regex=asked.regex)
            except PatternError as error:
                result = bad_pattern(self.page, asked.pattern, error, regex=asked.regex)
        # The id is the digest of the address, and this page has that of the real one.
        return replace(result, output=result.output.replace(self.page.id, self.page_id, 1), markers=self.markers)


def cut(view: PageView, output: str, withheld: Withheld) -> str:
    """The output without the lines, the title and the address that say what is withheld, but for what the call itself
    says."""
    page, asked = view.page, view.asked
    named = asked.url is not None and canonical_url(asked.url) == canonical_url(page.url)
    title = UNTITLED if withheld.holds(page.title) else page.title
    clean = replace(page, title=title, url="" if not named and withheld.holds(page.url) else page.url)
    if not view.lines:
        return output.replace(page.heading, clean.heading, 1)
    kept = left(view, withheld)
    if not kept and asked.pattern is not None:
        return no_match(asked.pattern, clean.heading)
    return replace(view, page=clean, lines=kept).output


def left(view: PageView, withheld: Withheld) -> tuple[tuple[str, str], ...]:
    """The lines that say nothing that is withheld."""
    content = [_MARK_NUMBER.sub("【", text) for _, text in view.lines]
    return tuple(view.lines[number] for number in withheld.without(content))


async def page_stand_in(
    real: PageShown,
    named: str | None,
    known: Collection[str],
    tool: str,
    seed: str,
    donors: TrialDonors,
    withheld: Withheld,
) -> Standing | None:
    """A page under another question, without links and without what is withheld, of about the length of the real one,
    under the address that the model gave or else its own, and none of those at the addresses that are `known` to be
    really found. None where nothing is to be had."""
    taken = {canonical_url(real.url), *known}
    best: tuple[tuple[bool, bool, float], Standing] | None = None
    async for source, page in _donor_pages(tool, seed, taken, donors):
        inspection = donors.inspect(page.url, page.text)
        if inspection.blocked or canonical_url(page.url) in taken:
            continue
        lines = [line for line in page.text.split("\n") if line.strip()]
        # A large page would hold up all other trials.
        kept = await asyncio.to_thread(withheld.without, lines)
        text = "\n".join(_of_length([lines[number] for number in kept], real.chars))
        if not text:
            continue
        grade = (len(kept) < len(lines), not similar(real.chars, text), distance(real.chars, text))
        if best is None or grade < best[0]:
            title = UNTITLED if withheld.holds(page.title) else page.title
            url = named if named is not None else "" if withheld.holds(page.url) else page.url
            best = grade, Standing(real.id, Page.of(url, title, text), source, inspection.markers)
        if not (grade[0] or grade[1]):
            break
    return best and best[1]


async def _donor_pages(
    tool: str, seed: str, taken: Collection[str], donors: TrialDonors
) -> AsyncIterator[tuple[str, Page]]:
    kept = (donor for donor in donors.kept(tool) if not donor.error)
    for donor in ranked(kept, seed, lambda donor: f"{donor.source} {donor.output[:200]}")[:_MOST_KEPT]:
        page = page_of(donor.output)
        if page is not None:
            yield donor.source, page
    async for source, page in donors.pages(seed, taken):
        yield source, page


def _of_length(lines: Iterable[str], chars: int) -> list[str]:
    """As many lines as make so many characters, one at least."""
    kept: list[str] = []
    for line in lines:
        if kept and sum(map(len, kept)) >= chars:
            break
        kept.append(line)
    most = int(LONGEST * max(chars, 1))
    if kept and len(kept[-1]) > most:
        kept[-1] = kept[-1][:most].rpartition(" ")[0] or kept[-1]
    return kept
