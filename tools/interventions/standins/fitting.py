"""Which of the results under other questions takes the place of a real one: one of its length that says nothing of
what is withheld."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log

from toolablate.tools.donors import Donor, ranked, same_words
from toolablate.tools.interventions.standins.withheld import Withheld
from toolablate.traces.records import Marker

LONGEST = 2.0
"""How many times as long as the real one, or as short, a stand-in may be where there is a choice."""

_LETTERS_LOOKED_AT = 200
_PART = 0.15


@dataclass(frozen=True, slots=True)
class StandIn:
    """An output in place of a real one; `source` names the question that it comes from, or where else it does. `urls`
    are those that it shows, `markers` what was noticed in it."""

    output: str
    source: str
    urls: tuple[str, ...] = ()
    markers: tuple[Marker, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
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


def fitting(donors: Sequence[Donor], wanted: Wanted, withheld: Withheld, *, strict: bool = False) -> StandIn | None:
    """One of similar length at random, else the nearest; only where none is free of what is withheld, one of which
    lines are left out. `strict` takes only what is similar and free as it is. None where nothing is left."""
    order = list(_in_order(donors, wanted))
    for place, donor in enumerate(order):
        output = shortened(donor.output, wanted)
        if strict and not wanted.is_similar(output):
            continue
        if wanted.takes(output) and not withheld.holds(output):
            rest = order[place + 1 :] if wanted.composed and not strict else []
            return _composed(StandIn(output, donor.source), rest, wanted, withheld)
    if strict:
        return None
    for donor in order:
        output = _without(shortened(donor.output, wanted), withheld)
        if wanted.takes(output):
            return StandIn(output, donor.source)
    return None


def in_script_of(text: str, donors: Iterable[Donor]) -> list[Donor]:
    """The donors in the order given, but those that are written in another script than the text last."""
    return sorted(donors, key=lambda donor: not in_script(donor.output, text))


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


def _in_order(donors: Sequence[Donor], wanted: Wanted) -> Iterator[Donor]:
    order = ranked(donors, wanted.seed, lambda donor: f"{donor.source} {len(donor.output)} {donor.output[:100]}")
    order = in_script_of(wanted.real, order)
    yield from (donor for donor in order if wanted.is_similar(donor.output))
    yield from sorted((d for d in order if not wanted.is_similar(d.output)), key=lambda d: wanted.distance(d.output))


def _composed(first: StandIn, rest: Sequence[Donor], wanted: Wanted, withheld: Withheld) -> StandIn:
    """Followed by others, where it is too short."""
    output, sources = first.output, [first.source]
    for donor in rest:
        if wanted.chars <= LONGEST * len(output):
            break
        longer = f"{output}\n{donor.output}"
        if len(longer) <= LONGEST * wanted.chars and wanted.takes(longer) and not withheld.holds(longer):
            output = longer
            sources.append(donor.source)
    return StandIn(output, ", ".join(dict.fromkeys(sources)))


def shortened(text: str, wanted: Wanted) -> str:
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
