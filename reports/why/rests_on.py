"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.decomposition import ToolKind
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import OTHER_ANSWERS, blame_without
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.numbers import counted as number_of
from toolablate.reports.why.causes import (
    FIRST_REPLY,
    WRONG_ANYWAY,
    Shares,
    as_likely,
    counted_runs,
    hundred,
    hundredths,
    lacking,
    quoted_name,
    told_hundredths,
    what_it_is,
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
    """Beside each kind of run its mark; nothing of an undecided verdict."""
    found = {} if as_likely(shares) else {each.row: mark(shares.cause, each, told) for each in rests}
    return {row: sign for row, sign in found.items() if sign}


def mark(cause: Mechanism, without: WithoutRuns, told: Explanation) -> str:
    """Whether runs speak for a cause, or against it. Empty of little, and where they do by what they say of other
    causes, not by their own counts."""
    attribution = told.explained.attribution
    assert attribution is not None
    added = hundredths(attribution.shares.get(cause, 0.0)) - without.hundredths(cause)
    times = (abs(added) >= FELT) + (abs(added) >= MUCH)
    return ("+" if added > 0 else MINUS) * times if times and added * _fits(cause, without.row, told) > 0 else ""


def _fits(cause: Mechanism, row: Row, told: Explanation) -> int:
    """1 of runs that come out as they would if it were so, -1 of others, 0 of those that point neither way."""
    evidence = told.explained.evidence
    if row.level == OTHER_ANSWERS or cause in ("format", "unknown"):
        return 0
    if cause == "own_error":
        return 1 if row.share < RIGHT else -1
    right = (row.share > RIGHT) - (row.share < RIGHT)
    if cause == "sampling_noise" and right:
        chance_in = what_it_is(cause, told)
        silent = chance_in == WRONG_ANYWAY or (chance_in == FIRST_REPLY and row.keeps_first_reply)
        return 0 if silent else right
    gone = _without(cause, evidence)
    return 0 if not gone else right if row in gone else -right


def _without(cause: Mechanism, evidence: Evidence) -> list[Row]:
    """Runs without it; of two kinds of results together those without both."""
    if cause != "interaction":
        return lacking(cause, evidence)
    kinds = [lacking(_OF_KIND[kind], evidence) for kind in evidence.inputs.tools]
    return [row for row in (kinds[0] if kinds else []) if all(row in each for each in kinds)]


_OF_KIND: Mapping[ToolKind, Mechanism] = {
    "search": "retrieval_distraction",
    "code": "lock_in",
    "other": "other_results",
}


FELT, MUCH = 5, 20
"""Hundredths from which on runs have a mark, and two."""


def speaking_against(told: Explanation, cause: Mechanism, rests: Sequence[WithoutRuns]) -> tuple[list[Row], bool]:
    """Kinds of run whose own counts have a mark against a cause, those that take most first, and whether there are
    such; else those whose counts go against it without one."""
    found = sorted(rests, key=lambda each: -each.hundredths(cause))
    marked = [each.row for each in found if mark(cause, each, told)[:1] == MINUS]
    if marked or what_it_is(cause, told) == WRONG_ANYWAY:
        return marked, bool(marked)
    return [row for row in counted_runs(told.explained.evidence) if _fits(cause, row, told) < 0], False


def what_it_marks(shares: Shares) -> str:
    return (
        f"The last column marks runs by whose counts {quoted_name(shares.cause)} is likelier than without them, by"
        f" {hundred(FELT)} (+) or {hundred(MUCH)} (++), or less likely ({MINUS}, {2 * MINUS})."
    )


def rests_on_them(told: Explanation, shares: Shares, rests: Sequence[WithoutRuns]) -> Iterator[str]:
    """Which kinds of run decide, and between which probabilities; nothing where no kinds of run are weighed."""
    if not rests:
        return
    turning = [] if as_likely(shares) else [each for each in rests if each.turns(shares.cause)]
    if not turning:
        found = sorted({each.hundredths(shares.cause) for each in rests})
        between = " to ".join(told_hundredths(each) for each in dict.fromkeys((found[0], found[-1])))
        still = "has" if as_likely(shares) else "is still the likeliest, with"
        yield f"Leave out any one kind of run, and {quoted_name(shares.cause)} {still} {between}."
        return
    turning.sort(key=lambda each: each.hundredths(shares.cause) - each.hundredths(each.likeliest))
    for each in turning[:MOST]:
        other = f"{quoted_name(each.likeliest)} would have {told_hundredths(each.hundredths(each.likeliest))}"
        own = f"{quoted_name(shares.cause)} {told_hundredths(each.hundredths(shares.cause))}"
        how = "" if mark(shares.cause, each, told) else ", by what they say of other causes"
        yield f"It rests on the runs {each.row.name}{how}: without these {other}, and {own}."
    if len(turning) > MOST:
        yield f"So it does on {number_of(len(turning) - MOST, 'more kind')} of run."


MOST = 3
"""Kinds of run that are named."""
MINUS = "\u2212"
