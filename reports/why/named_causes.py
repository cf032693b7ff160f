"""Which causes a page gives a probability of their own."""

from toolablate.analysis.attribution.evidence import Explanation
from toolablate.analysis.attribution.trace_rules import outside_signs
from toolablate.reports.why.causes import Shares, shares_of
from toolablate.reports.why.happened import sign_in
from toolablate.traces.records import Attribution, Mechanism

LEAST_LEFT = 0.03
"""What is likelier is named, of what is not told by itself."""


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
