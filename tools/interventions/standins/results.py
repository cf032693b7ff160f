"""A list of search results, swapped for what a search for another question found."""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from toolablate.tools.donors import Donor, TrialDonors, ranked
from toolablate.tools.interventions.standins.fitting import StandIn, Wanted
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.tools.search.envelope import canonical_url

_MOST_RANKED = 40
_ENTRY = re.compile(r"^\d+\. (.*)\n    (.+)(?:\n    (.*))?$", re.MULTILINE)
_DEFAULT_RESULTS = 10


@dataclass(frozen=True, slots=True)
class Listing:
    """The first line of a list of results, and its results as text, without their numbers."""

    heading: str
    entries: tuple[str, ...]

    @classmethod
    def read(cls, output: str) -> "Listing":
        entries = (match[0].partition(". ")[2] for match in _ENTRY.finditer(output))
        return cls(output.partition("\n")[0], tuple(entries))

    @property
    def urls(self) -> tuple[str, ...]:
        return tuple(entry.split("\n")[1].strip() for entry in self.entries)

    def written(self) -> str:
        return "\n".join((self.heading, *(f"{rank}. {entry}" for rank, entry in enumerate(self.entries, start=1))))


async def listing_stand_in(
    output: str, given: Mapping[str, JsonValue], tool: str, wanted: Wanted, donors: TrialDonors, withheld: Withheld
) -> StandIn | None:
    """Under the heading of the real one, which repeats what was asked and nothing else. None where nothing is to be
    had."""
    real = Listing.read(output)
    known = set(map(canonical_url, real.urls))
    most = given.get("max_results", given.get("topn"))
    limit = most if isinstance(most, int) else _DEFAULT_RESULTS
    best: tuple[tuple[bool, bool, float], StandIn] | None = None
    async for donor in _donors(tool, given, wanted, donors):
        found = Listing.read(donor.output)
        # In a small corpus one and the same document is found for many questions.
        pairs = zip(found.entries, found.urls, strict=True)
        kept, cut = _free([entry for entry, url in pairs if canonical_url(url) not in known], withheld)
        if not kept:
            continue
        listing = _of_length(real.heading, kept[:limit], wanted)
        text = listing.written()
        grade = (not wanted.is_similar(text), cut, wanted.distance(text))
        if best is None or grade < best[0]:
            best = grade, StandIn(text, donor.source)
        # A list that one result was left out of is a list; a search may cost money.
        if wanted.is_similar(text):
            break
    return best and best[1]


async def _donors(
    tool: str, given: Mapping[str, JsonValue], wanted: Wanted, donors: TrialDonors
) -> AsyncIterator[Donor]:
    """Of an earlier run first; the web is asked only for as many as are looked at."""
    kept = (donor for donor in donors.kept(tool) if not donor.error)
    for donor in ranked(kept, wanted.seed, lambda donor: f"{donor.source} {donor.output[:200]}")[:_MOST_RANKED]:
        yield donor
    async for donor in donors.results(wanted.seed, given):
        yield donor


def _free(entries: Sequence[str], withheld: Withheld) -> tuple[list[str], bool]:
    """The results without those that say what is withheld, by themselves or with the next; and whether there were
    any."""
    kept = [entries[number] for number in withheld.without(entries)]
    return kept, len(kept) < len(entries)


def _of_length(heading: str, entries: Sequence[str], wanted: Wanted) -> Listing:
    """As many as come nearest to the length that is wanted."""
    fits = [Listing(heading, tuple(entries[:count])) for count in range(1, len(entries) + 1)]
    return min(fits, key=lambda listing: wanted.distance(listing.written()))
