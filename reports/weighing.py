"""From the runs of a trial to the probabilities of its causes: a line for each that is likely, and one for the rest."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from toolablate.analysis.attribution.change_rates import Part, Where
from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import blame, usual, usual_rate
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.reports.cause_wording import chance
from toolablate.reports.causes import (
    Shares,
    as_likely,
    counted_runs,
    hundred,
    name_of,
    of_kinds,
    one_change,
    ranked,
    sides,
)
from toolablate.reports.changed_runs import RE_ASKED, of_scores
from toolablate.reports.run_groups import tells_form, total
from toolablate.traces.records import Attribution, Mechanism

LEAST_MOVED = 2
"""Hundredths by which what is known of the store moves a probability; less is not told."""
LEAST_RATE = 0.02
"""By which a rate of the store differs from what is assumed without one; less is the same."""


@dataclass(frozen=True, slots=True)
class WeighedCause:
    """`runs` are its counts in this trial, with it and without. `alone` are the hundredths that these runs would give,
    `store` what other trials of the store say of this very cause, `share` the hundredths of both."""

    name: str
    runs: str
    alone: int
    store: str
    share: int


@dataclass(frozen=True, slots=True)
class Weighing:
    """`moved` tells whether what is known of the store changes a probability: else it is left out. `turned` says that
    the runs alone favour another cause than those that the page names first; empty where they do not."""

    causes: tuple[WeighedCause, ...]
    moved: bool
    turned: str

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The heads, then a row for each cause."""
        columns = [
            ("Cause", *(each.name for each in self.causes)),
            ("Right runs of this trial", *(each.runs for each in self.causes)),
        ]
        if self.moved:
            columns.append((ALONE, *(hundred(each.alone) for each in self.causes)))
            columns.append(("Wrong trials of this store", *(each.store for each in self.causes)))
        columns.append(("Probability", *(hundred(each.share) for each in self.causes)))
        return tuple(zip(*(column for column in columns if any(column[1:])), strict=True))


ALONE = "By these runs"
HOW = (
    "The probabilities add to 1: each is how likely it is that this cause cost the right answer. What no cause explains"
    f" is divided between {name_of('sampling_noise')} and {name_of('own_error')}, by how likely it is that runs of any"
    " kind are right more often than wrong."
)
BY_STORE = (
    "Other trials of this store move them: by how often each cause changed anything there, and by how far early answers"
    " agree with free ones. Where one moves, others give way."
)


def weighing(shares: Shares, told: Explanation) -> Weighing | None:
    """None where no runs are weighed, and of one cause alone that the store does not move."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay" or shares.cause == "unknown":
        return None
    alone = blame(evidence)
    named = [(shares.cause, shares.hundredths), *shares.others]
    # What the runs favour by themselves has a line, however improbable the store makes it.
    favoured = max(alone, key=lambda each: alone[each])
    if favoured not in dict(named):
        named.append((favoured, min(_left(named), round(100 * dict(ranked(attribution)).get(favoured, 0.0)))))
    lines = [
        WeighedCause(
            name_of(cause),
            _runs(cause, attribution, evidence),
            _hundredths(alone, cause),
            _store(cause, told, share - _hundredths(alone, cause)),
            share,
        )
        for cause, share in named
    ]
    left = 100 - sum(each.alone for each in lines)
    if left < 0:
        # Several that end in a half were rounded up.
        most = max(range(len(lines)), key=lambda place: lines[place].alone)
        lines[most] = replace(lines[most], alone=lines[most].alone + left)
    if max(left, 0) or _left(named):
        by = _left(named) - max(left, 0)
        store = _most_moved(alone, by, told, {cause for cause, _ in named}) if abs(by) >= LEAST_MOVED else ""
        lines.append(WeighedCause("all others", "", max(left, 0), store, _left(named)))
    moved = any(abs(each.alone - each.share) >= LEAST_MOVED for each in lines)
    turned = _turned(lines, shares, name_of(favoured), by_store=bool(told.rates.store))
    return Weighing(tuple(lines), moved, turned) if moved or len(named) > 1 else None


def _most_moved(alone: Mapping[Mechanism, float], by: int, told: Explanation, named: Collection[Mechanism]) -> str:
    """Of all others, which moved `by` these hundredths together, the one that the store moves most in that way."""
    attribution = told.explained.attribution
    shares = attribution.shares if attribution is not None else {}
    moved = {each: shares.get(each, 0.0) - share for each, share in alone.items() if each not in named}
    ordered = sorted((each for each in moved if moved[each] * by > 0), key=lambda each: -abs(moved[each]))
    found = ((each, said) for each in ordered if " assumed" in (said := _store(each, told, by)))
    return next((f"{name_of(each)}: {said}" for each, said in found), "")


def _left(named: list[tuple[Mechanism, int]]) -> int:
    return max(0, 100 - sum(share for _, share in named))


def _hundredths(alone: Mapping[Mechanism, float], cause: Mechanism) -> int:
    return round(100 * alone.get(cause, 0.0))


def _turned(lines: Sequence[WeighedCause], shares: Shares, favoured: str, *, by_store: bool) -> str:
    first = [name_of(cause) for cause in (shares.cause, *(cause for cause, _ in as_likely(shares)))]
    alone = {each.name: each.alone for each in lines}
    if favoured in first or alone[favoured] <= max(alone[name] for name in first):
        return ""
    beside = f"{hundred(alone[favoured])} to {hundred(alone[first[0]])}"
    turns = "; other trials of this store turn it" if by_store else ""
    return f"This trial's own runs favour {favoured} ({beside}){turns}."


def _runs(cause: Mechanism, attribution: Attribution, evidence: Evidence) -> str:
    """`3 of 8 without it alone, 1 of 8 with it; in all 24 of 32 and 3 of 17`."""
    if cause == "format" and tells_form(attribution, evidence):
        return f"{of_scores(RE_ASKED, evidence.re_asked, evidence).count} asked once more for its form"
    if cause == "interaction" and (kinds := of_kinds(evidence)):
        *each, both = (row.count for row in kinds)
        return f"{both} without both results, {' and '.join(each)} without one of them"
    gone, there = sides(cause, evidence)
    if not gone:
        rows = counted_runs(cause, evidence) if cause in BY_CHANCE else []
        return f"{total(rows).count} whatever is changed" if rows else "no run tests it apart"
    sums = [total(gone).count, *([total(there).count] if there else [])]
    in_all = f"{sums[0]} without it" + (f", {sums[1]} with it" if there else "")
    pair = one_change(cause, evidence)
    if pair is None or (len(gone), len(there)) == (1, 1):
        return in_all
    return f"{in_all}; where this alone differs {pair[0].count} and {pair[1].count}"


def _store(cause: Mechanism, told: Explanation, moved: int) -> str:
    """`5 of the 6 where a result of it has the answer given came right without it, more than the .30 assumed`. What was
    assumed is told only where it fits how many hundredths the store `moved` the cause: others may move it too."""
    evidence, rates = told.explained.evidence, told.rates
    if cause in BY_CHANCE:
        return ""
    known, rate = usual(cause, evidence, rates), usual_rate(cause, evidence, rates)
    if known is None or rate is None or round(known.trials) < 1:
        return ""
    # A trial has such a step several times, each with that rate.
    times = known.seen / known.trials
    assumed, found = (1 - (1 - each) ** times for each in (known.prior, rate))
    than, fits = "as the", abs(moved) < LEAST_MOVED
    if abs(found - assumed) >= LEAST_RATE:
        than, fits = ("more than the", moved > 0) if found > assumed else ("less than the", moved < 0)
    part, where = known.step
    which = f"the {known.trials:.0f} {_SHOWN.get(where) or _ENDED[part]}"
    beside = f", {than} {chance(assumed)} assumed" if fits else ""
    return f"{known.changed:.0f} of {which} came right without it{beside}"


_SHOWN: Mapping[Where, str] = {
    "at_the_fall": "whose belief falls at it, if anywhere,",
    "has_the_answer": "where a result of it has the answer given",
    "elsewhere": "where neither early answers nor results point to it",
    "not_asked": "where nobody asked for early answers",
    "called": "that called tools",
    "not_called": "that called no tool",
    "long": "with long results",
    "very_long": "with very long results",
}
"""Of which trials a number of the store is: of one cause there are several, by how it shows."""
_ENDED: Mapping[Part, str] = {"budget": "that a limit ended", "tool_fault": "in which a tool failed"}
"""The same of causes that show in one way."""
