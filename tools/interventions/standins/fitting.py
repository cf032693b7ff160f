"""Which of the results under other questions takes the place of a real one: one of its length that says nothing of
what is withheld."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log

from toolablate.tools.donors import Donor, ranked
from toolablate.tools.interventions.standins.withheld import Withheld

LONGEST = 2.0
"""How many times as long as the real one, or as short, a stand-in may be where there is a choice."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """An output in place of a real one; `source` names the question that it comes from, or where else it does."""

    output: str
    source: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Of how many characters, drawn by what; `keep_end` where what matters stands at the end; `composed` where several
    may be put together."""

    chars: int
    seed: str
    keep_end: bool = False
    composed: bool = False

    def is_similar(self, text: str) -> bool:
        return self.chars <= LONGEST * len(text) and len(text) <= LONGEST * self.chars

    def distance(self, text: str) -> float:
        return abs(log(max(len(text), 1) / max(self.chars, 1)))


def fitting(donors: Sequence[Donor], wanted: Wanted, withheld: Withheld, *, strict: bool = False) -> StandIn | None:
    """One of similar length at random, else the nearest; only where none is free of what is withheld, one of which
    lines are left out. `strict` takes only what is similar and free as it is. None where nothing is left."""
    order = list(_in_order(donors, wanted))
    for place, donor in enumerate(order):
        output = shortened(donor.output, wanted)
        if strict and not wanted.is_similar(output):
            continue
        if output.strip() and not withheld.holds(output):
            rest = order[place + 1 :] if wanted.composed and not strict else []
            return _composed(StandIn(output, donor.source), rest, wanted, withheld)
    if strict:
        return None
    for donor in order:
        lines = shortened(donor.output, wanted).split("\n")
        left = [lines[number] for number in withheld.without(lines)]
        if any(line.strip() for line in left):
            return StandIn("\n".join(left), donor.source)
    return None


def _in_order(donors: Sequence[Donor], wanted: Wanted) -> Iterator[Donor]:
    order = ranked(donors, wanted.seed, lambda donor: f"{donor.source} {len(donor.output)} {donor.output[:100]}")
    yield from (donor for donor in order if wanted.is_similar(donor.output))
    yield from sorted((d for d in order if not wanted.is_similar(d.output)), key=lambda d: wanted.distance(d.output))


def _composed(first: StandIn, rest: Sequence[Donor], wanted: Wanted, withheld: Withheld) -> StandIn:
    """Followed by others, where it is too short."""
    output, sources = first.output, [first.source]
    for donor in rest:
        if wanted.chars <= LONGEST * len(output):
            break
        longer = f"{output}\n{donor.output}"
        if len(longer) <= LONGEST * wanted.chars and not withheld.holds(longer):
            output = longer
            sources.append(donor.source)
    return StandIn(output, ", ".join(dict.fromkeys(sources)))


def shortened(text: str, wanted: Wanted) -> str:
    """Cut at a line to about the length that is wanted, if it is more than twice as long; at a blank where the line is
    too long by itself."""
    if len(text) <= LONGEST * wanted.chars:
        return text
    lines = text.split("\n")
    kept = [lines.pop(-1 if wanted.keep_end else 0)]
    while lines and sum(map(len, kept)) + len(kept) < wanted.chars:
        kept.insert(0, lines.pop()) if wanted.keep_end else kept.append(lines.pop(0))
    cut = "\n".join(kept)
    most = int(LONGEST * wanted.chars)
    if len(cut) <= most:
        return cut
    return cut[-most:] if wanted.keep_end else cut[:most].rpartition(" ")[0] or cut[:most]
