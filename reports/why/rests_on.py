"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.replay_rules import blame_without
from toolablate.reports.why.causes import Shares, as_likely, hundred, hundredths, quoted_name, told_hundredths
from toolablate.reports.why.changed_runs import Row, levels_of
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
    rows = [*levels_of(evidence), *at_other_steps(evidence)]
    if len(rows) < 2:
        return ()
    return tuple(WithoutRuns(row, blame_without(row.level, evidence, told.rates)) for row in rows)


def column_of(shares: Shares, rests: Sequence[WithoutRuns]) -> Mapping[Row, str]:
    """Beside each kind of run the probability of the cause without it; of an undecided verdict of the first two."""
    causes = _told_of(shares)
    return {each.row: " / ".join(told_hundredths(each.hundredths(cause)) for cause, _ in causes) for each in rests}


def how_much(shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[str]:
    """What the last column is, and whether one kind of run decides; nothing where there is no such column."""
    if not rests:
        return
    named = " and ".join(f"{quoted_name(cause)} ({hundred(share)})" for cause, share in _told_of(shares))
    several = len(_told_of(shares)) > 1
    yield (
        f"{WITHOUT_THESE} is the probability of {named}, were those runs not there: they speak for"
        f" {'a cause' if several else 'it'} where this is lower, and against it where it is higher."
    )
    turning = [each for each in rests if each.turns(shares.cause)]
    if several:
        return
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


def _told_of(shares: Shares) -> list[tuple[Mechanism, int]]:
    return [(shares.cause, shares.hundredths), *as_likely(shares)[:1]]


WITHOUT_THESE = "“Without these”"
MOST = 2
