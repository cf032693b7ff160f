"""Which causes a page gives a probability of their own."""

from collections.abc import Collection

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, outside_signs
from toolablate.reports.causes import POSSIBLE, Shares, as_likely, ranked, shares_of, sides
from toolablate.reports.happened import sign_in
from toolablate.traces.records import Attribution, Mechanism

LEAST_LEFT = 0.03
"""What is likelier is named, of what is not told by itself."""


LISTED = 5
"""Hundredths from which on a cause has a line of the table, with its counts."""


def named_shares(told: Explanation, attribution: Attribution) -> Shares:
    """With causes that the trace has a sign of."""
    evidence = told.explained.evidence
    sign = sign_in(evidence)
    signs: set[Mechanism] = {*outside_signs(evidence.signals, evidence.score), *([sign[0]] if sign else [])}
    also = {each for each in signs if attribution.shares.get(each, 0.0) >= LEAST_LEFT}
    # None that is likelier is left to the rest.
    least = min((attribution.shares[each] for each in also), default=1.0)
    also |= {each for each, share in attribution.shares.items() if share >= least}
    return shares_of(attribution, sorted(also - {"own_error", "unknown"}) if attribution.shares else ())


def spoken_of(shares: Shares) -> list[Mechanism]:
    """Of these, the likeliest first, those that are likely enough to have a line of their own."""
    undecided = [cause for cause, _ in as_likely(shares)]
    return [shares.cause, *(each for each, share in shares.others if share >= POSSIBLE or each in undecided)]


def in_the_table(shares: Shares, told: Explanation, also: Collection[Mechanism]) -> list[Mechanism]:
    """Those with a line in the table of probabilities: from `LISTED` on, and of `also` those that runs test."""
    attribution = told.explained.attribution
    assert attribution is not None
    known = dict(ranked(attribution))
    likely = [each for each, share in known.items() if round(100 * share) >= LISTED]
    # Of what is improbable only runs have something to say.
    evidence = told.explained.evidence
    tested = [each for each in also if sides(each, evidence)[0] or each in BY_CHANCE]
    least = sorted(tested, key=lambda each: -known.get(each, 0.0))
    return list(dict.fromkeys((*spoken_of(shares), *likely, *least)))
