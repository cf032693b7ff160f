"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.replay_rules import blame_without
from toolablate.reports.causes import Shares, as_likely, hundred, hundredths, name_of, quoted_name
from toolablate.reports.changed_runs import Row, levels_of
from toolablate.reports.run_groups import at_other_steps
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
    """Of each kind of run that is weighed; nothing where the probabilities were not made from these."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay" or not attribution.shares:
        return ()
    rows = [*levels_of(evidence), *(replace(row, aside="") for row in at_other_steps(evidence))]
    return tuple(WithoutRuns(row, blame_without(row.level, evidence, told.rates)) for row in rows)


def beside(each: WithoutRuns, cause: Mechanism, likely: int) -> str:
    """`.41`, and where another cause is likelier then `.41; calling .46`; empty where it is hardly another than it is
    (`likely`, in hundredths)."""
    known = _told(each, cause)
    if each.turns(cause):
        return f"{known}; {name_of(each.likeliest)} {_told(each, each.likeliest)}"
    return known if abs(each.hundredths(cause) - likely) >= FELT else ""


def _told(each: WithoutRuns, cause: Mechanism) -> str:
    share = each.hundredths(cause)
    return hundred(share) if share else "under .01"


def column(cause: Mechanism) -> str:
    """The head of the column of these."""
    return f"{quoted_name(cause)} without them"


def how_much(found: Sequence[WithoutRuns], shares: Shares) -> Iterator[str]:
    """Whether a single kind of run decides; nothing of what is undecided, nor of a single kind."""
    cause = shares.cause
    if len(found) < 2 or as_likely(shares):
        return
    turning = [each for each in found if each.turns(cause)]
    # Those that would turn it most come first.
    turning.sort(key=lambda each: each.hundredths(cause) - each.hundredths(each.likeliest))
    for each in turning[:MOST]:
        yield (
            f"It rests on runs {each.row.name} ({each.row.came}): without these {name_of(each.likeliest)} would be"
            f" likelier ({_told(each, each.likeliest)}; {name_of(cause)} {_told(each, cause)})."
        )
    if len(turning) > MOST:
        yield f"So it does on {len(turning) - MOST} more kinds of run."
    if turning:
        return
    least = min(found, key=lambda each: each.hundredths(cause))
    lost = shares.hundredths - least.hundredths(cause)
    if lost >= MUCH:
        second = max((each for each in least.shares if each != cause), key=lambda each: least.shares[each])
        yield (
            f"It rests mostly on runs {least.row.name} ({least.row.came}): without these it would still be the"
            f" likeliest, with {_told(least, cause)} (next {name_of(second)}, {_told(least, second)})."
        )
    elif lost >= FELT:
        still = f"still {_told(least, cause)} (without those {least.row.name}, {least.row.came})"
        yield f"It rests on no single kind of run: without any one of them it is {still}."
    else:
        yield "It rests on no single kind of run: without any one of them it is about as likely."


def speaking_for(cause: Mechanism, found: Sequence[WithoutRuns], likely: int) -> list[WithoutRuns]:
    """Kinds of run without which a cause is less likely than it is (`likely`, in hundredths), the weightiest first."""
    speak = [each for each in found if each.hundredths(cause) <= likely - FELT]
    return sorted(speak, key=lambda each: each.hundredths(cause))


def speaking_against(cause: Mechanism, found: Sequence[WithoutRuns], likely: int) -> list[WithoutRuns]:
    """Those without which it is likelier."""
    against = [each for each in found if each.hundredths(cause) >= likely + FELT]
    return sorted(against, key=lambda each: -each.hundredths(cause))


def told_without(found: Sequence[WithoutRuns], cause: Mechanism) -> str:
    """`with its last reply drawn again: 4 of 4 right (.41 without these); ...`, of the first few."""
    return "; ".join(f"{each.row.told} ({_told(each, cause)} without these)" for each in found[:MOST])


def helped(each: WithoutRuns, cause: Mechanism, with_them: Mapping[Mechanism, float]) -> str:
    """The other cause that these runs make likelier by most, as a clause; empty where none gains a hundredth."""
    gains = {other: share - each.shares.get(other, 0.0) for other, share in with_them.items() if other != cause}
    most = max(gains, key=lambda other: gains[other], default=None)
    return f"; they speak for {quoted_name(most)}" if most is not None and gains[most] >= 0.01 else ""


MOST = 3
FELT, MUCH = 3, 15
"""Hundredths that runs have to change a probability by to be named, and to be what it mostly rests on."""
