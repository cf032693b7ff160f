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
from toolablate.tools.placebo_sources.sources import MOST_ASKED, PlaceboResults
from toolablate.tools.python import TRUNCATED
from toolablate.tools.search.ranked_results import canonical_url
from toolablate.tools.text import MISS_MESSAGES, told
from toolablate.tools.tool import Entry, Listed, PageAsked, PageShown, PageView, PrintedOutput, ToolResult, listed
from toolablate.traces.records import Marker

CLOSE = 1.25
"""How many times as long as the real one, or as short, a substitute may be: what fills a model's context is matched."""

SHORT, SHORT_CLOSE = 400, 2.0
"""Characters up to which a result fills no context, and the same for those."""

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
    """Something in place of the `real` text, of as many characters or at most `most`, drawn by the seed; `keep_end`
    where what matters stands at the end; `composed` where several may be put together, `whole_lines` where a line is
    not to be cut."""

    real: str
    seed: str
    keep_end: bool = False
    composed: bool = False
    whole_lines: bool = False
    most: int | None = None

    @property
    def chars(self) -> int:
        return at_most(len(self.real), self.most)

    def is_similar(self, text: str) -> bool:
        return similar(self.chars, len(text))

    def distance(self, text: str) -> float:
        return distance(self.chars, len(text))

    def takes(self, text: str) -> bool:
        """Neither nothing nor what is real."""
        return bool(text.strip()) and same_words(text) != same_words(self.real)


def at_most(chars: int, most: int | None) -> int:
    return chars if most is None else min(chars, most)


def similar(chars: int, other: int) -> bool:
    """Whether so many characters are about as many as those of a real result, which come first."""
    return chars <= _times(chars) * other and other <= _times(chars) * chars


def distance(chars: int, other: int) -> float:
    return abs(log(max(other, 1) / max(chars, 1)))


def _times(chars: int) -> float:
    return SHORT_CLOSE if chars <= SHORT else CLOSE


def fitting(
    sources: Sequence[PlaceboSource],
    wanted: SubstituteRequest,
    withheld: Withheld,
    *,
    strict: bool = False,
    others: Sequence[PlaceboSource] = (),
) -> Substitute | None:
    """One of similar length at random, else the nearest, followed by further ones and by `others` where several may be
    put together; only where none is free of what is withheld, one of which lines are left out. `strict` takes only one,
    similar and free as it is. None where nothing is left."""
    order = list(_in_order(sources, wanted))
    for place, candidate in enumerate(order):
        output = shortened(candidate.output, wanted, wanted.chars)
        if strict and not wanted.is_similar(output):
            continue
        if wanted.takes(output) and not withheld.holds(output):
            following = [*order[place + 1 :], *order[:place], *ranked(others, wanted.seed, _key), candidate]
            rest = following if wanted.composed and not strict else []
            return _composed(Substitute(output, candidate.source), rest, wanted, withheld)
    if strict:
        return None
    for candidate in order:
        output = _without(shortened(candidate.output, wanted, wanted.chars), withheld)
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
    order = in_script_of(wanted.real, ranked(sources, wanted.seed, _key))
    yield from (candidate for candidate in order if wanted.is_similar(candidate.output))
    yield from sorted((d for d in order if not wanted.is_similar(d.output)), key=lambda d: wanted.distance(d.output))


def _key(candidate: PlaceboSource) -> str:
    return f"{candidate.source} {len(candidate.output)} {candidate.output[:100]}"


def _composed(
    first: Substitute, rest: Sequence[PlaceboSource], wanted: SubstituteRequest, withheld: Withheld
) -> Substitute:
    """Followed by others, and by these again, until it is long enough; the last of them is cut."""
    output, sources, before = first.output, [first.source], -1
    while before < len(output) and not wanted.is_similar(output):
        before = len(output)
        for candidate in rest:
            if wanted.is_similar(output):
                break
            if wanted.whole_lines and is_structured(candidate.output):
                continue
            longer = f"{output}\n{shortened(candidate.output, wanted, wanted.chars - len(output))}"
            if len(longer) <= _times(wanted.chars) * wanted.chars and _follows(longer, output, wanted, withheld):
                output = longer
                sources.append(candidate.source)
    return Substitute(output, ", ".join(dict.fromkeys(sources)))


_JOINT = 1_000


def _follows(longer: str, output: str, wanted: SubstituteRequest, withheld: Withheld) -> bool:
    """Whether what was added may be: only what it says by itself or with the end of what stands before it can be
    withheld."""
    # From the beginning of a line: a part of a number is another number.
    begin = output.rfind("\n", 0, max(len(output) - _JOINT, 0)) + 1
    return wanted.takes(longer) and not withheld.holds(longer[begin:])


def shortened(text: str, wanted: SubstituteRequest, chars: int) -> str:
    """Cut at a line to about so many characters, if it is longer than that; at a blank where the line is too long by
    itself and may be cut."""
    most = int(_times(chars) * chars)
    if len(text) <= most or (wanted.whole_lines and is_structured(text)):
        return text
    lines = text.split("\n")
    kept = [lines.pop(-1 if wanted.keep_end else 0)]
    while lines and sum(map(len, kept)) + len(kept) < chars:
        kept.insert(0, lines.pop()) if wanted.keep_end else kept.append(lines.pop(0))
    cut = "\n".join(kept)
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
    result: ToolResult,
    printed: PrintedOutput,
    tool: str,
    seed: str,
    sources: TrialPlaceboSources,
    withheld: Withheld,
    most: int | None = None,
) -> Substitute | None:
    """Of the same kind and of similar length, else of another kind. What the sandbox says behind it stays; of a cell
    that was stopped, that it was interrupted, but not where. None where nothing is to be had."""
    if printed.note in ("", TRUNCATED):
        swapped = _swapped(printed.text, result.error, tool, seed, sources, withheld, most)
        return swapped and Substitute("\n".join(filter(None, (swapped.output, printed.note))), swapped.source)
    # A program may write such a heading itself: what stands behind it is left out all the same.
    interrupted = _INTERRUPTED.search(printed.text)
    before = printed.text[: interrupted.start() if interrupted else None].rstrip("\n")
    swapped = _swapped(before, "", tool, seed, sources, withheld, most) if before else Substitute("", "")
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
    output: str,
    error: str,
    tool: str,
    seed: str,
    sources: TrialPlaceboSources,
    withheld: Withheld,
    most: int | None,
) -> Substitute | None:
    # Of two truth values the one that is not real would tell the real one.
    kind = "word" if (real := kind_of(output, error)) == "boolean" else real
    composed = not error and kind not in _SINGLE
    wanted = SubstituteRequest(output, seed, keep_end=bool(error), composed=composed, most=most)
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
        or fitting([*same, *same_in_bank], wanted, withheld, others=alike)
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
    result: ToolResult,
    tool: str,
    seed: str,
    sources: TrialPlaceboSources,
    withheld: Withheld,
    most: int | None = None,
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
    # Of JSON nothing is cut or added, and one word stays one.
    composed = not failed and not is_structured(result.output) and len(result.output.split()) > 1
    wanted = SubstituteRequest(result.output, seed, composed=composed, whole_lines=True, most=most)
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


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A page of another question with the lines that may be shown; `whole` where that is all of them."""

    source: str
    page: Page
    lines: Sequence[str]
    whole: bool
    markers: tuple[Marker, ...]

    @property
    def chars(self) -> int:
        return _chars(self.lines)

    def grade(self, chars: int) -> tuple[bool, bool, float]:
        """The lower the better where so many characters are wanted: it can be cut, and others can be put behind it."""
        there = min(self.chars, chars)
        return not self.whole, not similar(chars, there), distance(chars, there)


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
    really found. Where none is long enough, further ones follow under their titles. None where nothing is to be had."""
    taken = {canonical_url(real.url), *known}
    found: list[_Candidate] = []
    async for source, page in _source_pages(tool, seed, taken, sources):
        candidate = await _candidate(source, page, sources, withheld)
        if candidate is None or canonical_url(page.url) in taken:
            continue
        found.append(candidate)
        fits = not any(candidate.grade(real.chars)[:2])
        if fits or (len(found) >= MOST_ASKED and sum(each.chars for each in found if each.whole) >= real.chars):
            break
    found.sort(key=lambda each: each.grade(real.chars))
    if not found:
        return None
    url = named if named is not None else "" if withheld.holds(found[0].page.url) else found[0].page.url
    return await _joined(real, url, found, withheld)


async def resized(
    view: PageView, chars: int, page: Page, tool: str, seed: str, sources: TrialPlaceboSources, withheld: Withheld
) -> SubstitutePage | None:
    """A whole page under another question, of which there is a view, made to have about so many characters: cut, or
    followed by others. None where nothing of it may be shown."""
    first = await _candidate(RESIZED, page, sources, withheld)
    if first is None:
        return None
    found, taken = [first], {canonical_url(page.url)}
    if first.chars < chars and not similar(chars, first.chars):
        async for source, other in _source_pages(tool, seed, taken, sources):
            candidate = await _candidate(source, other, sources, withheld)
            if candidate is not None and canonical_url(other.url) not in taken:
                found.append(candidate)
            if sum(each.chars for each in found) >= chars:
                break
    wanted = replace(view.page, chars=chars)
    return await _joined(wanted, page.url, found, withheld)


RESIZED = "a page under another question already, of the length of the real result in its place"


async def _candidate(source: str, page: Page, sources: TrialPlaceboSources, withheld: Withheld) -> _Candidate | None:
    """None where nothing of it may be shown."""
    inspection = sources.inspect(page.url, page.text)
    lines = [line for line in page.text.split("\n") if line.strip()]
    if inspection.blocked:
        return None
    # A large page would hold up all other trials.
    kept = await asyncio.to_thread(withheld.without, lines)
    if not kept:
        return None
    return _Candidate(source, page, [lines[number] for number in kept], len(kept) == len(lines), inspection.markers)


async def _joined(real: PageShown, url: str, found: Sequence[_Candidate], withheld: Withheld) -> SubstitutePage | None:
    """The first one under an address, behind it others under their titles as long as characters are wanting."""
    first, *others = found
    lines, used = list(first.lines), [first]
    for other in others:
        if similar(real.chars, _chars(lines)) or _chars(lines) >= real.chars:
            break
        lines += [*filter(None, (other.page.title,)), *other.lines]
        used.append(other)
    if len(used) > 1:
        # Lines of two pages may say together what neither says, and a title has not been looked at.
        kept = await asyncio.to_thread(withheld.without, lines)
        lines = [lines[number] for number in kept]
    text = "\n".join(_page_of_length(lines, real.chars))
    if not text:
        return None
    title = UNTITLED if withheld.holds(first.page.title) else first.page.title
    markers = dict.fromkeys(marker for each in used for marker in each.markers)
    source = ", ".join(dict.fromkeys(each.source for each in used))
    return SubstitutePage(real.id, Page.of(url, title, text), source, tuple(markers))


def _chars(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


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
        if kept and _chars(kept) >= chars:
            break
        kept.append(line)
    most = int(_times(chars) * max(chars, 1))
    if kept and len(kept[-1]) > most:
        kept[-1] = kept[-1][:most].rpartition(" ")[0] or kept[-1]
    return kept


# A list of search results, swapped for what a search for another question found.


_MOST_RANKED = 40


async def listing_substitute(
    real: Listed,
    known: Collection[str],
    tool: str,
    seed: str,
    sources: TrialPlaceboSources,
    withheld: Withheld,
    most: int | None = None,
) -> Substitute | None:
    """Under the heading of the real one, which repeats what was asked and nothing else, without the addresses that are
    `known` to be really found. None where nothing is to be had."""
    wanted = SubstituteRequest(real.output, seed, most=most)
    best: tuple[tuple[bool, bool, float], Substitute] | None = None
    pooled: dict[str, tuple[str, Entry, tuple[Marker, ...]]] = {}
    async for candidate in _findings(tool, real, wanted, sources):
        # In a small corpus one and the same document is found for many questions.
        others = [entry for entry in candidate.entries if canonical_url(entry.url) not in known]
        kept = [others[number] for number in withheld.without([entry.text for entry in others])]
        shown, markers = _inspected(kept, real.most, sources)
        if not shown:
            continue
        for entry in shown:
            pooled.setdefault(canonical_url(entry.url), (candidate.source, entry, markers[entry.url]))
        own = [(candidate.source, entry, markers[entry.url]) for entry in shown]
        # Results of several questions are put together where those of one are too short.
        for mixed, listing in enumerate((own, list(pooled.values())[: real.most])):
            substitute = _listing(real.heading, listing, wanted)
            is_similar, length = wanted.is_similar(substitute.output), wanted.distance(substitute.output)
            grade = (not is_similar, (is_similar and mixed > 0) or len(kept) < len(others), length)
            if best is None or grade < best[0]:
                best = grade, substitute
        # A list that one result was left out of is a list; a search may cost money.
        if best is not None and not best[0][0]:
            break
    return best and best[1]


def _listing(
    heading: str, found: Sequence[tuple[str, Entry, tuple[Marker, ...]]], wanted: SubstituteRequest
) -> Substitute:
    """As many of these results, each with its source and its markers, as come nearest to the length that is wanted."""
    entries = _listing_of_length(heading, [entry for _, entry, _ in found], wanted)
    text = listed(heading, [entry.text for entry in entries])
    used = found[: len(entries)]
    return Substitute(
        text,
        ", ".join(dict.fromkeys(source for source, _, _ in used)),
        tuple(entry.url for entry in entries),
        tuple(marker for _, _, markers in used for marker in markers),
    )


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
