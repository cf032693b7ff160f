"""Pages in place of those that a model opened, and what of them was shown or found."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, replace

from pydantic import JsonValue

from toolablate.tools.browser.page import Page
from toolablate.tools.browser.view import matches, window
from toolablate.tools.donors import TrialDonors, ranked
from toolablate.tools.interventions.standins.echo import is_named
from toolablate.tools.interventions.standins.fitting import LONGEST, Wanted
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.search.envelope import canonical_url

UNTITLED = "(no title)"

_HEADING = re.compile(r"\[([0-9a-f]{8})\] (.*) \((.*)\)")
_LINES = re.compile(r"lines (\d+)-(\d+) of (\d+)")
_NUMBERED = re.compile(r"L\d+: ?")
_MARK = re.compile(r"【\d+†([^†】]*)(?:†[^】]*)?】")
_MARK_NUMBER = re.compile(r"【\d+†")
_MOST_KEPT = 40


@dataclass(frozen=True, slots=True)
class View:
    """A browser's output taken apart: the page, the line under its heading, and the numbered lines."""

    page_id: str
    title: str
    url: str
    under: str
    lines: tuple[str, ...]

    @classmethod
    def read(cls, output: str) -> "View | None":
        first, _, rest = output.partition("\n")
        heading = _HEADING.fullmatch(first)
        if heading is None:
            return None
        under, *lines = rest.split("\n")
        return cls(heading[1], heading[2], heading[3], under, tuple(lines))

    @property
    def page_chars(self) -> int:
        """How long the whole page is, as far as the lines that are shown tell."""
        counted = _LINES.fullmatch(self.under)
        chars = sum(map(len, self.lines))
        if counted is None or not self.lines:
            return chars
        return chars * int(counted[3]) // len(self.lines)

    def written(self) -> str:
        return "\n".join((f"[{self.page_id}] {self.title} ({self.url})", self.under, *self.lines))


def cut(view: View, given: Mapping[str, JsonValue], withheld: Withheld) -> View | None:
    """Without the lines, the title and the address that say what is withheld, but for what the call itself says. None
    where no line is left."""
    content = [_MARK_NUMBER.sub("【", _NUMBERED.sub("", line, count=1)) for line in view.lines]
    kept = [view.lines[number] for number in withheld.without(content)]
    if view.lines and not kept:
        return None
    title = UNTITLED if withheld.holds(view.title) else view.title
    # The line under the heading has counts of lines, and what the call looked for.
    url = "" if withheld.holds(view.url) and not is_named(view.url, given) else view.url
    return replace(view, title=title, url=url, lines=tuple(kept))


async def page_stand_in(
    view: View, given: Mapping[str, JsonValue], tool: str, wanted: Wanted, donors: TrialDonors, withheld: Withheld
) -> tuple[str, Page] | None:
    """A page under another question, without links and without what is withheld, of about the length of the one that
    is viewed, under its address; with that question's id. None where nothing is to be had."""
    chars = Wanted(view.page_chars, wanted.seed)
    best: tuple[tuple[bool, bool, float], tuple[str, Page]] | None = None
    async for source, page in _donor_pages(tool, wanted, donors):
        if canonical_url(page.url) == canonical_url(view.url):
            continue
        lines = [line for line in page.text.split("\n") if line.strip()]
        # A large page would hold up all other trials.
        left = await asyncio.to_thread(withheld.without, lines)
        kept = [lines[number] for number in left]
        text = "\n".join(_of_length(kept, chars))
        if not text:
            continue
        grade = (len(kept) < len(lines), not chars.is_similar(text), chars.distance(text))
        if best is None or grade < best[0]:
            title = UNTITLED if withheld.holds(page.title) else page.title
            urls = (view.url, page.url)
            url = next((url for url in urls if is_named(url, given) or not withheld.holds(url)), "")
            best = grade, (source, Page.of(url, title, text))
        if not (grade[0] or grade[1]):
            break
    return best and best[1]


def shown(page: Page, page_id: str, first: int, count: int | None) -> str:
    """A part of a page that stands in, under the id of the real one; from its beginning, where it ends before."""
    output = window(page, first if first < len(page.lines) else 0, count).output
    return f"[{page_id}]{output.partition(']')[2]}"


def found(page: Page, page_id: str, pattern: str, *, regex: bool) -> str:
    """What is found in a page that stands in. Raises PatternError."""
    output = matches(page, pattern, regex=regex).output
    return output.replace(f"[{page.id}]", f"[{page_id}]", 1)


async def _donor_pages(tool: str, wanted: Wanted, donors: TrialDonors) -> AsyncIterator[tuple[str, Page]]:
    kept = (donor for donor in donors.kept(tool) if not donor.error)
    for donor in ranked(kept, wanted.seed, lambda donor: f"{donor.source} {donor.output[:200]}")[:_MOST_KEPT]:
        view = View.read(donor.output)
        if view is not None and view.lines:
            yield donor.source, Page.of(view.url, view.title, "\n".join(_plain(line) for line in view.lines))
    async for source, page in donors.pages(wanted.seed):
        yield source, page


def _plain(line: str) -> str:
    return _MARK.sub(r"\1", _NUMBERED.sub("", line, count=1))


def _of_length(lines: Iterable[str], wanted: Wanted) -> list[str]:
    """As many lines as make the length that is wanted, one at least."""
    kept: list[str] = []
    for line in lines:
        if kept and sum(map(len, kept)) >= wanted.chars:
            break
        kept.append(line)
    if kept and len(kept[-1]) > LONGEST * max(wanted.chars, 1):
        kept[-1] = kept[-1][: int(LONGEST * max(wanted.chars, 1))].rpartition(" ")[0] or kept[-1]
    return kept
