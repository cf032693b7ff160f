"""What is not known of a trial, and the command that would find out."""

import shlex
from collections.abc import Iterator

from toolablate.analysis.attribution.belief.trajectory import share
from toolablate.analysis.attribution.evidence import Evidence, Explained
from toolablate.analysis.attribution.explanation import Explanation
from toolablate.reports.terminal.attribution.otherwise import otherwise
from toolablate.reports.terminal.attribution.wording import Apart, Said, chance
from toolablate.traces.plain import ID_CHARS
from toolablate.traces.records import Attribution


def unknowns(told: Explanation) -> Iterator[Said]:
    evidence = told.explained.evidence
    if not evidence.bare:
        yield "Whether the model is right without tools: run the plan with a condition without tools."
    elif len(evidence.bare) == 1:
        yield "How often the model is right without tools: a single trial does not tell (repeats in the plan)."
    if told.scripted:
        yield "What would have been otherwise. The model is scripted: it says what its script says whatever is changed."
    elif evidence.chain.replay is None:
        yield from _unreplayed(told)
    else:
        yield from _noise(evidence)
    if _words_or_offer(told.explained):
        yield (
            "Whether the offer of tools did it or the condition's words: 'scaffold' among the plan's conditions, which"
            " has the words alone, would tell."
        )
    if _is_open(told.explained.attribution) and not evidence.diagnoses:
        yield "In which way it was drawn away, as a judge reads it:"
        yield Apart(f"toolablate attribute {_store(told)} --judge NAME")
    yield "The whole trace:"
    yield Apart(f"toolablate show {_store(told)} {_trial(told)}")


def _words_or_offer(explained: Explained) -> bool:
    """Whether it is put down to what is there before any call, and no arm parts the two."""
    attribution, evidence = explained.attribution, explained.evidence
    before = attribution is not None and attribution.mechanism in ("availability", "prompt")
    return before and evidence.signals.prompted and not evidence.chain.arms.scaffold


def _is_open(attribution: Attribution | None) -> bool:
    """Whether what was found drew the model away, and nobody knows how."""
    if attribution is None or attribution.mechanism != "retrieval_distraction":
        return False
    return attribution.distraction is None


def _unreplayed(told: Explanation) -> Iterator[Said]:
    if told.explained.evidence.trajectory is not None:
        yield (
            "Which mechanism its replays speak for: some are missing, or the lot asked for last has not got it (those"
            " in which a tool that was to work has failed again tell nothing):"
        )
        yield Apart(f"toolablate attribute {_store(told)} --replay")
        return
    yield "What would have been otherwise; a trial is replayed if the lot chooses it:"
    yield Apart(f"toolablate attribute {_store(told)} --replay")
    if told.explained.evidence.signals.calls:
        yield "Or this trial alone, without the result that it turns on most likely:"
        again = f"toolablate replay {_store(told)} {_trial(told)}"
        yield Apart(f"{again} --from {_suspect(told)} --swap null --repeats 8")


def _suspect(told: Explanation) -> int:
    """The tool call whose result to take away first: what the attribution points to, else the last."""
    calls = [call.event for call in told.explained.evidence.signals.calls]
    attribution = told.explained.attribution
    pointed = [event for event in attribution.evidence if event in calls] if attribution else []
    return (pointed or calls)[-1]


def _noise(evidence: Evidence) -> Iterator[Said]:
    few = next((len(each.scores) for each in otherwise(evidence)), 0)
    if 0 < few < 20:
        right = max(1, few - 1) if few > 1 else 1
        around = share(right, few)
        yield (
            f"How much of this is chance: a share of {right} of {few} runs stands for anything from"
            f" {chance(around.low)} to {chance(around.high)} (95 %)."
        )


def _store(told: Explanation) -> str:
    return shlex.quote(told.store)


def _trial(told: Explanation) -> str:
    return told.explained.evidence.signals.trial[:ID_CHARS]
