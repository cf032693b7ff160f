"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import OTHER_ANSWERS, blame_without
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.numbers import counted as number_of
from toolablate.reports.why.causes import (
    Shares,
    as_likely,
    counted_runs,
    hundred,
    hundredths,
    lacking,
    quoted_name,
    told_hundredths,
)
from toolablate.reports.why.changed_runs import Row
from toolablate.reports.why.rungs import at_other_steps
from toolablate.traces.records import Mechanism


@dataclass(frozen=True, slots=True)
class WithoutRuns:
    """The probability of each cause were the runs of `row` not there."""

    row: Row
    shares: Mapping[Mechanism, float]

    def hundredths(self, cause: Mechanism) -> int:
        return hundredths(self.shares.get(cause, 0.0))

    @property
    def likeliest(self) -> Mechanism:
        return max(self.shares, key=lambda each: self.shares[each])

    def turns(self, cause: Mechanism) -> bool:
        """Whether another cause is likelier then, also by hundredths."""
        return self.hundredths(self.likeliest) > self.hundredths(cause)


def rests_on(told: Explanation) -> tuple[WithoutRuns, ...]:
    """Of each kind of run that is weighed; nothing of a single kind, or where the probabilities were not made from
    these."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay" or not attribution.shares:
        return ()
    rows = [*counted_runs(evidence), *at_other_steps(evidence)]
    if len(rows) < 2:
        return ()
    return tuple(WithoutRuns(row, blame_without(row.level, evidence, told.rates)) for row in rows)


def column_of(told: Explanation, shares: Shares, rests: Sequence[WithoutRuns]) -> Mapping[Row, str]:
    """Beside each kind of run its mark; of an undecided verdict for each of the first two causes."""
    causes, evidence = weighed_of(shares), told.explained.evidence
    found = {each.row: [mark(cause, likely, each, evidence) for cause, likely in causes] for each in rests}
    return {row: " / ".join(each or "0" for each in marks) for row, marks in found.items() if any(marks)}


def mark(cause: Mechanism, likely: int, without: WithoutRuns, evidence: Evidence) -> str:
    """Whether runs speak for a cause of so many hundredths by their own counts; empty of little, and of what weighs by
    what it says of other causes alone."""
    added = likely - without.hundredths(cause)
    if added * _fits(cause, without.row, evidence) <= 0:
        return ""
    return ("+" if added > 0 else MINUS) * ((abs(added) >= FELT) + (abs(added) >= MUCH))


def _fits(cause: Mechanism, row: Row, evidence: Evidence) -> int:
    """1 of runs that come out as they would if it were so, -1 of others, 0 of those that point neither way: half of
    them are right, of a cause that needs a tool or a condition."""
    if cause in BY_CHANCE and row.share == RIGHT:
        return -1
    right = (row.share > RIGHT) - (row.share < RIGHT)
    return right if cause == "sampling_noise" or row in lacking(cause, evidence) else -right


FELT, MUCH = 5, 20
"""Hundredths from which on runs have a mark, and two."""


def speaking_against(
    told: Explanation, cause: Mechanism, shares: Shares, rests: Sequence[WithoutRuns]
) -> tuple[list[Row], bool]:
    """Kinds of run with a mark against a cause of the last column, and whether they have one: where none has, those
    whose counts alone go against it. Those that take most come first."""
    likely, evidence = dict(weighed_of(shares)).get(cause), told.explained.evidence
    if likely is None:
        return [], False
    found = sorted(rests, key=lambda each: -each.hundredths(cause))
    marked = [each.row for each in found if mark(cause, likely, each, evidence).startswith(MINUS)]
    odd = [each.row for each in found if each.row.level != OTHER_ANSWERS and _fits(cause, each.row, evidence) < 0]
    return marked or odd, bool(marked)


def what_it_marks(shares: Shares) -> str:
    """What the last column is."""
    named = " and ".join(quoted_name(cause) for cause, _ in weighed_of(shares))
    none = "; 0 is neither" if len(weighed_of(shares)) > 1 else ""
    return (
        f"The last column has runs whose own counts speak for {named}, without which it would be less likely by"
        f" {hundred(FELT)} (+) or {hundred(MUCH)} (++), and those that speak against it ({MINUS}, {2 * MINUS}){none}."
    )


def rests_on_them(shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[str]:
    """Which kinds of run decide; nothing of an undecided verdict, or where there is no such column."""
    if not rests or as_likely(shares):
        return
    turning = [each for each in rests if each.turns(shares.cause)]
    if not turning:
        low, high = (pick(rests, key=lambda each: each.hundredths(shares.cause)) for pick in (min, max))
        least, most = (
            f"{told_hundredths(each.hundredths(shares.cause))} without runs {each.row.name}" for each in (low, high)
        )
        yield f"Whichever kind of run is left out, no other cause is likelier: {least}, to {most}."
        return
    turning.sort(key=lambda each: each.hundredths(shares.cause) - each.hundredths(each.likeliest))
    for each in turning[:MOST]:
        other = f"{quoted_name(each.likeliest)} would have {told_hundredths(each.hundredths(each.likeliest))}"
        own = f"{quoted_name(shares.cause)} {told_hundredths(each.hundredths(shares.cause))}"
        yield f"It rests on the runs {each.row.name}: without these {other}, and {own}."
    if len(turning) > MOST:
        yield f"So it does on {number_of(len(turning) - MOST, 'more kind')} of run."


def weighed_of(shares: Shares) -> list[tuple[Mechanism, int]]:
    """The causes of the last column, with their probabilities in hundredths."""
    return [(shares.cause, shares.hundredths), *as_likely(shares)[:1]]


MOST = 3
"""Kinds of run that are named."""
MINUS = "\u2212"
