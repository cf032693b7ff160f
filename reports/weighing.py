"""From the runs of a trial to the probabilities of its causes: a line for each that is likely, and one for the rest."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.replay_rules import RE_ASKED_PRIOR, before_runs
from toolablate.analysis.attribution.trace_rules import BY_CHANCE
from toolablate.reports.cause_wording import chance
from toolablate.reports.causes import (
    Shares,
    counted_runs,
    hundred,
    intervals,
    name_of,
    of_kinds,
    ranked,
    sides,
    tells_form,
)
from toolablate.reports.changed_runs import RE_ASKED, Row, is_of, of_scores, total
from toolablate.reports.happened import gave_nothing
from toolablate.reports.named_causes import LEAST_LEFT, in_the_table, spoken_of
from toolablate.reports.rests_on import FELT
from toolablate.traces.records import Attribution, Mechanism


@dataclass(frozen=True, slots=True)
class WeighedCause:
    """`without` and `there` are right runs of this trial without the cause, and with it; `share` its hundredths,
    `before` those before any of these runs is counted. `cause` is None of all others."""

    cause: Mechanism | None
    name: str
    without: str
    there: str
    before: int
    share: int


@dataclass(frozen=True, slots=True)
class Weighing:
    """`starts` tells whether probabilities before any run are shown: not of a form that was asked for once more, which
    has a rule of its own (`of_form`)."""

    causes: tuple[WeighedCause, ...]
    starts: bool

    @property
    def table(self) -> tuple[tuple[str, ...], ...]:
        """The heads, then a row for each cause."""
        rows = [
            (
                each.name,
                _told(each, each.share),
                _told(each, each.before) if self.starts else "",
                each.without,
                each.there,
            )
            for each in self.causes
        ]
        columns = zip(HEADS, *rows, strict=True)
        return tuple(zip(*(column for column in columns if any(column[1:])), strict=True))


def _told(cause: WeighedCause, share: int) -> str:
    return hundred(share) if share or cause.cause is None else "under .01"


BEFORE = "Before its runs"
HEADS = ("Cause", "Probability", BEFORE, "Right without it", "Right with it")
LEAD = "The probability of each cause, and what it was before its runs counted."
_HOW = (
    f"“{BEFORE}” goes by how often taking the cause away changed answers, {{known}}; it is higher where early answers"
    " turn wrong at it. A cause gains where answers become right once it is taken away. Causes that the same runs take"
    f" away share the gain. What no cause explains is {name_of('sampling_noise')}, as far as some kind of run is likely"
    f" to be right more often than not, else {name_of('own_error')}. “All runs” has the verdict's"
    f" probability without each kind, where it moves by {hundred(FELT)}. In brackets: 95 % intervals (Wilson)."
)


def how(told: Explanation) -> str:
    """What the columns mean."""
    return _HOW.format(known=OF_STORE if told.rates.store else OF_ANY)


OF_STORE = "in the replayed trials of this store, or in any store where these are few"
OF_ANY = "as it is assumed of any store"


def of_form(right: float, asked: int) -> str:
    """The mean of a beta distribution whose parameters are `RE_ASKED_PRIOR` before anything is asked."""
    return (
        "What is asked for once more comes out nearly always right or nearly always wrong. So few count for much:"
        f" {right:g} right of {asked} give ({right:g} + {RE_ASKED_PRIOR:g}) / ({asked} + {2 * RE_ASKED_PRIOR:g}) ="
        f" {chance((right + RE_ASKED_PRIOR) / (asked + 2 * RE_ASKED_PRIOR))}. The other causes share the rest. In"
        " brackets: the 95 % interval (Wilson) of the count alone."
    )


def weighing(shares: Shares, told: Explanation, said: Collection[Mechanism]) -> Weighing | None:
    """None where no runs are weighed. Of `said` those that runs test have a line however improbable they are."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None or attribution.method != "replay" or shares.cause == "unknown":
        return None
    before = before_runs(evidence, told.rates)
    known = {shares.cause: shares.hundredths, **dict(shares.others)}
    named = [(each, known[each]) for each in spoken_of(shares)]
    likely = [each for each, share in before.items() if share >= LIKELY_BEFORE]
    for each in in_the_table(shares, told, [*said, *likely])[len(named) :]:
        named.append((each, min(_left(named), round(100 * dict(ranked(attribution)).get(each, 0.0)))))
    lines = [
        WeighedCause(
            each,
            name_of(each),
            *_runs(each, shares.cause, attribution, evidence),
            min(99, round(100 * before.get(each, 0.0))),
            share,
        )
        for each, share in named
    ]
    starts = has_starts(shares, told)
    left, start = _left(named), max(0, 100 - sum(each.before for each in lines))
    if left or (starts and start):
        others = all_others(attribution, [each for each, _ in named], left, evidence) if left else ALL_OTHERS
        lines.append(WeighedCause(None, others, "", "", start, left))
    return Weighing(tuple(lines), starts)


LIKELY_BEFORE = 0.15
"""From this probability before any run on, a cause has a line that tells what became of it."""


def has_starts(shares: Shares, told: Explanation) -> bool:
    """Whether probabilities before any run are shown: what is asked once more for its form has a rule of its own."""
    attribution = told.explained.attribution
    assert attribution is not None
    return not (shares.cause == "format" and tells_form(attribution, told.explained.evidence))


def _left(named: Sequence[tuple[Mechanism, int]]) -> int:
    return max(0, 100 - sum(share for _, share in named))


def all_others(attribution: Attribution, named: Sequence[Mechanism], rest: int, evidence: Evidence) -> str:
    """With those of them that are likely enough; together they have `rest` hundredths."""
    if 200 * attribution.shares.get("unknown", 0.0) > rest and "unknown" not in named:
        return f"{ALL_OTHERS}, mostly of which there is no sign"
    # That what was found misled it is no name for what acts where nothing was found.
    left = [
        f"{name_of(each)} {chance(share)}"
        for each, share in ranked(attribution)
        if each not in named and share >= LEAST_LEFT and not gave_nothing(each, evidence)
    ]
    return f"{ALL_OTHERS} ({', '.join(left)})" if left else ALL_OTHERS


ALL_OTHERS = "all others"


def _runs(cause: Mechanism, first: Mechanism, attribution: Attribution, evidence: Evidence) -> tuple[str, str]:
    """`24 of 32 (58 to 87 %)` without it, and with it. What needs no tool has the runs of the likeliest cause."""
    if cause == "format" and tells_form(attribution, evidence):
        return f"{_sum([of_scores(RE_ASKED, evidence.re_asked, evidence)])} asked once more for its form", ""
    if cause == "interaction" and (kinds := of_kinds(evidence)):
        *each, _ = (row.count for row in kinds)
        search, code = (sides(one, evidence)[0] for one in ("retrieval_distraction", "lock_in"))
        both = [row for row in search if is_of(row, code)] or [kinds[-1]]
        return f"{total(both).count} without both results", f"{' and '.join(each)} without one of them"
    gone, there = sides(cause, evidence)
    if gone:
        return _sum(gone), _sum(there) if there else ""
    rows = counted_runs(first, evidence) if cause in BY_CHANCE else []
    return (f"{_sum(rows)}, whatever is changed" if rows else "no run tests it apart"), ""


def _sum(rows: Sequence[Row]) -> str:
    whole = total(rows)
    found = [f" ({100 * low:.0f} to {100 * high:.0f} %)" for low, high in intervals([whole])]
    return f"{whole.count}{''.join(found)}"
