"""Why a trial went wrong, from what it comes to when it is taken up again with one thing changed."""

from collections.abc import Iterator

from toolablate.analysis.attribution.distraction import distraction
from toolablate.analysis.attribution.evidence import Evidence
from toolablate.analysis.attribution.fall import Fall, fall_at
from toolablate.analysis.attribution.layer_two.blame import blame
from toolablate.analysis.attribution.spoiling import faults
from toolablate.analysis.pairing import RIGHT
from toolablate.traces.records import Attribution, Distraction, Mechanism

NOTES: dict[Mechanism, str] = {
    "format": "the answer that was lost is right when it is asked for once more",
    "budget": "with a larger budget it is right",
    "tool_fault": "with tools that work it is right",
    "retrieval_distraction": "without what was found it is right",
    "lock_in": "without the computation it is right",
    "other_results": "without what the tools gave it is right",
    "calling": "without the calls it is right, whatever they gave",
    "availability": "without the offer of tools it is right",
    "prompt": "without the condition's words it is right",
    "luck": "drawn again it is mostly right, with the same results or without tools",
    "own_error": "it is mostly wrong without tools as well",
}


def layer_two(evidence: Evidence) -> Attribution | None:
    """The likeliest mechanism of a wrong trial (scored below one half) that was replayed, None for any other. None also
    where the answer is the right one in another form: whether a replay has it in that form is not looked at.

    The confidence is the probability that it is this one (`blame`), as far as the number of runs lets it be known.
    """
    value = evidence.score.value
    if value is None or value >= RIGHT or evidence.chain.replay is None or evidence.signals.misstated:
        return None
    shares = blame(evidence)
    mechanism = max(shares, key=lambda each: shares[each])
    flip = evidence.flip
    fall = fall_at(flip, evidence.steps, evidence.signals.calls) if flip else None
    return Attribution(
        trial=evidence.chain.trial,
        mechanism=mechanism,
        method="replay",
        confidence=round(min(shares[mechanism], 1.0), 4),
        distraction=_distraction(evidence, fall) if mechanism == "retrieval_distraction" else None,
        turned_at=fall.event if fall else None,
        evidence=tuple(sorted(set(_events(mechanism, evidence, fall)))),
        note=_note(mechanism, shares[mechanism], evidence),
    )


def _distraction(evidence: Evidence, fall: Fall | None) -> Distraction | None:
    bare = [each.signals for each in evidence.bare]
    return distraction(evidence.signals, bare, evidence.diagnoses, fall.events if fall else ())


def _note(mechanism: Mechanism, share: float, evidence: Evidence) -> str:
    arms = evidence.chain.arms
    right = sum(score >= RIGHT for score in arms.none)
    what = NOTES[mechanism]
    if mechanism == "availability" and evidence.signals.prompted and not arms.scaffold:
        what = "without the offer of tools and the condition's words, which no arm tells apart, it is right"
    return f"{what} (probability {share:.2f}); {right} of {len(arms.none)} trials without tools are right"


def _events(mechanism: Mechanism, evidence: Evidence, fall: Fall | None) -> Iterator[int]:
    signals = evidence.signals
    match mechanism:
        case "format":
            yield from (event for event in (signals.ending.event,) if event is not None)
        case "budget":
            yield from (*signals.budget.not_run, *(() if signals.budget.event is None else (signals.budget.event,)))
        case "tool_fault":
            yield from faults(signals)
        case "availability":
            yield from (tool.event for tool in signals.unused)
        case "retrieval_distraction" | "lock_in" | "other_results" | "calling":
            yield from _events_of_results(mechanism, evidence, fall)
        case _:
            pass


def _events_of_results(mechanism: Mechanism, evidence: Evidence, fall: Fall | None) -> Iterator[int]:
    """Where it fell; else the results that are worth less than nothing, else those of the tool."""
    forms = {"lock_in": ("code",), "retrieval_distraction": ("search", "page"), "other_results": ("other",)}.get(
        mechanism
    )
    calls = [call for call in evidence.signals.calls if forms is None or call.form in forms]
    adopted = evidence.signals.adoption
    if adopted is not None and forms is not None and adopted.form in forms:
        yield adopted.event
    if fall is not None:
        yield from (fall.event, *fall.events)
        return
    harming = [call.event for call in calls if call.event in evidence.worth and evidence.worth[call.event].value < 0]
    yield from harming or [call.event for call in calls if call.gave or mechanism == "calling"]
