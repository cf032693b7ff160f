"""What is not known of why one trial went as it did, and the commands that would tell."""

import math
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolablate.analysis.attribution.evidence import Evidence, Explanation
from toolablate.analysis.attribution.levels import told_levels
from toolablate.analysis.attribution.trace_rules import BY_CHANCE, sign_of
from toolablate.analysis.pairing import RIGHT
from toolablate.reports.causes import FEW, deciding_rows, named, not_apart, ranked, without_cause
from toolablate.reports.changed_runs import FROM_START, REPLAYS
from toolablate.reports.turn import AT_CALLS, turn_of
from toolablate.traces.records import Attribution, ReplayDesign
from toolablate.traces.terminal_text import ID_CHARS, one_line


@dataclass(frozen=True, slots=True)
class Apart:
    """A line that stands apart from the sentences around it: a command, or what is quoted."""

    text: str


Said = str | Apart


def not_known(told: Explanation) -> Iterator[Said]:
    attribution, evidence = told.explained.attribution, told.explained.evidence
    if len(evidence.no_tools) < 2:
        yield from _alone(told)
    if told.provider in _NEVER_ASKED:
        yield f"Whether it comes out right with something changed: {_NEVER_ASKED[told.provider]}."
        if attribution is not None and not evidence.diagnoses:
            yield "A judge model can read the trace. NAME is one that PLAN, the plan file of these trials, lists:"
            yield Apart(f"toolablate attribute {_store(told)} --judge NAME --plan PLAN")
        return
    if evidence.inputs.replay is None:
        yield from _unreplayed(told)
    elif attribution is not None:
        yield from _few_runs(attribution, told)
    if attribution is not None:
        yield from _place(attribution, evidence)
        yield from _not_apart(attribution, evidence)
        if not evidence.diagnoses and (asks := _for_judges(attribution)):
            yield f"{asks}, as a judge model reads it. NAME is one that the plan file lists:"
            yield Apart(f"toolablate attribute {_store(told)} --judge NAME")


def _for_judges(attribution: Attribution) -> str:
    cause = ranked(attribution)[0][0]
    if cause == "retrieval_distraction" and attribution.distraction is None:
        return "How the search misled it"
    return "What kind of error it is" if cause in ("own_error", "unknown") else ""


def _alone(told: Explanation) -> Iterator[Said]:
    there = "one trial alone" if told.explained.evidence.no_tools else "nothing"
    known = f"How often the model is right without tools: there is {there}."
    if told.provider == "imported":
        yield f"{known} Another log of the same questions without tools would tell:"
        yield Apart(f"toolablate import inspect LOG --store {_store(told)}")
    elif told.provider == "scripted":
        yield known
    else:
        yield f"{known} Raise `repeats` in the plan, then:"
        yield Apart("toolablate run PLAN")


_NEVER_ASKED: Mapping[str, str] = {
    "scripted": "its replies are recordings (a scripted model), so that nothing can be run again",
    "imported": "the trial is from another program's log, and its model cannot be asked again",
}
_USUAL: Mapping[str, Any] = {
    "failures": 1.0, "successes": 1.0, "samples": 2, "rollouts": 1, "steps": "search", "precision": 0.8, "seed": 0,
}  # fmt: skip
"""What `attribute --replay` does unless it is told otherwise."""


def _unreplayed(told: Explanation) -> Iterator[Said]:
    evidence = told.explained.evidence
    wrong = (evidence.score.value or 0.0) < RIGHT
    if evidence.trajectory is not None:
        yield "Whether it comes out right with something changed: runs are missing, or it was not in the last sample."
    else:
        yield "Whether it comes out right with something changed: it has not been run again yet."
    yield Apart(_replaying(told, **({"failures": 1.0} if wrong else {"successes": 1.0})))
    calls = [call.event for call in evidence.signals.calls]
    if wrong and calls and evidence.trajectory is None:
        attribution = told.explained.attribution
        sign = sign_of(evidence.signals, evidence.score, evidence.inputs.arms.scaffold)
        named_events = (attribution.evidence if attribution else ()) or (sign[1] if sign else ())
        pointed = [event for event in named_events if event in calls]
        yield f"Or of this trial alone, without the result at event {(pointed or calls)[-1]}:"
        again = f"toolablate replay {_store(told)} {trial_of(told)} --from {(pointed or calls)[-1]}"
        yield Apart(f"{again} --swap null --repeats 8")


def _few_runs(attribution: Attribution, told: Explanation) -> Iterator[Said]:
    evidence, cause = told.explained.evidence, ranked(attribution)[0][0]
    rows = [row for row in deciding_rows(cause, evidence) or () if row is not None]
    if cause in BY_CHANCE:
        rows += without_cause(cause, evidence)
    few = [row for row in rows if row.runs < FEW]
    if not few:
        return
    exactly = "How often such runs are right: few tell it roughly."
    if all(row.changed.startswith(FROM_START) for row in few):
        yield f"{exactly} Raise `repeats` in the plan, by one for a trial more of each question and condition, then:"
        yield Apart("toolablate run PLAN")
    else:
        yield (
            f"{exactly} With up to {FEW} runs for each row of '{REPLAYS}' below: about {_requests(evidence):.0f}"
            " requests to its model, and as many for each other trial that the command replays. It tells the cost"
            " first, and --max-cost refuses more."
        )
        yield Apart(_replaying(told, samples=FEW, rollouts=FEW))


def _requests(evidence: Evidence) -> float:
    """About how many it takes until there are FEW runs of each kind that replays make: what the trial itself made from
    its first result on, or one of an answer."""
    results = (call.event for call in evidence.signals.calls)
    again = 1 + sum(step > min(results, default=0) for step in evidence.steps) / 2
    kinds = {level.purpose: level.tally.runs for levels in told_levels(evidence) for level in levels if level.purpose}
    each = {purpose: 1.0 if purpose.kind in ("early_answer", "last_reply") else again for purpose in kinds}
    return math.fsum(max(0.0, FEW - runs) * each[purpose] for purpose, runs in kinds.items())


def _place(attribution: Attribution, evidence: Evidence) -> Iterator[str]:
    """Of a cause that acts at a call, where that was."""
    if ranked(attribution)[0][0] not in AT_CALLS or evidence.trajectory is None:
        return
    turn = turn_of(evidence)
    if turn is None:
        yield "Where it went wrong: early answers show no place."
    elif not turn.sure:
        still = f"; {turn.after} early answers after it are still right" if turn.after.share >= RIGHT else ""
        yield f"Where it went wrong: most likely {turn.where}, the same in {turn.resamples}{still}."


def _not_apart(attribution: Attribution, evidence: Evidence) -> Iterator[Said]:
    """What the deciding runs take away together."""
    cause = ranked(attribution)[0][0]
    beside = not_apart(cause, evidence)
    if beside:
        yield f"Whether it is {named(cause)} or {' or '.join(map(named, beside))}: no run takes away one alone."
        if any(call.by_provider for call in evidence.signals.calls):
            yield "Results within a reply of the provider's nobody can exchange. Add a condition with a tool of ours:"
        elif "prompt" in (cause, *beside) and not evidence.inputs.arms.scaffold:
            yield "Add the condition 'scaffold' (the prompt without tools) to the plan, then:"
        else:
            yield 'Add its arms to the ladder of the plan (`arms = ["offered", "sham", "placebo"]`), then:'
        yield Apart("toolablate run PLAN")


def _replaying(told: Explanation, **changed: float) -> str:
    """The command, with the options of the sample that was asked for last where they are not the usual ones."""
    design, options = told.design or ReplayDesign(), []
    for name, usual in _USUAL.items():
        kept = getattr(design, name) if told.design else usual
        value = max(kept, changed[name]) if name in changed else kept
        if value != usual:
            options.append(f" --{name} {value:g}" if isinstance(value, int | float) else f" --{name} {value}")
    if told.design is not None and design.each_result:
        options.append(" --each-result")
    condition = shlex.quote(one_line(told.explained.evidence.condition))
    return f"toolablate attribute {_store(told)} --replay --condition {condition}{''.join(options)}"


def _store(told: Explanation) -> str:
    return shlex.quote(told.store)


def trial_of(told: Explanation) -> str:
    return told.explained.evidence.signals.trial[:ID_CHARS]


def trace_command(told: Explanation) -> Apart:
    return Apart(f"toolablate show {_store(told)} {trial_of(told)}")
