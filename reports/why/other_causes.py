"""What else a wrong trial may be, where nothing was run again."""

from collections.abc import Iterator, Sequence

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, outside_signs
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.cause_wording import chance
from toolablate.reports.why.causes import (
    as_likely,
    defined,
    hundred,
    name_of,
    pair_of,
    quoted_name,
    ranked,
    unchanged,
    without_tools,
)
from toolablate.reports.why.changed_runs import capital
from toolablate.reports.why.early_answers_against import turn_against
from toolablate.reports.why.happened import OF_FORMS, gave_nothing, happened, same_without_tools, sign_in
from toolablate.reports.why.named_causes import LEAST_LEFT, named_shares
from toolablate.reports.why.turn import AT_CALLS, right_until
from toolablate.traces.records import Attribution, Mechanism

WHAT_IS_LEFT = "it is what the other causes leave"
ALL_OTHERS = "all others"


def others(told: Explanation) -> Iterator[str]:
    """Of replays the table has them, where a cause is known."""
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if attribution is None:
        return
    shares = named_shares(told, attribution)
    if attribution.method == "replay" and shares.cause != "unknown":
        return
    undecided = [cause for cause, _ in as_likely(shares)]
    for cause, hundredths in shares.others:
        if cause not in undecided:
            turned = "".join(f" But {each[:1].lower()}{each[1:]}" for each in turn_against(cause, told))
            yield f"It may be {defined(cause, told)}: {hundred(hundredths)}. {capital(_raised_by(cause, told))}{turned}"
    if shares.rest:
        yield f"{capital(all_others(attribution, shares.named, shares.rest, evidence))}: {hundred(shares.rest)}."


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


def raised(cause: Mechanism, told: Explanation) -> str:
    """What speaks for one that is about as likely as the first."""
    return f"For {quoted_name(cause)}: {_raised_by(cause, told)}"


def _raised_by(cause: Mechanism, told: Explanation) -> str:
    """Other trials and signs for it, as the rest of a sentence."""
    evidence, sign = told.explained.evidence, sign_in(told.explained.evidence)
    again, bare, same = unchanged(evidence), without_tools(evidence), same_without_tools(evidence)
    said: list[str] = []
    if cause == "sampling_noise":
        said += [row.told for row in again if row.share >= RIGHT]
        said += [f"{bare.told}, so it can answer the question"] if not said and bare and bare.share > RIGHT else []
    elif cause == "own_error":
        said += [same] if same else [bare.told] if bare and bare.share <= RIGHT else []
    else:
        adopted = evidence.signals.adoption
        gave = adopted is not None and adopted.is_new and OF_FORMS[adopted.form] == cause
        shown = cause in outside_signs(evidence.signals, evidence.score) or (sign is not None and sign[0] == cause)
        said += [row.told for row in pair_of(cause, evidence)]
        said += [happened(cause, told).clause] if shown or gave else []
        if cause in AT_CALLS and (still := right_until(happened(cause, told).event, evidence)):
            said.append(still)
    listed = "; ".join(said) or (WHAT_IS_LEFT if cause in BY_CHANCE else "no other trial tests it apart")
    return f"{listed[:1].lower()}{listed[1:]}."
