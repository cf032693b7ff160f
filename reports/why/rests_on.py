"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.replay_rules import blame_without
from toolablate.reports.numbers import counted as number_of
from toolablate.reports.why.causes import (
    Shares,
    as_likely,
    counted_runs,
    hundred,
    hundredths,
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


def column_of(shares: Shares, rests: Sequence[WithoutRuns]) -> Mapping[Row, str]:
    """Beside each kind of run its mark; of an undecided verdict for each of the first two causes."""
    found = {
        each.row: [mark(likely - each.hundredths(cause)) for cause, likely in weighed_of(shares)] for each in rests
    }
    return {row: " / ".join(each or "0" for each in marks) for row, marks in found.items() if any(marks)}


def mark(added: int) -> str:
    """Of what runs add to a probability, in hundredths; empty of little."""
    times = (abs(added) >= FELT) + (abs(added) >= MUCH)
    return ("+" if added > 0 else MINUS) * times


FELT, MUCH = 5, 20
"""Hundredths from which on runs have a mark, and two."""


def speaking_against(cause: Mechanism, shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[Row]:
    """Kinds of run that make a cause less likely; those that take most come first."""
    likely = dict([(shares.cause, shares.hundredths), *shares.others])[cause]
    taken = [(likely - each.hundredths(cause), each.row) for each in rests]
    yield from (row for added, row in sorted(taken, key=lambda each: each[0]) if added <= -FELT)


def what_it_marks(shares: Shares) -> str:
    """What the last column is."""
    named = " and ".join(quoted_name(cause) for cause, _ in weighed_of(shares))
    return (
        f"The last column is for {named}: without these runs it would be less likely, by {hundred(FELT)} (+) or"
        f" {hundred(MUCH)} (++), or likelier ({MINUS}, {2 * MINUS})."
    )


def rests_on_them(shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[str]:
    """Which kinds of run decide; nothing of an undecided verdict, or where there is no such column."""
    if not rests or as_likely(shares):
        return
    turning = [each for each in rests if each.turns(shares.cause)]
    if not turning:
        low, high = (pick(each.hundredths(shares.cause) for each in rests) for pick in (min, max))
        yield f"Whichever kind is left out, no other cause is likelier: it has {hundred(low)} to {hundred(high)}."
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
