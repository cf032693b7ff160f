"""How much a verdict rests on each kind of run: how likely its cause would be were these runs not there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.replay_rules import blame_without
from toolablate.reports.why.causes import CLOSE, Shares, as_likely, hundredths, name_of, told_hundredths
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

    def chance(self, cause: Mechanism) -> str:
        """`.41`."""
        return told_hundredths(self.hundredths(cause))

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
    rows = [*levels_of(evidence), *at_other_steps(evidence)]
    return tuple(WithoutRuns(row, blame_without(row.level, evidence, told.rates)) for row in rows)


def how_much(found: Sequence[WithoutRuns], shares: Shares, with_them: Mapping[Mechanism, float]) -> Iterator[str]:
    """Whether a single kind of run decides; nothing of a single kind."""
    cause = shares.cause
    if len(found) < 2:
        return
    turning = [each for each in found if each.turns(cause)]
    # Those that would turn it most come first.
    turning.sort(key=lambda each: each.hundredths(cause) - each.hundredths(each.likeliest))
    if as_likely(shares):
        yield from _between(cause, found, turning, shares.hundredths)
        return
    least = min(found, key=lambda each: each.hundredths(cause))
    yield from _on_these(cause, turning, least) if turning else _on_least(cause, least, shares.hundredths, with_them)


def _on_these(cause: Mechanism, turning: Sequence[WithoutRuns], least: WithoutRuns) -> Iterator[str]:
    for each in turning[:MOST]:
        yield (
            f"It rests on runs {each.row.name} ({each.row.bare}): without these, {name_of(each.likeliest)} would be"
            f" likelier ({each.chance(each.likeliest)}; {name_of(cause)} {each.chance(cause)})."
        )
    if len(turning) > MOST:
        yield f"So it does on {len(turning) - MOST} more kinds of run."
    if least not in turning:
        yield f"Without runs {least.row.name} ({least.row.bare}) it would have {least.chance(cause)}."


def _on_least(cause: Mechanism, least: WithoutRuns, likely: int, with_them: Mapping[Mechanism, float]) -> Iterator[str]:
    """Where no kind of run turns it, on the one without which it would be least likely."""
    lost, second = likely - least.hundredths(cause), _second(least, cause)
    runs, share = f"runs {least.row.name} ({least.row.bare})", least.chance(cause)
    others = {second: ""}
    if rival := _lowered(least, cause, with_them):
        others[rival] = f" in place of {told_hundredths(hundredths(with_them.get(rival, 0.0)))}"
    listed = sorted(others.items(), key=lambda each: -least.hundredths(each[0]))
    raised = f" (next {', '.join(f'{name_of(each)} {least.chance(each)}{now}' for each, now in listed)})"
    if least.hundredths(cause) - least.hundredths(second) <= CLOSE:
        yield (
            f"It rests on {runs}: without these, it would be undecided ({name_of(cause)} {share}; {name_of(second)}"
            f" {least.chance(second)})."
        )
    elif lost >= MUCH and least.hundredths(cause) < STILL_SURE:
        yield f"It rests mostly on {runs}: without these, it would still be the likeliest, with {share}{raised}."
    elif lost >= FELT:
        yield (
            f"It rests on no single kind of run. Were {runs} not there, it would still be the likeliest, with"
            f" {share}{raised}."
        )
    else:
        yield "It rests on no single kind of run: without any one of them it is about as likely."


def _between(
    cause: Mechanism, found: Sequence[WithoutRuns], turning: Sequence[WithoutRuns], likely: int
) -> Iterator[str]:
    """Of an undecided verdict, the kinds of run without which it would be clearer, either way."""
    settling = sorted(found, key=lambda each: -each.hundredths(cause))[:1]
    for each in (*turning[:1], *(one for one in settling if one.hundredths(cause) >= likely + MUCH)):
        first, second = each.likeliest, _second(each, each.likeliest)
        yield (
            f"Were the runs {each.row.name} ({each.row.bare}) not there, the likeliest would be {name_of(first)}"
            f" ({each.chance(first)}; next {name_of(second)}, {each.chance(second)})."
        )


def _second(each: WithoutRuns, first: Mechanism) -> Mechanism:
    return max((other for other in each.shares if other != first), key=lambda other: each.shares[other])


def speaking_for(cause: Mechanism, found: Sequence[WithoutRuns], likely: int) -> list[WithoutRuns]:
    """Kinds of run without which a cause is less likely than it is (`likely`, in hundredths), the weightiest first."""
    speak = [each for each in found if each.hundredths(cause) <= likely - FELT]
    return sorted(speak, key=lambda each: each.hundredths(cause))


def speaking_against(cause: Mechanism, found: Sequence[WithoutRuns], likely: int) -> list[WithoutRuns]:
    """Those without which it is likelier."""
    against = [each for each in found if each.hundredths(cause) >= likely + FELT]
    return sorted(against, key=lambda each: -each.hundredths(cause))


def told_with(found: Sequence[WithoutRuns], cause: Mechanism) -> str:
    """`with its last reply drawn again: 0 of 4 right (.60); ...`, of the first few."""
    return "; ".join(f"{each.row.told} ({each.chance(cause)})" for each in found[:MOST])


def _lowered(each: WithoutRuns, cause: Mechanism, with_them: Mapping[Mechanism, float]) -> Mechanism | None:
    """The other cause that these runs make less likely by most; None of less than half of what they move this one."""
    moved = {
        other: each.shares.get(other, 0.0) - with_them.get(other, 0.0)
        for other in {**with_them, **each.shares}
        if other != cause
    }
    own = abs(with_them.get(cause, 0.0) - each.shares.get(cause, 0.0))
    most = max(moved, key=lambda other: moved[other], default=None)
    return most if most is not None and moved[most] >= max(0.01, own / 2) else None


MOST = 3
FELT, MUCH, STILL_SURE = 3, 15, 80
"""Hundredths that runs have to change a probability by to be named, and to be what it mostly rests on, unless so many
are left without them."""
