"""Which result under another question takes the place of a real one, for listings, pages, programs and others."""

import asyncio
import json
import re
import unicodedata
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import log

from toolablate.tools.browser.find import PatternError
from toolablate.tools.browser.page import Page
from toolablate.tools.browser.tool import bad_pattern, matches, no_match, no_such_link, window
from toolablate.tools.interventions.substitutes.withheld import Withheld
from toolablate.tools.placebo_sources import (
    PlaceboSource,
    TrialPlaceboSources,
    entries_of,
    page_of,
    python_bank,
    ranked,
    same_words,
)
from toolablate.tools.placebo_sources.sources import PlaceboResults
from toolablate.tools.python import TRUNCATED
from toolablate.tools.search.ranked_results import canonical_url
from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import Entry, Listed, PageAsked, PageShown, PageView, PrintedOutput, ToolResult, listed
from toolablate.traces.records import Marker

LONGEST = 2.0
"""How many times as long as the real one, or as short, a substitute may be where there is a choice."""

_LETTERS_LOOKED_AT = 200
_PART = 0.15


@dataclass(frozen=True, slots=True)
class Substitute:
    """An output in place of a real one; `source` names the question that it comes from, or where else it does. `urls`
    are those that it shows, `markers` what was noticed in it."""

    output: str
    source: str
    urls: tuple[str, ...] = ()
    markers: tuple[Marker, ...] = ()


@dataclass(frozen=True, slots=True)
class SubstituteRequest:
    """Something in place of the `real` text, drawn by the seed; `keep_end` where what matters stands at the end;
    `composed` where several may be put together, `whole_lines` where a line is not to be cut."""

    real: str
    seed: str
    keep_end: bool = False
    composed: bool = False
    whole_lines: bool = False

    @property
    def chars(self) -> int:
        return len(self.real)

    def is_similar(self, text: str) -> bool:
        return similar(self.chars, text)

    def distance(self, text: str) -> float:
        return distance(self.chars, text)

    def takes(self, text: str) -> bool:
        """Neither nothing nor what is real."""
        return bool(text.strip()) and same_words(text) != same_words(self.real)


def similar(chars: int, text: str) -> bool:
    return chars <= LONGEST * len(text) and len(text) <= LONGEST * chars


def distance(chars: int, text: str) -> float:
    return abs(log(max(len(text), 1) / max(chars, 1)))


def fitting(
    sources: Sequence[PlaceboSource], wanted: SubstituteRequest, withheld: Withheld, *, strict: bool = False
) -> Substitute | None:
    """One of similar length at random, else the nearest; only where none is free of what is withheld, one of which
    lines are left out. `strict` takes only what is similar and free as it is. None where nothing is left."""
    order = list(_in_order(sources, wanted))
    for place, candidate in enumerate(order):
        output = shortened(candidate.output, wanted)
        if strict and not wanted.is_similar(output):
            continue
        if wanted.takes(output) and not withheld.holds(output):
            rest = order[place + 1 :] if wanted.composed and not strict else []
            return _composed(Substitute(output, candidate.source), rest, wanted, withheld)
    if strict:
        return None
    for candidate in order:
        output = _without(shortened(candidate.output, wanted), withheld)
        if wanted.takes(output):
            return Substitute(output, candidate.source)
    return None


def in_script_of(text: str, sources: Iterable[PlaceboSource]) -> list[PlaceboSource]:
    """The sources in the order given, but those that are written in another script than the text last."""
    return sorted(sources, key=lambda candidate: not in_script(candidate.output, text))


def in_script(text: str, real: str) -> bool:
    """Whether it is written as the real one is, or one of them has no letters."""
    wanted = _script(real)
    return not wanted or _script(text) in ("", wanted)


def is_structured(text: str) -> bool:
    """Whether it is a JSON object or list, of which no part can be left out."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _script(text: str) -> str:
    """The script of its letters (`LATIN`, `CJK`), another one than Latin where a part is, since addresses and code are
    in Latin everywhere; empty where it has none."""
    letters = [each for each in text[: 4 * _LETTERS_LOOKED_AT] if each.isalpha()][:_LETTERS_LOOKED_AT]
    scripts = ["LATIN" if each.isascii() else unicodedata.name(each, "?").split()[0] for each in letters]
    often = [script for script in sorted(set(scripts)) if scripts.count(script) >= _PART * len(scripts)]
    return max(often, key=lambda script: (script != "LATIN", scripts.count(script)), default="")


def _without(output: str, withheld: Withheld) -> str:
    if is_structured(output):
        return "" if withheld.holds(output) else output
    lines = output.split("\n")
    return "\n".join(lines[number] for number in withheld.without(lines))


def _in_order(sources: Sequence[PlaceboSource], wanted: SubstituteRequest) -> Iterator[PlaceboSource]:
    order = ranked(
        sources, wanted.seed, lambda candidate: f"{candidate.source} {len(candidate.output)} {candidate.output[:100]}"
    )
    order = in_script_of(wanted.real, order)
    yield from (candidate for candidate in order if wanted.is_similar(candidate.output))
    yield from sorted((d for d in order if not wanted.is_similar(d.output)), key=lambda d: wanted.distance(d.output))


def _composed(
    first: Substitute, rest: Sequence[PlaceboSource], wanted: SubstituteRequest, withheld: Withheld
) -> Substitute:
    """Followed by others, where it is too short."""
    output, sources = first.output, [first.source]
    for candidate in rest:
        if wanted.chars <= LONGEST * len(output):
            break
        longer = f"{output}\n{candidate.output}"
        if len(longer) <= LONGEST * wanted.chars and wanted.takes(longer) and not withheld.holds(longer):
            output = longer
            sources.append(candidate.source)
    return Substitute(output, ", ".join(dict.fromkeys(sources)))


def shortened(text: str, wanted: SubstituteRequest) -> str:
    """Cut at a line to about the length that is wanted, if it is more than twice as long; at a blank where the line is
    too long by itself and may be cut."""
    if len(text) <= LONGEST * wanted.chars or (wanted.whole_lines and is_structured(text)):
        return text
    lines = text.split("\n")
    kept = [lines.pop(-1 if wanted.keep_end else 0)]
    while lines and sum(map(len, kept)) + len(kept) < wanted.chars:
        kept.insert(0, lines.pop()) if wanted.keep_end else kept.append(lines.pop(0))
    cut = "\n".join(kept)
    most = int(LONGEST * wanted.chars)
    if len(cut) <= most or wanted.whole_lines:
        return cut
    # Never within a word: a part of it may say what the whole of it would be withheld for.
    return cut[-most:].partition(" ")[2] or cut if wanted.keep_end else cut[:most].rpartition(" ")[0] or cut


# What a program printed, swapped for what another one did that has nothing to do with the question.


BANK = "bank"

_SINGLE = ("integer", "decimal", "boolean", "word", "figure")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d+)*|\.\d+)(?:[eE][-+]?\d+)?j?%?(?:/\d+)?")
_BETWEEN = re.compile(r"(?:[\s\[\](){},;:]|\b(?:array|np\.\w+)\b)+")
_COLUMNS = re.compile(r"\S(?: {2,}|\t+)\S")
_INTERRUPTED = re.compile(r"^-{20,}\nKeyboardInterrupt\s+Traceback \(most recent call last\)$", re.MULTILINE)
_SUBSTITUTE_INTERRUPTED = (
    f"{'-' * 75}\nKeyboardInterrupt{' ' * 25}Traceback (most recent call last)\n\nKeyboardInterrupt: "
)


def code_substitute(
    result: ToolResult, printed: PrintedOutput, tool: str, seed: str, sources: TrialPlaceboSources, withheld: Withheld
) -> Substitute | None:
    """Of the same kind and of similar length, else of another kind. What the sandbox says behind it stays; of a cell
    that was stopped, that it was interrupted, but not where. None where nothing is to be had."""
    if printed.note in ("", TRUNCATED):
        swapped = _swapped(printed.text, result.error, tool, seed, sources, withheld)
        return swapped and Substitute("\n".join(filter(None, (swapped.output, printed.note))), swapped.source)
    # A program may write such a heading itself: what stands behind it is left out all the same.
    interrupted = _INTERRUPTED.search(printed.text)
    before = printed.text[: interrupted.start() if interrupted else None].rstrip("\n")
    swapped = _swapped(before, "", tool, seed, sources, withheld) if before else Substitute("", "")
    said = (_SUBSTITUTE_INTERRUPTED if interrupted else "", printed.note)
    return swapped and Substitute("\n".join(filter(None, (swapped.output, *said))), swapped.source)


def kind_of(output: str, error: str) -> str:
    """Of what kind an output is: an exception of this name, one integer or decimal, numbers, a table, a plot, text."""
    if error:
        return f"error {error}"
    text = output.strip()
    if text in ("True", "False"):
        return "boolean"
    if text.startswith("<Figure"):
        return "figure"
    if _NUMBER.fullmatch(text):
        return "integer" if text.lstrip("+-").isdigit() else "decimal"
    parts = [part for part in _BETWEEN.split(text[:20_000]) if part]
    if parts and all(map(_NUMBER.fullmatch, parts)):
        return "numbers"
    lines = text.splitlines()
    columned = sum(_COLUMNS.search(line) is not None for line in lines)
    if len(lines) > 2 and columned > 0.6 * len(lines):
        return "table"
    return "word" if text.isalpha() else "text"


def _swapped(
    output: str, error: str, tool: str, seed: str, sources: TrialPlaceboSources, withheld: Withheld
) -> Substitute | None:
    # Of two truth values the one that is not real would tell the real one.
    kind = "word" if (real := kind_of(output, error)) == "boolean" else real
    wanted = SubstituteRequest(output, seed, keep_end=bool(error), composed=not error and kind not in _SINGLE)
    earlier, bank = sources.kept(tool), _bank()
    same = [candidate for candidate in earlier if kind_of(candidate.output, candidate.error) == kind]
    same_in_bank = [candidate for candidate in bank if kind_of(candidate.output, candidate.error) == kind]
    alike = [
        candidate
        for candidate in (*earlier, *bank)
        if bool(candidate.error) == bool(error) and kind_of(candidate.output, candidate.error) != "boolean"
    ]
    return (
        fitting(same, wanted, withheld, strict=True)
        or fitting(same_in_bank, wanted, withheld, strict=True)
        or fitting([*same, *same_in_bank], wanted, withheld)
        or fitting(alike, wanted, withheld)
    )


@lru_cache(maxsize=1)
def _bank() -> tuple[PlaceboSource, ...]:
    return tuple(
        PlaceboSource(f"{BANK} {number}", example.output, example.error)
        for number, example in enumerate(python_bank(), start=1)
    )


# Results of the user's own functions and of MCP servers, swapped for those that they gave before.


NOT_TO_BE_HAD = told("this is not to be had")
"""What a model is told in place of an error that no other question had: an error without a reason."""

ALWAYS_SAID = "unchanged: the tool says the same under every other question"


def own_substitute(
    result: ToolResult, tool: str, seed: str, sources: TrialPlaceboSources, withheld: Withheld
) -> Substitute | None:
    """Of the same outcome and if it can be of the same build: JSON for JSON, a text in the same script, a word for a
    word. A line is shown whole or not at all. What the tool says under every question, as that something is saved, is
    nothing that it found, and stays."""
    failed = result.status != "ok"
    kept = [candidate for candidate in sources.kept(tool) if bool(candidate.error) == failed]
    if failed:
        kept = [candidate for candidate in kept if candidate.error == result.error] or kept
    if {same_words(candidate.output) for candidate in kept} == {same_words(result.output)}:
        return None if withheld.holds(result.output) else Substitute(result.output, ALWAYS_SAID, markers=result.markers)
    wanted = SubstituteRequest(result.output, seed, whole_lines=True)
    by_similarity = sorted(kept, key=lambda candidate: _unlike(candidate.output, result.output))
    for _, chosen in groupby(by_similarity, key=lambda candidate: _unlike(candidate.output, result.output)):
        alike = list(chosen)
        found = fitting(alike, wanted, withheld, strict=True) or fitting(alike, wanted, withheld)
        if found:
            return found
    return Substitute(NOT_TO_BE_HAD, "nobody") if failed else None


def is_ours(result: ToolResult) -> bool:
    """Whether it says no more than that the archive or a guard has nothing to give."""
    return any(result.output == told(message) for message in MISS_MESSAGES.values())


def _unlike(output: str, real: str) -> tuple[bool, bool, bool]:
    """In what it differs: in that it is JSON, in its script, in that it is one word; the first weighs most."""
    return (
        is_structured(output) != is_structured(real),
        not in_script(output, real),
        (len(output.split()) == 1) != (len(real.split()) == 1),
    )


# Pages in place of those that a model opened, and what of a page that passes is left out.


UNTITLED = "(no title)"

_MARK_NUMBER = re.compile(r"【\d+†")
_MOST_KEPT = 40


@dataclass(frozen=True, slots=True)
class SubstitutePage:
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


async def page_substitute(
    real: PageShown,
    named: str | None,
    known: Collection[str],
    tool: str,
    seed: str,
    sources: TrialPlaceboSources,
    withheld: Withheld,
) -> SubstitutePage | None:
    """A page under another question, without links and without what is withheld, of about the length of the real one,
    under the address that the model gave or else its own, and none of those at the addresses that are `known` to be
    really found. None where nothing is to be had."""
    taken = {canonical_url(real.url), *known}
    best: tuple[tuple[bool, bool, float], SubstitutePage] | None = None
    async for source, page in _source_pages(tool, seed, taken, sources):
        inspection = sources.inspect(page.url, page.text)
        if inspection.blocked or canonical_url(page.url) in taken:
            continue
        lines = [line for line in page.text.split("\n") if line.strip()]
        # A large page would hold up all other trials.
        kept = await asyncio.to_thread(withheld.without, lines)
        text = "\n".join(_page_of_length([lines[number] for number in kept], real.chars))
        if not text:
            continue
        grade = (len(kept) < len(lines), not similar(real.chars, text), distance(real.chars, text))
        if best is None or grade < best[0]:
            title = UNTITLED if withheld.holds(page.title) else page.title
            url = named if named is not None else "" if withheld.holds(page.url) else page.url
            best = grade, SubstitutePage(real.id, Page.of(url, title, text), source, inspection.markers)
        if not (grade[0] or grade[1]):
            break
    return best and best[1]


async def _source_pages(
    tool: str, seed: str, taken: Collection[str], sources: TrialPlaceboSources
) -> AsyncIterator[tuple[str, Page]]:
    kept = (candidate for candidate in sources.kept(tool) if not candidate.error)
    for candidate in ranked(kept, seed, lambda candidate: f"{candidate.source} {candidate.output[:200]}")[:_MOST_KEPT]:
        page = page_of(candidate.output)
        if page is not None:
            yield candidate.source, page
    async for source, page in sources.pages(seed, taken):
        yield source, page


def _page_of_length(lines: Iterable[str], chars: int) -> list[str]:
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


# A list of search results, swapped for what a search for another question found.


_MOST_RANKED = 40


async def listing_substitute(
    real: Listed, known: Collection[str], tool: str, seed: str, sources: TrialPlaceboSources, withheld: Withheld
) -> Substitute | None:
    """Under the heading of the real one, which repeats what was asked and nothing else, without the addresses that are
    `known` to be really found. None where nothing is to be had."""
    wanted = SubstituteRequest(real.output, seed)
    best: tuple[tuple[bool, bool, float], Substitute] | None = None
    async for candidate in _findings(tool, real, wanted, sources):
        # In a small corpus one and the same document is found for many questions.
        others = [entry for entry in candidate.entries if canonical_url(entry.url) not in known]
        kept = [others[number] for number in withheld.without([entry.text for entry in others])]
        shown, markers = _inspected(kept, real.most, sources)
        if not shown:
            continue
        entries = _listing_of_length(real.heading, shown, wanted)
        text = listed(real.heading, [entry.text for entry in entries])
        grade = (not wanted.is_similar(text), len(kept) < len(others), wanted.distance(text))
        if best is None or grade < best[0]:
            urls = tuple(entry.url for entry in entries)
            noticed = tuple(marker for entry in entries for marker in markers[entry.url])
            best = grade, Substitute(text, candidate.source, urls, noticed)
        # A list that one result was left out of is a list; a search may cost money.
        if wanted.is_similar(text):
            break
    return best and best[1]


async def _findings(
    tool: str, real: Listed, wanted: SubstituteRequest, sources: TrialPlaceboSources
) -> AsyncIterator[PlaceboResults]:
    """Of an earlier run first; the web is asked only for as many as are looked at."""
    kept = (candidate for candidate in sources.kept(tool) if not candidate.error)
    order = ranked(kept, wanted.seed, lambda candidate: f"{candidate.source} {candidate.output[:200]}")
    for candidate in in_script_of(wanted.real, order)[:_MOST_RANKED]:
        yield PlaceboResults(candidate.source, entries_of(candidate.output))
    async for found in sources.results(wanted.seed, real.most, real.before):
        yield found


def _inspected(
    entries: Sequence[Entry], most: int, sources: TrialPlaceboSources
) -> tuple[list[Entry], dict[str, tuple[Marker, ...]]]:
    """As many as the call wanted of those that the guard lets through, and what it noticed in each, by address."""
    shown: list[Entry] = []
    markers: dict[str, tuple[Marker, ...]] = {}
    for entry in entries:
        if len(shown) == most:
            break
        inspection = sources.inspect(entry.url, entry.text)
        if not inspection.blocked:
            shown.append(entry)
            markers[entry.url] = inspection.markers
    return shown, markers


def _listing_of_length(heading: str, entries: Sequence[Entry], wanted: SubstituteRequest) -> Sequence[Entry]:
    """As many as come nearest to the length that is wanted."""

    def far(count: int) -> float:
        return wanted.distance(listed(heading, [entry.text for entry in entries[:count]]))

    return entries[: min(range(1, len(entries) + 1), key=far)]
