"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.replay_rules import blame_without
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
    """Beside each kind of run what it adds to the probability of the cause, from `LEAST_ADDED` on; of an undecided
    verdict to each of the first two."""
    found = {each.row: [likely - each.hundredths(cause) for cause, likely in weighed_of(shares)] for each in rests}
    return {row: " / ".join(map(signed, added)) for row, added in found.items() if max(map(abs, added)) >= LEAST_ADDED}


def signed(hundredths_added: int) -> str:
    """`+.07`, `−.12`, `0`."""
    return f"{'+' if hundredths_added > 0 else MINUS}{hundred(abs(hundredths_added))}" if hundredths_added else "0"


def speaking_against(cause: Mechanism, shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[tuple[Row, int]]:
    """Kinds of run that make a cause less likely, by how much, in hundredths; those that take most come first."""
    likely = dict([(shares.cause, shares.hundredths), *shares.others])[cause]
    taken = [(each.row, likely - each.hundredths(cause)) for each in rests]
    yield from sorted((each for each in taken if each[1] <= -LEAST_ADDED), key=lambda each: each[1])


def what_it_adds(shares: Shares) -> str:
    """What the last column is."""
    named = " and of ".join(quoted_name(cause) for cause, _ in weighed_of(shares))
    return (
        f"The last column is what these runs add to the probability of {named}, also by what they say of other causes:"
        f" + speaks for it, {MINUS} against it; less than {hundred(LEAST_ADDED)} is left out."
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
        other = f"{quoted_name(each.likeliest)} ({told_hundredths(each.hundredths(each.likeliest))})"
        yield f"It rests on the runs {each.row.name}: without these {other} would be likelier."
    if len(turning) > MOST:
        yield f"So it does on {len(turning) - MOST} more kinds of run."


def weighed_of(shares: Shares) -> list[tuple[Mechanism, int]]:
    """The causes of the last column, with their probabilities in hundredths."""
    return [(shares.cause, shares.hundredths), *as_likely(shares)[:1]]


LEAST_ADDED, MOST = 3, 2
"""Hundredths; kinds of run that are named."""
MINUS = "\u2212"
