"""A list of search results, swapped for what a search for another question found."""

from collections.abc import AsyncIterator, Collection, Sequence

from toolablate.tools.donors import TrialDonors, entries_of, ranked
from toolablate.tools.donors.donors import Finding
from toolablate.tools.frame import Entry, Listed, listed
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted, in_script_of
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.search.envelope import canonical_url
from toolablate.traces.records import Marker

_MOST_RANKED = 40


async def listing_stand_in(
    real: Listed, known: Collection[str], tool: str, seed: str, donors: TrialDonors, withheld: Withheld
) -> StandIn | None:
    """Under the heading of the real one, which repeats what was asked and nothing else, without the addresses that are
    `known` to be really found. None where nothing is to be had."""
    wanted = Wanted(real.output, seed)
    best: tuple[tuple[bool, bool, float], StandIn] | None = None
    async for donor in _findings(tool, real, wanted, donors):
        # In a small corpus one and the same document is found for many questions.
        others = [entry for entry in donor.entries if canonical_url(entry.url) not in known]
        kept = [others[number] for number in withheld.without([entry.text for entry in others])]
        shown, markers = _inspected(kept, real.most, donors)
        if not shown:
            continue
        entries = _of_length(real.heading, shown, wanted)
        text = listed(real.heading, [entry.text for entry in entries])
        grade = (not wanted.is_similar(text), len(kept) < len(others), wanted.distance(text))
        if best is None or grade < best[0]:
            urls = tuple(entry.url for entry in entries)
            noticed = tuple(marker for entry in entries for marker in markers[entry.url])
            best = grade, StandIn(text, donor.source, urls, noticed)
        # A list that one result was left out of is a list; a search may cost money.
        if wanted.is_similar(text):
            break
    return best and best[1]


async def _findings(tool: str, real: Listed, wanted: Wanted, donors: TrialDonors) -> AsyncIterator[Finding]:
    """Of an earlier run first; the web is asked only for as many as are looked at."""
    kept = (donor for donor in donors.kept(tool) if not donor.error)
    order = ranked(kept, wanted.seed, lambda donor: f"{donor.source} {donor.output[:200]}")
    for donor in in_script_of(wanted.real, order)[:_MOST_RANKED]:
        yield Finding(donor.source, entries_of(donor.output))
    async for found in donors.results(wanted.seed, real.most, real.before):
        yield found


def _inspected(
    entries: Sequence[Entry], most: int, donors: TrialDonors
) -> tuple[list[Entry], dict[str, tuple[Marker, ...]]]:
    """As many as the call wanted of those that the guard lets through, and what it noticed in each, by address."""
    shown: list[Entry] = []
    markers: dict[str, tuple[Marker, ...]] = {}
    for entry in entries:
        if len(shown) == most:
            break
        inspection = donors.inspect(entry.url, entry.text)
        if not inspection.blocked:
            shown.append(entry)
            markers[entry.url] = inspection.markers
    return shown, markers


def _of_length(heading: str, entries: Sequence[Entry], wanted: Wanted) -> Sequence[Entry]:
    """As many as come nearest to the length that is wanted."""

    def far(count: int) -> float:
        return wanted.distance(listed(heading, [entry.text for entry in entries[:count]]))

    return entries[: min(range(1, len(entries) + 1), key=far)]
